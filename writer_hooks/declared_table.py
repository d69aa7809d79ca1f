"""Tables: their declaration, and changes made of values. Knows no file.

class Order(msgspec.Struct):
    id: UUID
    line: int
    article: str
    price: Decimal | None = None

orders = Table.of(Order, "shop.orders", key=["id"], clustering=["line"])
log.append(orders.insert(Order(uuid4(), 1, "tea")))
log.append(orders.update({"id": id, "line": 1, "price": None}))     # None: the column is deleted
log.append(orders.delete({"id": id, "line": 1}))
"""

from __future__ import annotations

import uuid
from collections.abc import Container, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from tailer.errors import UsageError
from tailer.limits import KEY_PART_BYTES_MAX
from tailer.scan.record.record import (
    DELETE_PARTITION,
    DELETE_RANGE,
    DELETE_ROW,
    INSERT,
    UPDATE,
    encode_record,
)
from tailer.scan.record.valid import TTL_MAX, is_ttl
from tailer.schema.column_type import column_type
from tailer.schema.model import ColumnKind
from tailer.schema.record_definitions import KINDS
from tailer.types import CqlType, parse_type
from writer_hooks.cell_arrays import MEMBERS, PYTHON, Array, Encoders, Late, MakeCell, cell_maker
from writer_hooks.change import Change
from writer_hooks.declare import Declared
from writer_hooks.hints import may_be
from writer_hooks.models import hints_of, holds_enum, values_of
from writer_hooks.python_values import VALUE_ERRORS, ToBytes
from writer_hooks.row_code import EncodeRow, Part, row_encoder
from writer_hooks.table_model import Column, checked_record, model_of

Values = Any
"""A row's values by column name, or a value of a class with such fields; `msgspec.UNSET` is as good as absent."""


class _Place(NamedTuple):
    """A column in the definition: its number there, its name, its type, and how values of it are written down."""

    number: int
    name: str
    type: CqlType
    encoders: Encoders


class _Data(NamedTuple):
    """A static or regular column: its name, its number in the definition, what makes its cells, and their values."""

    name: str
    number: int
    make: MakeCell
    encode: ToBytes


