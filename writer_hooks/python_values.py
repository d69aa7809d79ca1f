"""Values of Python to the bytes that a log has, by the column's CQL type. Knows no row and no file.

| CQL | Python |
|---|---|
| text, ascii | `str` |
| tinyint, smallint, int, bigint, varint | `int` |
| float, double | `float`, `int` |
| decimal | `decimal.Decimal` of any size, `int`; a `float` is none: it is not the number that it prints |
| boolean, blob | `bool`, `bytes` |
| uuid, timeuuid, inet | `uuid.UUID`, `ipaddress` address; a `str` that reads as one |
| timestamp | `datetime` of whole milliseconds (one without zone is UTC), `int` milliseconds |
| date, time | `datetime.date`, `datetime.time` without a zone, `int` nanoseconds of the day |
| duration | `datetime.timedelta`, or (months, days, nanoseconds) |
| list, set, map, tuple, vector | a list, set, dict, tuple, list of such values |
| a user-defined type | a dict by field name, or anything with such attributes |
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from tailer.types import CqlType
from tailer.types.cql import Nested
from tailer.types.kinds import BY_NAME
from tailer.types.order import order_bytes
from tailer.types.parts import collection_bytes, framed, vector_bytes
from tailer.types.values import micros

ToBytes = Callable[[Any], bytes]
"""A value to its bytes; TypeError, ValueError, OverflowError or struct.error for what is none of the type."""

MadeOf = Callable[[CqlType], ToBytes]
"""What encodes values of a type's parts."""

VALUE_ERRORS: Final = (TypeError, ValueError, OverflowError, AttributeError, ArithmeticError, struct.error)
"""What a `ToBytes` raises."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_MILLISECOND: Final = timedelta(milliseconds=1)


def to_bytes(type_: CqlType) -> ToBytes:
    """What encodes values of the type."""
    traits = type_.traits
    if isinstance(traits, Nested):
        return _NESTED[traits.name](type_, to_bytes)
    # A program's text is never an escape (`types.texts`): that of a key is packed as any other.
    pack, convert = BY_NAME[traits.name].pack, _CONVERTED.get(traits.name)
    if convert is None or pack is bytes:
        return convert or pack
    return lambda value: pack(convert(value))


def members_to_bytes(type_: CqlType) -> ToBytes:
    """The same where a value, or what it holds, may be a member of an enumeration: the member's value is written."""
    traits = type_.traits
    if isinstance(traits, Nested):
        return _NESTED[traits.name](type_, members_to_bytes)
    encode = to_bytes(type_)

    def encode_member(value: Any) -> bytes:
        # A member may stand for another one.
        while isinstance(value, Enum):
            value = value.value
        return encode(value)

    return encode_member


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r:.80} is no bool")
    return value


def _int(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r:.80} is no int")
    return value


def _bytes(value: Any) -> bytes:
    if type(value) is bytes:
        return value
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


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (Decimal, int)):
        raise TypeError(f"{value!r:.80} is no Decimal and no int")
    return Decimal(value)


def _millis(value: Any) -> Any:
    if isinstance(value, datetime):
        if value.microsecond % 1000:
            raise ValueError(
                "a timestamp has milliseconds: round it (value.replace(microsecond=value.microsecond // 1000 * 1000)), "
                "or declare the field as another type"
            )
        value = (value if value.tzinfo is not None else value.replace(tzinfo=UTC)) - _EPOCH
        value //= _MILLISECOND
    # Readers have it in microseconds.
    return micros(value) // 1000


def _days(value: Any) -> int:
    if isinstance(value, datetime):
        raise TypeError(f"{value!r:.80} is a time, not a date")
    days: int = value.toordinal() - _EPOCH_DAY
    return days


def _nanos(value: Any) -> Any:
    if isinstance(value, time):
        if value.tzinfo is not None:
            raise TypeError(f"{value!r:.80} has a zone, which a time of a day has not")
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        value = (seconds * 1_000_000 + value.microsecond) * 1000
    if not 0 <= value < 86_400_000_000_000:
        raise ValueError(f"{value} is no time of a day")
    return value


def _duration(value: Any) -> tuple[int, int, int]:
    if isinstance(value, timedelta):
        value = 0, value.days, (value.seconds * 1_000_000 + value.microseconds) * 1000
        if value[1] < 0 < value[2]:
            # Parts of a duration have one sign.
            value = 0, value[1] + 1, value[2] - 86_400_000_000_000
    months, days, nanos = value
    return months, days, nanos


def _list(type_: CqlType, made: MadeOf) -> ToBytes:
    encode = made(type_.element)

    def encode_list(value: Any) -> bytes:
        return collection_bytes([encode(part) for part in _items(value)], 1)

    return encode_list


def _set(type_: CqlType, made: MadeOf) -> ToBytes:
    encode = made(type_.element)
    order = order_bytes(type_.element)

    def encode_set(value: Any) -> bytes:
        parts = sorted({encode(part) for part in _items(value)}, key=order)
        return collection_bytes(parts, 1)

    return encode_set


def _map(type_: CqlType, made: MadeOf) -> ToBytes:
    encode_key, encode_value = made(type_.key), made(type_.value)
    order = order_bytes(type_.key)

    def encode_map(value: Any) -> bytes:
        pairs = sorted(
            ((encode_key(key), encode_value(part)) for key, part in value.items()), key=lambda pair: order(pair[0])
        )
        return collection_bytes([part for pair in pairs for part in pair], 2)

    return encode_map


def _tuple(type_: CqlType, made: MadeOf) -> ToBytes:
    fields = [made(argument) for argument in type_.arguments]

    def encode_tuple(value: Any) -> bytes:
        return _fields(fields, _items(value))

    return encode_tuple


def _udt(type_: CqlType, made: MadeOf) -> ToBytes:
    fields = [made(argument) for argument in type_.arguments]
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


def _vector(type_: CqlType, made: MadeOf) -> ToBytes:
    encode, fixed = made(type_.element), type_.element.fixed

    def encode_vector(value: Any) -> bytes:
        parts = [encode(part) for part in _items(value)]
        if len(parts) != type_.dimension:
            raise ValueError(f"{len(parts)} elements of {type_.text}")
        return vector_bytes(parts, fixed)

    return encode_vector


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, (str, bytes, dict)) or not isinstance(value, Iterable):
        raise TypeError(f"{value!r:.80} is no collection of values")
    return list(value)


_CONVERTED: Final[dict[str, Callable[[Any], Any]]] = {
    "blob": _bytes,
    "boolean": _bool,
    "custom": _bytes,
    "date": _days,
    "decimal": _decimal,
    "duration": _duration,
    "empty": _bytes,
    "inet": _inet,
    "time": _nanos,
    "timestamp": _millis,
    "timeuuid": _timeuuid,
    "uuid": _uuid,
    "varint": _int,
}
"""What `pack` of a type takes, of a value that it does not take itself."""

_NESTED: Final[dict[str, Callable[[CqlType, MadeOf], ToBytes]]] = {
    "list": _list,
    "map": _map,
    "set": _set,
    "tuple": _tuple,
    "udt": _udt,
    "vector": _vector,
}
