"""A change record's rows as values of Python again: what a program gets when it replays its own log. Knows no file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

from tailer.scan.record.record import INSERT, Change, Definition, Elements, Row
from tailer.schema.model import Column, TableDefinition
from tailer.schema.record_definitions import definition_of
from tailer.types import CqlType, parse_type
from tailer.types.cql import Shape
from writer_hooks.fitting import container_of, fitting, fitting_whole
from writer_hooks.from_bytes import FromBytes, collected, from_bytes, paired, reads_parts_of
from writer_hooks.hints import ANY, bare, part_hints
from writer_hooks.misfit import MisfitError
from writer_hooks.models import hints_of, is_model, made_of
from writer_hooks.read_code import ReadWhole, whole_reader

OPS: Final = ("insert", "update", "delete_row", "delete_range", "delete_partition")

Models = Mapping[bytes, Any]
"""By table id the class that its rows are wanted as."""

_Statics = dict[tuple[bytes, ...], dict[str, Any]]

NO_MODELS: Final[Models] = MappingProxyType({})


class RowValues(NamedTuple):
    """A row: what was done, the key's values, and the columns' by name; None is deleted, an absent name untouched.

    Values are those that `writer_hooks.python_values` takes. A non-frozen column that was changed by element is
    `{"replaced": …, "put": …, "removed": […]}`, as in change rows. `range`: the bounds of a `delete_range`. `value`:
    what was asked for, of each insert, and None of all else.
    """

    op: str
    key: dict[str, Any]
    columns: dict[str, Any]
    range: dict[str, Any] | None = None
    value: Any = None


class _Field(NamedTuple):
    """A column: what reads a value of it. `elements`: of a non-frozen one."""

    name: str
    from_bytes: FromBytes
    elements: _OfElements | None

    def read(self, value: bytes) -> Any:
        """The value; a MisfitError says which field it is."""
        try:
            return self.from_bytes(value)
        except MisfitError as error:
            raise error.within(self.name) from None

    def changed(self, elements: Elements) -> dict[str, Any]:
        """What a change does to the elements of a non-frozen column."""
        assert self.elements is not None
        try:
            return self.elements.changed(elements)
        except MisfitError as error:
            raise error.within(self.name) from None


class _OfElements:
    """Of a non-frozen column: what a change does to its elements, and what it holds where that is all of them."""

    def __init__(self, type_: CqlType, hint: Any) -> None:
        self._type = type_
        self._written = hint
        self._hint = bare(hint)
        hints = part_hints(hint, len(type_.arguments))
        if type_.shape is Shape.UDT:
            of_fields = hints_of(self._hint) if is_model(self._hint) else {}
            hints = tuple(of_fields.get(name, ANY) for name in type_.names)
        self._fitting = fitting if reads_parts_of(type_, hint) else fitting_whole
        self._container = container_of(type_, self._hint)
        self._parts = [from_bytes(part, each) for part, each in zip(type_.arguments, hints, strict=True)]

    def changed(self, elements: Elements) -> dict[str, Any]:
        """As `RowValues` has it."""
        made: dict[str, Any] = {"replaced": elements.deleted_ts is not None}
        put = [(item.path, item.value) for item in elements.items if item.value is not None]
        removed = [self._path(item.path) for item in elements.items if item.value is None]
        if put:
            made["put"] = self._put(put)
        if removed:
            made["removed"] = removed
        return made

    def whole(self, changed: Mapping[str, Any]) -> Any:
        """The column's value, whose elements are those that were put. MisfitError where others may be there."""
        if not changed["replaced"]:
            raise MisfitError(self._written, "a change of some elements")
        return self._fitting(self._made(changed.get("put")), self._written)

    def _made(self, put: Any) -> Any:
        shape = self._type.shape
        if shape is Shape.SET:
            return collected(self._container, put or [])
        if shape is Shape.LIST:
            return collected(self._container, [value for _, value in put or ()])
        if shape is Shape.UDT and is_model(self._hint):
            return made_of(self._hint, {**dict.fromkeys(self._type.names), **(put or {})})
        return put or {}

    def _put(self, put: list[tuple[bytes, bytes]]) -> Any:
        shape = self._type.shape
        if shape is Shape.SET:
            return [self._path(path) for path, _ in put]
        if shape is Shape.LIST:
            return [[self._path(path), self._parts[0](value)] for path, value in put]
        if shape is Shape.MAP:
            return paired((self._path(path), self._parts[1](value)) for path, value in put)
        return {self._path(path): self._parts[_number(path)](value) for path, value in put}

    def _path(self, path: bytes) -> Any:
        """What names an element: its id in a list, its key, itself in a set, the name of a field."""
        shape = self._type.shape
        if shape is Shape.LIST:
            return UUID(bytes=path)
        return self._type.names[_number(path)] if shape is Shape.UDT else self._parts[0](path)


