"""A typed form made ready: Arrow schema, readers, and how the columns of a definition in force lie in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final

import msgspec
import pyarrow as pa

from tailer.rows.arrow_types import arrow_type
from tailer.rows.prepared import PreparedColumn, PreparedTable
from tailer.rows.typed.arrays import Repeated
from tailer.rows.typed.relaid import is_laid_out
from tailer.scan.record.record import TABLE_KEY_BYTES
from tailer.schema.model import Column
from tailer.schema.typed import META, TypedTable
from tailer.schema.typed_columns import fits, same_values
from tailer.typed_decode import decode_json
from tailer.types import CqlType
from tailer.types.cql import CellsReader, Decimals, Reader, ValueToJson
from tailer.types.value_json import value_json
from tailer.types.values import elements_reader, reader

MISSING: Final = -1

_STRING: Final = pa.string()
_META: Final[dict[str, pa.DataType]] = {
    "set": pa.list_(_STRING),
    "is_static": pa.bool_(),
    "write_ts": pa.int64(),
    "ttl": pa.int32(),
    "expires_at": pa.int64(),
    "token": pa.int64(),
    "segment": pa.int64(),
    "offset": pa.int64(),
    "row": pa.int64(),
}


@dataclass(frozen=True, slots=True)
class FormValue:
    """Values of one type in a column of that name. `parts`: those that the type is made of, in the same column."""

    name: str
    type: CqlType
    arrow: pa.DataType
    read: Reader
    parts: tuple[FormValue, ...]


@dataclass(frozen=True, slots=True)
class FormColumn(FormValue):
    """One of the table's own columns. `read_elements` only of a collection or UDT."""

    plain: pa.DataType
    read_elements: CellsReader | None
    json: ValueToJson


@dataclass(frozen=True, slots=True)
class Bound:
    """A definition in force, by the columns of the form. `slots`: place in the form by column number, or MISSING.

    `key`, `clustering`: places of the key columns; `misfit`: what of the key has no place there. `same`: by column
    number, whether the type is the very same in both. `moved`: columns whose values are laid out as the form has them
    first (`relaid`).
    """

    table: PreparedTable
    key: tuple[int, ...]
    clustering: tuple[int, ...]
    slots: tuple[int, ...]
    same: tuple[bool, ...]
    misfit: str | None
    moved: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Form:
    """A TypedTable with everything that rows need. Make it with `form_of`."""

    typed: TypedTable
    columns: tuple[FormColumn, ...]
    schema: pa.Schema
    repeated: Repeated = field(default_factory=Repeated)
    _bound: dict[int, Bound] = field(default_factory=dict)

    @cached_property
    def meta_fields(self) -> list[pa.Field]:
        """The fields behind the table's own."""
        return list(self.schema)[len(self.columns) :]

    @property
    def tolerant(self) -> bool:
        """Whether rows go on without what has no column here."""
        return self.typed.on_change == "ignore"

    def bind(self, table: PreparedTable) -> Bound:
        """The table's columns by the form's."""
        bound = self._bound.get(id(table))
        if bound is None or bound.table is not table:
            if len(self._bound) > 64:
                self._bound.clear()
            bound = self._bound[id(table)] = _bind(self, table)
        return bound


def form_of(typed: TypedTable) -> Form:
    """The form ready for rows; the same one for the same value."""
    return _form(msgspec.json.encode(typed))


@lru_cache(maxsize=16)
def _form(encoded: bytes) -> Form:
    typed = decode_json(encoded, TypedTable)
    columns = tuple(_form_column(column.name, typed.type_of(column), typed) for column in typed.columns)
    own = [pa.field(column.name, column.arrow) for column in columns]
    meta = [pa.field(typed.prefix + name, _META.get(name, _STRING)) for name in META]
    return Form(typed, columns, pa.schema(own + meta))


def _form_column(name: str, type_: CqlType, typed: TypedTable) -> FormColumn:
    decimals = typed.decimals
    return FormColumn(
        name,
        type_,
        arrow_type(type_, decimals),
        reader(type_, decimals),
        _form_parts(name, type_, decimals),
        arrow_type(type_, decimals, plain=True),
        elements_reader(type_, decimals),
        value_json(type_, decimals),
    )


def _form_parts(name: str, type_: CqlType, decimals: Decimals) -> tuple[FormValue, ...]:
    return tuple(
        FormValue(name, part, arrow_type(part, decimals), reader(part, decimals), _form_parts(name, part, decimals))
        for part in type_.arguments
    )


def _bind(form: Form, table: PreparedTable) -> Bound:
    kinds = [column.kind for column in form.typed.columns]
    key = [number for number, kind in enumerate(kinds) if kind == "partition_key"]
    clustering = [number for number, kind in enumerate(kinds) if kind == "clustering"]
    by_name = {column.name: number for number, column in enumerate(form.columns) if number not in {*key, *clustering}}
    native = len(table.scan.id) == TABLE_KEY_BYTES
    slots: list[int] = []
    same: list[bool] = []
    moved: set[int] = set()
    # Of one definition: whoever asks it for each column takes the square of their number.
    defined = table.definition.data_columns
    for number, column in enumerate(table.columns):
        slot = by_name.get(column.name, MISSING)
        if slot != MISSING and not _takes(form, slot, table.definition.id, defined[number], column.type, native):
            slot = MISSING
        slots.append(slot)
        same.append(slot != MISSING and _is_same(column.type, form.columns[slot].type))
        if native and slot != MISSING and not is_laid_out(column.type, form.columns[slot].type):
            moved.add(number)
    misfit = _misfit(form, table.key, key) or _misfit(form, table.clustering, clustering)
    return Bound(table, tuple(key), tuple(clustering), tuple(slots), tuple(same), misfit, frozenset(moved))


def _takes(form: Form, slot: int, id: str, column: Column, have: CqlType, native: bool) -> bool:
    """Whether values of a column have their place in that one of the form, which may be another column of the name.
    `id`: of the column's table."""
    want = form.typed.columns[slot]
    is_one = want.is_earlier or column.dropped or (id, column.dropped_time) == (form.typed.id, want.since)
    return (fits if is_one else same_values)(have, form.columns[slot].type, native)


def _is_same(have: CqlType, want: CqlType) -> bool:
    return have.text == want.text and have.names == want.names and all(map(_is_same, have.arguments, want.arguments))


def _misfit(form: Form, columns: tuple[PreparedColumn, ...], places: list[int]) -> str | None:
    """Key columns may be renamed: they are told by their places."""
    if len(columns) != len(places):
        return "a key of another number of columns"
    for column, place in zip(columns, places, strict=True):
        if not fits(column.type, form.columns[place].type):
            return f'a key column "{column.name}" of type {column.type.text}'
    return None
