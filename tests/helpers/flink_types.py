"""Columns of a source's table as Flink's DDL types them for `debezium-json`, and its answers as the JSON of SELECT.

What Flink has no type for (a tuple, a time of nanoseconds, a number of any size) is a text there: `wide` asks for that
also of dates, timestamps and decimals, whose extreme values Flink or Python has no room for.
"""

from __future__ import annotations

import math
from typing import Any

from tailer.types import CqlType
from tailer.types.cql import Native
from tailer.types.kinds import MAP
from tailer.types.values import field_names
from tests.oracle.jsontext import Json, Number, Real, loads

TYPES = {
    "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INT", "bigint": "BIGINT", "counter": "BIGINT",
    "boolean": "BOOLEAN", "float": "FLOAT", "double": "DOUBLE",
}  # fmt: skip
NARROW = {"date": "DATE", "timestamp": "TIMESTAMP_LTZ(3)", "decimal": "DECIMAL(38, 18)", "varint": "DECIMAL(38, 0)"}
NUMBERS = ("decimal", "varint")
EXACT = "`exact numbers`"
"""A column that no message has: Flink reads numbers with all their digits only where a query reads a DECIMAL."""


def name(column: str) -> str:
    """A name in Flink's SQL."""
    return "`" + column.replace("`", "``") + "`"


def flink_type(type_: CqlType, *, wide: bool) -> str:
    if isinstance(type_.traits, Native):
        return TYPES.get(type_.kind) or ("STRING" if wide else NARROW.get(type_.kind, "STRING"))
    if type_.traits is MAP:
        return f"MAP<STRING, {flink_type(type_.value, wide=wide)}>"
    if type_.traits.takes == 1:
        return f"ARRAY<{flink_type(type_.element, wide=wide)}>"
    if _is_tuple(type_):
        return "STRING"
    fields = zip(field_names(type_), type_.arguments, strict=True)
    return "ROW<" + ", ".join(f"{name(field)} {flink_type(part, wide=wide)}" for field, part in fields) + ">"


def asked(column: str, type_: CqlType) -> str:
    """What a query asks for: a value, or a text of one that PyFlink does not hand over."""
    if not isinstance(type_.traits, Native):
        return f"JSON_STRING({column})" if type_.names or not _is_tuple(type_) else column
    return f"CAST({column} AS STRING)" if type_.kind in ("timestamp", "float", "double") else column


def answered(value: Any, type_: CqlType) -> Json:
    """What `flink_query` printed of what was asked."""
    if value is None:
        return None
    return as_json(value if isinstance(type_.traits, Native) else loads(value), type_)


def as_json(value: Any, type_: CqlType) -> Json:
    if value is None:
        return None
    if isinstance(type_.traits, Native):
        return _native(value, type_.kind)
    if type_.traits is MAP:
        return {key: as_json(part, type_.value) for key, part in value.items()}
    if type_.traits.takes == 1:
        return [as_json(part, type_.element) for part in value]
    if _is_tuple(type_):
        return loads(value) if isinstance(value, str) else value
    fields = zip(field_names(type_), type_.arguments, strict=True)
    return {field: as_json(value.get(field), part) for field, part in fields}


def _is_tuple(type_: CqlType) -> bool:
    """Flink has it as the text of its JSON."""
    return (
        not isinstance(type_.traits, Native) and type_.traits is not MAP and type_.traits.takes != 1 and not type_.names
    )


def _native(value: Any, kind: str) -> Json:
    if kind in ("float", "double"):
        number = float(value)
        return Number(Real(number, kind == "double").text()) if math.isfinite(number) else None
    if kind in NUMBERS:
        return Number(value)
    if kind == "timestamp":
        day, _, time = value.replace("T", " ").removesuffix("Z").partition(" ")
        return f"{day} {time[:8]}.{time[9:]:0<3}Z"
    return value
