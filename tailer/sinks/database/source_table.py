"""A table of the source as columns of a target table, and its rows' JSON as values for them. Pure.

Values that a database has no type for stay the JSON text that SELECT JSON shows. In a key two values that the source
tells apart must not be one for the database: so some are texts there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa

from tailer.errors import SinkError
from tailer.schema.model import Column, TableDefinition
from tailer.sinks.database.columns import NOT_KEPT, TargetColumn, TargetForm, ValueKind, kind_of
from tailer.sinks.database.folded import Key
from tailer.typed_decode import json_decoder
from tailer.types import parse_type
from tailer.types.cql import Native

SEQ: Final = "cdc_tail_seq"
"""Of the last image of the row: an older one changes nothing."""
COMPLETE: Final = "cdc_tail_complete"
"""Whether the row was known whole then."""

OWN: Final = (TargetColumn(SEQ, "int64", pa.int64()), TargetColumn(COMPLETE, "bool", pa.bool_()))

_TEXT_IN_KEYS: Final = frozenset({"float", "double", "decimal"})
"""Kinds of which a database may take two values for one (0.0 and -0.0, 1.0 and 1.00), or has no order."""
_NULL: Final = msgspec.Raw(b"null")
_fields: Final = json_decoder(dict[str, msgspec.Raw]).decode
_string: Final = json_decoder(str).decode

_Make = Callable[[str], Any]


class SourceColumn(NamedTuple):
    """`target`: what it is in the database; `make`: of the text of a value, what that is given."""

    name: str
    target: TargetColumn
    make: _Make | None


class SourceTable:
    """By one definition. `decimals`: what decimals are in this database. `without`: columns that are left out.
    `moment`: see `Store`."""

    def __init__(
        self,
        definition: TableDefinition,
        decimals: ValueKind = "decimal",
        without: Container[str] = (),
        moment: Callable[[str], str] = str,
    ) -> None:
        self.name = definition.name
        self._types = definition.types
        self._decimals = decimals
        self._made: dict[ValueKind, _Make] = {**_MADE, "date": moment, "timestamp": moment}
        self.partition = self._columns(definition.partition_key, key=True)
        self.clustering = self._columns(definition.clustering, key=True)
        live = [
            each
            for each in definition.data_columns
            if not each.dropped and each.name not in without and not self._is_hidden(each)
        ]
        self.static = self._columns([each for each in live if each.kind == "static"])
        self.regular = self._columns([each for each in live if each.kind == "regular"])

    @property
    def key(self) -> tuple[SourceColumn, ...]:
        return (*self.partition, *self.clustering)

    @cached_property
    def form(self) -> TargetForm:
        """Of the table itself."""
        return self._form((*self.key, *self.static, *self.regular), self.key)

    @cached_property
    def static_form(self) -> TargetForm:
        """Of the table beside it that has the static rows."""
        return self._form((*self.partition, *self.static), self.partition)

    def key_of(self, partition_key: str, clustering: str | None) -> Key:
        """The values of a row's key by their JSON; of a static row, or a partition, without `clustering`.

        By place: a column of the key may have another name by now.
        """
        values = [*_fields(partition_key).values(), *(() if clustering is None else _fields(clustering).values())]
        columns = self.partition if clustering is None else self.key
        values += [_NULL] * (len(columns) - len(values))
        return tuple(self._in_key(column, raw) for column, raw in zip(columns, values, strict=True))

    def values_of(self, row: str, *, static: bool) -> dict[str, Any]:
        """The values of the columns that are in a row's JSON, those of the key and those that are gone left out."""
        fields = _fields(row)
        columns = self.static if static else self.regular
        return {column.name: _value(column, fields[column.name]) for column in columns if column.name in fields}

    def data_names(self, *, static: bool) -> frozenset[str]:
        """The regular columns, or the static ones."""
        return frozenset(column.name for column in (self.static if static else self.regular))

    def _columns(self, columns: Iterable[Column], *, key: bool = False) -> tuple[SourceColumn, ...]:
        return tuple(self._column(column, key=key) for column in columns)

    def _column(self, column: Column, *, key: bool) -> SourceColumn:
        traits = parse_type(column.type, self._types).traits
        if not isinstance(traits, Native):
            return SourceColumn(column.name, _target(column.name, "text" if key else "json"), None)
        kind = kind_of(traits.arrow)
        if kind == "decimal":
            kind = self._decimals
        if kind == "nested" or (key and kind in _TEXT_IN_KEYS):
            kind = "text"
        make = self._made.get(kind, str)
        if kind in _WHOLE_KINDS and traits.quoted:
            # Nanoseconds, of a type that JSON has the text of.
            make = traits.parse
        return SourceColumn(column.name, _target(column.name, kind), make)

    def _is_hidden(self, column: Column) -> bool:
        """Compact tables have one that no value has room in, and SELECT does not show."""
        traits = parse_type(column.type, self._types).traits
        return isinstance(traits, Native) and traits.size == 0

    def _in_key(self, column: SourceColumn, raw: msgspec.Raw) -> Any:
        value = _value(column, raw)
        if value is None:
            raise SinkError(
                f"a row of {self.name} has no value for {column.name} in its key, and a table of a database wants one",
                remedy=NOT_KEPT,
            )
        return value

    def _form(self, columns: tuple[SourceColumn, ...], key: tuple[SourceColumn, ...]) -> TargetForm:
        names = tuple(column.name for column in key)
        loose = bool(self.static) and len(key) > len(self.partition)
        return TargetForm((*(column.target for column in columns), *OWN), names, loose=loose)


def _target(name: str, kind: ValueKind) -> TargetColumn:
    return TargetColumn(name, kind, pa.null())


def _value(column: SourceColumn, raw: msgspec.Raw) -> Any:
    """What a database is given for a value's JSON. What is none of the type (an empty value) stays its text."""
    text = bytes(raw)
    if text == b"null":
        return None
    if column.make is None:
        return text.decode()
    plain = _string(raw) if text.startswith(b'"') else text.decode()
    try:
        return column.make(plain)
    except ValueError:
        return plain


def _real(text: str) -> float | str:
    value = float(text)
    # SQLite would write NULL; all others take the word.
    return "NaN" if math.isnan(value) else value


def _binary(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def _flag(text: str) -> bool | str:
    return {"true": True, "false": False}.get(text, text)


_WHOLE_KINDS: Final = ("int8", "int16", "int32", "int64")
_MADE: Final[dict[ValueKind, _Make]] = {
    "bool": _flag, "binary": _binary, "float": _real, "double": _real, **dict.fromkeys(_WHOLE_KINDS, int),
}  # fmt: skip