class RowReader:
    """Rows by one definition; with a model, as its fields have them. `read_whole`: code that reads some of them."""

    def __init__(self, definition: TableDefinition, model: Any = None, read_whole: ReadWhole | None = None) -> None:
        hints = {} if model is None else hints_of(model)
        self._model = model
        self._read_whole = read_whole
        self._key = [_field(column, definition, hints) for column in definition.partition_key]
        self._clustering = [_field(column, definition, hints) for column in definition.clustering]
        self._columns = [_field(column, definition, hints) for column in definition.columns]

    def rows(self, change: Change) -> Iterator[RowValues]:
        """The change's rows, in order. The definition must be the one that its fingerprint names.

        MisfitError for a row that a field of the model cannot take.
        """
        statics: _Statics = {}
        for row in change.rows:
            yield self._read(row, statics)

    def misfits(self, change: Change) -> int:
        """How many of the change's rows the model cannot take."""
        statics: _Statics = {}
        count = 0
        for row in change.rows:
            try:
                self._read(row, statics)
            except MisfitError:
                count += 1
        return count

    def _read(self, row: Row, statics: _Statics) -> RowValues:
        """`statics`: by partition what the change's static rows before this one say."""
        try:
            whole = None if self._read_whole is None else self._read_whole(row)
        except MisfitError:
            # Below it is found out which field it is.
            whole = None
        if whole is not None:
            key, columns, value = whole
            return RowValues(OPS[INSERT], key, columns, None, value)
        made = self._row(row)
        if self._model is not None and row.static:
            statics.setdefault(row.partition_key, {}).update(made.columns)
        elif self._model is not None and row.op == INSERT:
            made = made._replace(value=self._whole(self._model, made, statics.get(row.partition_key, {})))
        return made

    def _row(self, row: Row) -> RowValues:
        key = {field.name: field.read(value) for field, value in zip(self._key, row.partition_key, strict=True)}
        key |= self._of_clustering(row.clustering or ())
        columns: dict[str, Any] = {}
        for cell in row.cells:
            field = self._columns[cell.column]
            if cell.elements is not None and field.elements is not None:
                columns[field.name] = field.changed(cell.elements)
            else:
                columns[field.name] = None if cell.value is None else field.read(cell.value)
        return RowValues(OPS[row.op], key, columns, self._range(row))

    def _of_clustering(self, values: tuple[bytes, ...]) -> dict[str, Any]:
        return {field.name: field.read(value) for field, value in zip(self._clustering, values, strict=False)}

    def _range(self, row: Row) -> dict[str, Any] | None:
        bounds = row.bounds
        if bounds is None:
            return None
        return {
            "start": None if bounds.start is None else self._of_clustering(bounds.start),
            "end": None if bounds.end is None else self._of_clustering(bounds.end),
            "start_inclusive": bounds.start_inclusive,
            "end_inclusive": bounds.end_inclusive,
        }

    def _whole(self, model: Any, row: RowValues, statics: Mapping[str, Any]) -> Any:
        values = {**row.key, **statics, **row.columns}
        for field in self._columns:
            changed = None if field.elements is None else values.get(field.name)
            if field.elements is None or changed is None:
                continue
            try:
                values[field.name] = field.elements.whole(changed)
            except MisfitError as error:
                raise error.within(field.name) from None
        return made_of(model, values)


@lru_cache(maxsize=256)
def row_reader(record: Definition, model: Any = None) -> RowReader:
    """What reads rows by the definition that a record says."""
    definition = definition_of(record)
    return RowReader(definition, model, None if model is None else whole_reader(definition, model))


def _field(column: Column, definition: TableDefinition, hints: Mapping[str, Any]) -> _Field:
    type_ = parse_type(column.type, definition.types)
    hint = hints.get(column.name, ANY)
    return _Field(column.name, from_bytes(type_, hint), _OfElements(type_, hint) if type_.complex else None)


def _number(path: bytes) -> int:
    return int.from_bytes(path, "big")
