"""The types that take no other type, by CQL's word for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tailer.types import floats, integers, scalars, times
from tailer.types.counter import counter_json
from tailer.types.cql import CqlType, Shape, TypeKind
from tailer.types.jsontext import ToJson, as_key


def _native(kind: TypeKind, json: ToJson, fixed: int | None = None, shape: Shape = Shape.SIMPLE) -> CqlType:
    return CqlType(kind, kind, json, as_key(json), fixed, shape)


def _string(kind: TypeKind, json: ToJson, fixed: int | None = None) -> CqlType:
    """A type whose JSON is always a string, and so its own key."""
    return CqlType(kind, kind, json, json, fixed)


def custom(class_name: str) -> CqlType:
    """The type of a Java class that CQL has no word for: its bytes in hex."""
    return CqlType(f"'{class_name}'", "custom", scalars.custom_json, scalars.custom_json)


_TYPES: Final = (
    _string("ascii", scalars.ascii_json),
    _native("bigint", integers.fixed_integer("bigint", "q"), 8),
    _string("blob", scalars.blob_json),
    _native("boolean", scalars.boolean_json, 1),
    _native("counter", counter_json, None, Shape.COUNTER),
    _string("date", times.date_json),
    _native("decimal", integers.decimal_json),
    _native("double", floats.double_json, 8),
    _string("duration", times.duration_json),
    _string("empty", scalars.empty_json, 0),
    _native("float", floats.float_json, 4),
    _string("inet", scalars.inet_json),
    _native("int", integers.fixed_integer("int", "i"), 4),
    _native("smallint", integers.fixed_integer("smallint", "h")),
    _string("text", scalars.text_json),
    _string("time", times.time_json),
    _string("timestamp", times.timestamp_json, 8),
    _string("timeuuid", scalars.uuid_json, 16),
    _native("tinyint", integers.fixed_integer("tinyint", "b")),
    _string("uuid", scalars.uuid_json, 16),
    _native("varint", integers.varint_json),
)

NATIVES: Final[Mapping[str, CqlType]] = {type_.text: type_ for type_ in _TYPES} | {
    "varchar": next(type_ for type_ in _TYPES if type_.text == "text")
}
"""Every word of CQL for a type without arguments."""
