"""Values of Python to the bytes that a log has, by the column's CQL type. Knows no row and no file.

| CQL | Python |
|---|---|
| text, ascii | `str` |
| tinyint, smallint, int, bigint, varint | `int` |
| float, double | `float`, `int` |
| decimal | `decimal.Decimal`, `int` |
| boolean, blob | `bool`, `bytes` |
| uuid, timeuuid, inet | `uuid.UUID`, `ipaddress` address; a `str` that reads as one |
| timestamp | `datetime` (one without zone is UTC), `int` milliseconds |
| date, time | `datetime.date`, `datetime.time`, `int` nanoseconds of the day |
| duration | `datetime.timedelta`, or (months, days, nanoseconds) |
| list, set, map, tuple, vector | a list, set, dict, tuple, list of such values |
| a user-defined type | a `msgspec.Struct`, or a dict by field name |
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from tailer.types import CqlType
from tailer.types.cql import TypeKind
from tailer.types.encode import framed, varint_bytes
from tailer.types.order import order_bytes
from tailer.types.vint import write_signed, write_unsigned

ToBytes = Callable[[Any], bytes]
"""A value to its bytes; TypeError, ValueError, OverflowError or struct.error for what is none of the type."""

VALUE_ERRORS: Final = (TypeError, ValueError, OverflowError, AttributeError, ArithmeticError, struct.error)
"""What a `ToBytes` raises."""

_LENGTH: Final = struct.Struct(">i").pack
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_MILLISECOND: Final = timedelta(milliseconds=1)


def to_bytes(type_: CqlType) -> ToBytes:
    """What encodes values of the type."""
    nested = _NESTED.get(type_.kind)
    return _SCALARS[type_.kind] if nested is None else nested(type_)


def _packed(layout: str) -> ToBytes:
    return struct.Struct(">" + layout).pack


def _decimal(value: Any) -> bytes:
    sign, figures, exponent = Decimal(value).as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is no finite number")
    unscaled = int("".join(map(str, figures)))
    return _LENGTH(-exponent) + varint_bytes(-unscaled if sign else unscaled)


def _boolean(value: Any) -> bytes:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r:.80} is no bool")
    return b"\1" if value else b"\0"


def _ascii(value: str) -> bytes:
    return value.encode("ascii")


def _varint(value: Any) -> bytes:
    if not isinstance(value, int):
        raise TypeError(f"{value!r:.80} is no int")
    return varint_bytes(value)


def _blob(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"{value!r:.80} is no bytes")


def _uuid(value: Any) -> bytes:
    return (value if isinstance(value, UUID) else UUID(value)).bytes


def _timeuuid(value: Any) -> bytes:
    made = _uuid(value)
    if made[6] >> 4 != 1:
        raise ValueError(f"{value} is no uuid of version 1")
    return made


def _inet(value: Any) -> bytes:
    return ipaddress.ip_address(value).packed


def _timestamp(value: Any) -> bytes:
    if isinstance(value, datetime):
        value = (value if value.tzinfo is not None else value.replace(tzinfo=UTC)) - _EPOCH
        value //= _MILLISECOND
    return struct.pack(">q", value)


def _date(value: Any) -> bytes:
    return struct.pack(">I", value.toordinal() - _EPOCH_DAY + 0x8000_0000)


def _time(value: Any) -> bytes:
    if isinstance(value, time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        value = (seconds * 1_000_000 + value.microsecond) * 1000
    if not 0 <= value < 86_400_000_000_000:
        raise ValueError(f"{value} is no time of a day")
    return struct.pack(">q", value)


def _duration(value: Any) -> bytes:
    if isinstance(value, timedelta):
        value = 0, value.days, (value.seconds * 1_000_000 + value.microseconds) * 1000
        if value[1] < 0 < value[2]:
            # Parts of a duration have one sign.
            value = 0, value[1] + 1, value[2] - 86_400_000_000_000
    months, days, nanos = value
    if min(value) < 0 < max(value):
        raise ValueError(f"{value}: months, days and nanoseconds of different signs")
    return write_signed(months) + write_signed(days) + write_signed(nanos)


def _list(type_: CqlType) -> ToBytes:
    encode = to_bytes(type_.element)

    def encode_list(value: Any) -> bytes:
        parts = [encode(part) for part in _items(value)]
        return _LENGTH(len(parts)) + framed(parts)

    return encode_list


def _set(type_: CqlType) -> ToBytes:
    encode = to_bytes(type_.element)
    order = order_bytes(type_.element)

    def encode_set(value: Any) -> bytes:
        parts = sorted({encode(part) for part in _items(value)}, key=order)
        return _LENGTH(len(parts)) + framed(parts)

    return encode_set


def _map(type_: CqlType) -> ToBytes:
    encode_key, encode_value = to_bytes(type_.key), to_bytes(type_.value)
    order = order_bytes(type_.key)

    def encode_map(value: Any) -> bytes:
        pairs = sorted(
            ((encode_key(key), encode_value(part)) for key, part in value.items()), key=lambda pair: order(pair[0])
        )
        return _LENGTH(len(pairs)) + framed([part for pair in pairs for part in pair])

    return encode_map


def _tuple(type_: CqlType) -> ToBytes:
    fields = [to_bytes(argument) for argument in type_.arguments]

    def encode_tuple(value: Any) -> bytes:
        return _fields(fields, _items(value))

    return encode_tuple


def _udt(type_: CqlType) -> ToBytes:
    fields = [to_bytes(argument) for argument in type_.arguments]
    names = type_.names

    def encode_udt(value: Any) -> bytes:
        if isinstance(value, dict):
            if not value.keys() <= set(names):
                raise ValueError(f"{type_.text} has no field {', '.join(sorted(value.keys() - set(names)))}")
            return _fields(fields, [value.get(name) for name in names])
        return _fields(fields, [getattr(value, name) for name in names])

    return encode_udt


def _fields(fields: Sequence[ToBytes], values: Sequence[Any]) -> bytes:
    if len(values) != len(fields):
        raise ValueError(f"{len(values)} values for {len(fields)} fields")
    return framed([None if value is None else encode(value) for encode, value in zip(fields, values, strict=True)])


def _vector(type_: CqlType) -> ToBytes:
    encode, fixed = to_bytes(type_.element), type_.element.fixed

    def encode_vector(value: Any) -> bytes:
        parts = [encode(part) for part in _items(value)]
        if len(parts) != type_.dimension:
            raise ValueError(f"{len(parts)} elements of {type_.text}")
        return b"".join(parts if fixed is not None else [write_unsigned(len(part)) + part for part in parts])

    return encode_vector


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, (str, bytes, dict)) or not isinstance(value, Iterable):
        raise TypeError(f"{value!r:.80} is no collection of values")
    return list(value)


_SCALARS: Final[dict[TypeKind, ToBytes]] = {
    "ascii": _ascii,
    "bigint": _packed("q"),
    "blob": _blob,
    "boolean": _boolean,
    "custom": _blob,
    "date": _date,
    "decimal": _decimal,
    "double": _packed("d"),
    "duration": _duration,
    "empty": _blob,
    "float": _packed("f"),
    "inet": _inet,
    "int": _packed("i"),
    "smallint": _packed("h"),
    "text": str.encode,
    "time": _time,
    "timestamp": _timestamp,
    "timeuuid": _timeuuid,
    "tinyint": _packed("b"),
    "uuid": _uuid,
    "varint": _varint,
}
_NESTED: Final[dict[TypeKind, Callable[[CqlType], ToBytes]]] = {
    "list": _list,
    "map": _map,
    "set": _set,
    "tuple": _tuple,
    "udt": _udt,
    "vector": _vector,
}
