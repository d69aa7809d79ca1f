"""The columns of a target table, out of the form that rows have: a name, a kind of value, its Arrow type.

Each database has a column type for each kind. Knows no database.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

import pyarrow as pa

from tailer.schema.typed import TypedTable
from tailer.sinks.arrow import schema_of
from tailer.sinks.image_ids import IMAGE_ID, identified
from tailer.sinks.outlet import OutletContext

ValueKind = Literal[
    "bool", "int8", "int16", "int32", "int64", "float", "double", "text", "binary", "date", "timestamp", "decimal",
    "json", "nested",
]  # fmt: skip
"""`json`: text that is JSON already. `nested`: lists, maps and structs."""

NOT_KEPT: Final = (
    "Leave the table out (--exclude). Its images can go elsewhere: --mode changes, another --into and another "
    "--consumer."
)
"""What to do with a table of the source that a database cannot keep as it is."""

_JSON: Final = frozenset(
    {"partition_key", "clustering", "columns", "deltas", "range", "cells", "attrs", "before", "after"}
)
_KEY: Final = "event_id"
_BY_ARROW: Final[dict[str, ValueKind]] = {
    "bool": "bool",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "float": "float",
    "double": "double",
    "string": "text",
    "binary": "binary",
    "date32[day]": "date",
    "timestamp[us, tz=UTC]": "timestamp",
}


class TargetColumn(NamedTuple):
    """One column of a target table."""

    name: str
    kind: ValueKind
    arrow: pa.DataType


class TargetForm(NamedTuple):
    """What a target table holds. `keys`: the columns that are the same for the same row. `segment`, `offset`: those
    that say where a row is from; of a table that is kept as the source is there are none. `loose`: a key may have
    nulls."""

    columns: tuple[TargetColumn, ...]
    keys: tuple[str, ...]
    segment: str = ""
    offset: str = ""
    loose: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(column.name, column.arrow) for column in self.columns])


def target_form(typed: TypedTable | None, more: Sequence[str] = ()) -> TargetForm:
    """The columns of change rows: of that typed form, or the generic ones (None). `more`: those behind all others."""
    if typed is None:
        return _generic(tuple(more))
    own = len(typed.columns)
    fields = list(schema_of(typed, more))
    meta = {typed.prefix + name for name in _JSON}
    columns = [_column(field, number >= own and field.name in meta) for number, field in enumerate(fields)]
    key, segment, offset = (typed.prefix + name for name in (_KEY, "segment", "offset"))
    return TargetForm(tuple(columns), (key,), segment, offset)


def form_of(context: OutletContext) -> TargetForm:
    """The columns of what an outlet is given."""
    if context.images is None:
        return target_form(context.typed, context.more)
    return TargetForm(_columns(identified(context.images.schema())), (IMAGE_ID,), "segment", "offset")


def kind_of(arrow: str) -> ValueKind:
    """The kind of values of an Arrow type."""
    return "decimal" if arrow.startswith("decimal") else _BY_ARROW.get(arrow, "nested")


def columns_text(names: Sequence[str]) -> str:
    """Columns in a sentence, with the verb behind them."""
    return f"column {names[0]} is" if len(names) == 1 else f"columns {', '.join(names)} are"


@cache
def _generic(more: tuple[str, ...]) -> TargetForm:
    return TargetForm(_columns(schema_of(None, more)), (_KEY,), "segment", "offset")


def _columns(schema: pa.Schema) -> tuple[TargetColumn, ...]:
    return tuple(_column(field, field.name in _JSON) for field in schema)


def _column(field: pa.Field, is_json: bool) -> TargetColumn:
    return TargetColumn(field.name, "json" if is_json else kind_of(str(field.type)), field.type)