class Table:
    """A table of a log. Immutable; a changed one is declared as a new Table of the same name (and `id`).

    `name`: `keyspace.table`. `types`: user-defined types, as {name: {field: CQL type}}. `cdc`: whether its changes are
    captured; those of a table without are for the log's own `replay`. `id`: by default made of the name; give another
    to a table that is dropped and made anew. `encoders`: how values are written down, by default as in
    `writer_hooks.python_values`; of the columns in `enums` also members of enumerations, as the members' values. `fp`
    marks this version of the declaration.
    """

    def __init__(
        self,
        name: str,
        columns: Sequence[Column],
        *,
        cdc: bool = True,
        types: Mapping[str, Mapping[str, str]] | None = None,
        id: uuid.UUID | None = None,
        encoders: Encoders = PYTHON,
        enums: Container[str] = (),
    ) -> None:
        self.name = name
        self.model = model_of(name, columns, cdc, types or {}, id)
        record = checked_record(self.model)
        self.cdc = cdc
        self.id = record.table_id
        self.fp = record.fingerprint
        self.definition = encode_record(record)
        columns_of = {
            kind: [
                _Place(
                    number,
                    each.name,
                    column_type(each, self.model.types),
                    MEMBERS if each.name in enums else encoders,
                )
                for number, each in enumerate(self.model.columns)
                if each.kind == kind
            ]
            for kind in KINDS
        }
        self._key = _key_encoders(columns_of["partition_key"])
        self._clustering = _encoders(columns_of["clustering"])
        self._static = _data(columns_of["static"])
        self._regular = _data(columns_of["regular"])
        self.declared_by: type[object] | None = None
        """The class of its rows, where it was declared by one."""
        self._encode_row: EncodeRow | None = None
        self._names = frozenset(each.name for each in self.model.columns)

    @classmethod
    def of(
        cls,
        model: Any,
        name: str,
        *,
        key: Sequence[str],
        clustering: Sequence[str] = (),
        static: Sequence[str] = (),
        desc: Sequence[str] = (),
        cdc: bool = True,
        id: uuid.UUID | None = None,
    ) -> Table:
        """The table that a class declares, a column for each of its fields: a msgspec.Struct, a dataclass, a class of
        attrs, a model of pydantic. `desc`: clustering columns in descending order."""
        declared = Declared(model)
        texts = dict(declared.columns)
        for each in [*key, *clustering, *static, *desc]:
            if each not in texts:
                raise UsageError(f"{model.__name__} has no field {each}", expected=", ".join(texts), found=each)
        kinds: dict[str, ColumnKind] = dict.fromkeys(key, "partition_key")
        kinds |= dict.fromkeys(clustering, "clustering")
        kinds |= dict.fromkeys(static, "static")
        order = [*key, *clustering, *(each for each in texts if each not in key and each not in clustering)]
        columns = [Column(each, texts[each], kinds.get(each, "regular"), each in desc) for each in order]
        types = {each: {field.name: field.type for field in fields} for each, fields in declared.types.items()}
        hints = hints_of(model)
        enums = frozenset(each for each in order if holds_enum(hints[each]))
        table = cls(name, columns, cdc=cdc, types=types, id=id, enums=enums)
        table._take_model(model)
        return table

    def insert(
        self,
        values: Values,
        *,
        ttl: int | None = None,
        write_ts: int | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Change:
        """The row is there from now on, whatever becomes of its columns. `ttl`: seconds that it lives."""
        return self._write(INSERT, values, ttl, write_ts, attrs)

    def update(
        self,
        values: Values,
        *,
        ttl: int | None = None,
        write_ts: int | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Change:
        """The columns that are given are set, or deleted by None; the row lives as long as one of them."""
        return self._write(UPDATE, values, ttl, write_ts, attrs)

    def replace(
        self,
        values: Values,
        *,
        ttl: int | None = None,
        write_ts: int | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Change:
        """The row is what is given and nothing else: what it was before is deleted."""
        gone = self._deleted_row(values)
        written = self._write(INSERT, values, ttl, write_ts, attrs)
        return Change(self, [gone], [Late(gone, 4)], write_ts) & written

    def delete(self, values: Values, *, write_ts: int | None = None, attrs: Mapping[str, Any] | None = None) -> Change:
        """The row of that key is gone."""
        return Change(self, [self._deleted_row(values)], (), write_ts, attrs)

    def delete_partition(
        self, values: Values, *, write_ts: int | None = None, attrs: Mapping[str, Any] | None = None
    ) -> Change:
        """All rows of that partition key are gone, and its static columns."""
        row = [DELETE_PARTITION, self._key_of(_mapping(values)), None, False, *_NOTHING]
        return Change(self, [row], (), write_ts, attrs)

    def delete_range(
        self,
        values: Values,
        *,
        start: Sequence[Any] | None = None,
        end: Sequence[Any] | None = None,
        start_inclusive: bool = True,
        end_inclusive: bool = True,
        write_ts: int | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Change:
        """The rows of a partition between two bounds, in clustering order (of a DESC column the larger value starts).

        A bound has values of the first clustering columns, one or more; None is open.
        """
        for name, inclusive in (("start_inclusive", start_inclusive), ("end_inclusive", end_inclusive)):
            if not isinstance(inclusive, bool):
                raise UsageError(f"{name} of a range in {self.name}", expected="True or False", found=repr(inclusive))
        bounds = [
            self._bound(start),
            start_inclusive if start is not None else True,
            self._bound(end),
            end_inclusive if end is not None else True,
        ]
        row = [DELETE_RANGE, self._key_of(_mapping(values)), None, False, None, None, None, [], bounds]
        return Change(self, [row], (), write_ts, attrs)

    def _take_model(self, model: Any) -> None:
        """From now on whole rows of it are encoded by code that is made for it, but with static columns, whose rows are
        two, with non-frozen ones, whose elements have times, and with names of a dot, which `attrgetter` cuts there."""
        self.declared_by = model
        types = [parse_type(each.type, self.model.types) for each in self.model.columns]
        if self._static or any(type_.complex for type_ in types) or any("." in name for name in self._names):
            return
        hints = hints_of(model)
        encoders = dict([*self._key, *self._clustering]) | {each.name: each.encode for each in self._regular}
        parts = []
        for each, type_ in zip(self.model.columns, types, strict=True):
            none, unset = (may_be(hints[each.name], kind) for kind in (type(None), msgspec.UnsetType))
            parts.append(Part(each.name, type_, encoders[each.name], none, unset))
        data_at = len(self._key) + len(self._clustering)
        key, clustering = parts[: len(self._key)], parts[len(self._key) : data_at]
        self._encode_row = row_encoder(key, clustering, list(enumerate(parts))[data_at:])

    def _write(
        self, op: int, given: Values, ttl: int | None, write_ts: int | None, attrs: Mapping[str, Any] | None
    ) -> Change:
        if ttl is not None and not is_ttl(ttl):
            raise UsageError(
                f"ttl of a change of {self.name}", expected=f"whole seconds, 0 to {TTL_MAX}", found=repr(ttl)
            )
        if type(given) is self.declared_by and self._encode_row is not None and ttl is None:
            try:
                return Change(self, [msgspec.Raw(self._encode_row(op, given))], (), write_ts, attrs)
            except VALUE_ERRORS:
                # Below it is done by name, or found out which value it is.
                pass
        values = _mapping(given)
        if not values.keys() <= self._names:
            self._refuse_names(values)
        late: list[Late] = []
        key = self._key_of(values)
        rows: list[Array] = []
        if self._static:
            static = self._cells(self._static, values, ttl, late)
            if static:
                rows.append([UPDATE, key, None, True, None, None, None, static, None])
                if op == UPDATE and not any(name in values for name, _ in self._clustering) and self._clustering:
                    return Change(self, rows, late, write_ts, attrs)
        cells = self._cells(self._regular, values, ttl, late)
        row: Array = [op, key, self._clustering_of(values), False, None, None, None, cells, None]
        if ttl is not None and op == INSERT:
            row[5] = ttl
            late.append(Late(row, 6, ttl))
        rows.append(row)
        return Change(self, rows, late, write_ts, attrs)

    def _deleted_row(self, given: Values) -> Array:
        values = _mapping(given)
        return [DELETE_ROW, self._key_of(values), self._clustering_of(values), False, *_NOTHING]

    def _cells(
        self, columns: Sequence[_Data], values: Mapping[str, Any], ttl: int | None, late: list[Late]
    ) -> list[Array]:
        cells: list[Array] = []
        name = ""
        try:
            for name, number, make, _ in columns:
                if name in values and (value := values[name]) is not msgspec.UNSET:
                    cells.append(make(number, value, ttl, late))
        except VALUE_ERRORS as error:
            raise self._refused(name, values[name], error) from None
        return cells

    def _key_of(self, values: Mapping[str, Any]) -> list[bytes]:
        return self._encoded(self._key, values)

    def _clustering_of(self, values: Mapping[str, Any]) -> list[bytes] | None:
        return self._encoded(self._clustering, values) if self._clustering else None

    def _encoded(self, columns: Sequence[tuple[str, ToBytes]], values: Mapping[str, Any]) -> list[bytes]:
        name = ""
        try:
            return [encode(values[name]) for name, encode in columns]
        except (KeyError, *VALUE_ERRORS):
            for name, encode in columns:
                self._one(name, encode, values)
            raise

    def _one(self, name: str, encode: ToBytes, values: Mapping[str, Any]) -> None:
        if values.get(name) is None:
            raise UsageError(f"{self.name} needs a value for {name}, a column of its key", remedy="Give one.")
        try:
            encode(values[name])
        except VALUE_ERRORS as error:
            raise self._refused(name, values[name], error) from None

    def _bound(self, values: Sequence[Any] | None) -> list[bytes] | None:
        if values is None:
            return None
        if not 0 < len(values) <= len(self._clustering):
            raise UsageError(
                f"a bound of a range in {self.name}",
                expected=f"values of 1 to {len(self._clustering)} clustering columns",
                found=len(values),
            )
        columns = self._clustering[: len(values)]
        named = dict(zip((name for name, _ in columns), values, strict=True))
        return self._encoded(columns, named)

    def _refuse_names(self, values: Mapping[str, Any]) -> None:
        raise UsageError(
            f"{self.name} has no column {', '.join(sorted(values.keys() - self._names))}",
            expected=", ".join(sorted(self._names)),
            found=", ".join(sorted(values)),
            remedy="A new column needs a new declaration of the table.",
        )

    def _refused(self, name: str, value: Any, error: Exception) -> UsageError:
        column = next(each for each in self.model.columns if each.name == name)
        return UsageError(
            f"a value for {self.name}, column {name}: {error}", expected=column.type, found=f"{value!r:.80}"
        )


_NOTHING: Final = (None, None, None, (), None)
"""What a row has none of: ts, ttl, expires_at, cells, bounds."""


def _encoders(columns: list[_Place]) -> list[tuple[str, ToBytes]]:
    return [(each.name, each.encoders.value(each.type)) for each in columns]


def _key_encoders(columns: list[_Place]) -> list[tuple[str, ToBytes]]:
    made = _encoders(columns)
    return made if len(made) == 1 else [(name, _part_of_key(encode)) for name, encode in made]


def _part_of_key(encode: ToBytes) -> ToBytes:
    def encode_part(value: Any) -> bytes:
        part = encode(value)
        if len(part) > KEY_PART_BYTES_MAX:
            raise ValueError(f"{len(part)} bytes in a key of several columns, each of {KEY_PART_BYTES_MAX} at most")
        return part

    return encode_part


def _data(columns: list[_Place]) -> list[_Data]:
    return [
        _Data(each.name, each.number, cell_maker(each.type, each.encoders), each.encoders.value(each.type))
        for each in columns
    ]


def _mapping(values: Values) -> Mapping[str, Any]:
    return values if isinstance(values, Mapping) else values_of(values)
