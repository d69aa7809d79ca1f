"""The Arrow types of CQL types, as the typed form has them (architecture section 4). Knows no value.

Importing this loads pyarrow.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from tailer.types.cql import CqlType, TypeKind
from tailer.types.values import DIGITS, DURATION, SCALE, Decimals, is_pairs, tuple_fields

_SCALARS: Final[dict[TypeKind, pa.DataType]] = {
    "ascii": pa.string(),
    "bigint": pa.int64(),
    "blob": pa.binary(),
    "boolean": pa.bool_(),
    "counter": pa.int64(),
    "custom": pa.binary(),
    "date": pa.date32(),
    "double": pa.float64(),
    "duration": pa.struct(list(zip(DURATION, (pa.int32(), pa.int32(), pa.int64()), strict=True))),
    "empty": pa.string(),
    "float": pa.float32(),
    "inet": pa.string(),
    "int": pa.int32(),
    "smallint": pa.int16(),
    "text": pa.string(),
    "time": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timeuuid": pa.string(),
    "tinyint": pa.int8(),
    "uuid": pa.string(),
}
_NUMBERS: Final[dict[TypeKind, pa.DataType]] = {
    "decimal": pa.decimal128(DIGITS, SCALE),
    "varint": pa.decimal128(DIGITS, 0),
}
_PLAIN: Final[dict[TypeKind, pa.DataType]] = {"date": pa.int32(), "timestamp": pa.int64()}


def arrow_type(type_: CqlType, decimals: Decimals, *, plain: bool = False) -> pa.DataType:
    """The Arrow type of a whole value. With `plain` dates and timestamps are the integers that they are made of."""
    kind = type_.kind
    if plain and kind in _PLAIN:
        return _PLAIN[kind]
    if kind in _NUMBERS:
        return pa.string() if decimals == "string" else _NUMBERS[kind]
    if kind in _SCALARS:
        return _SCALARS[kind]
    parts = [arrow_type(argument, decimals, plain=plain) for argument in type_.arguments]
    if kind == "map" and is_pairs(type_):
        return pa.list_(pa.struct(list(zip(("key", "value"), parts, strict=True))))
    if kind == "map":
        return pa.map_(*parts)
    if kind in ("udt", "tuple"):
        names = type_.names if kind == "udt" else tuple_fields(type_)
        return pa.struct(list(zip(names, parts, strict=True)))
    return pa.list_(parts[0])
