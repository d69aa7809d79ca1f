"""Bytes that a log has to values of Python, by the column's CQL type: what `python_values` made of them. Knows no row.

Where a field's type is known (its `hint`), the value is one of it, or there is none (`MisfitError`): `int` of a
timestamp are its milliseconds, a user-defined type is of its class, of an enumeration it is the member. Else it is the
first that the table of `python_values` names; what that has no room for (another writer's date behind the year 9999) is
the number that the log has. A zero-length value is None but for text and blobs.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, get_origin
from uuid import UUID

from tailer.types import CqlType
from tailer.types.cql import Nested
from tailer.types.integers import decimal_text
from tailer.types.kinds import BY_NAME
from tailer.types.parts import collection_parts, dense_vector_parts, parts_of, vector_parts
from tailer.types.times import duration_parts
from writer_hooks.fitting import class_of, container_of, fitting, fitting_whole
from writer_hooks.hints import ANY, bare, is_enum, part_hints, says_parts, takes_none, types_of_values
from writer_hooks.misfit import MisfitError
from writer_hooks.models import hints_of, is_model, made_of

FromBytes = Callable[[bytes], Any]
"""The bytes of a value to the value; ValueError for what is none of the type, MisfitError for none of the hint's."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_LAST_DAY: Final = date.max.toordinal()
_DAY_ZERO: Final = 1 << 31
_DAY_NANOS: Final = 86_400_000_000_000


def from_bytes(type_: CqlType, hint: Any = ANY) -> FromBytes:
    """What reads values of the type."""
    wanted = bare(hint)
    of_values = types_of_values(wanted)
    if of_values:
        read = from_bytes(type_, of_values[0] | None)
        return _fitting(_member(wanted, read) if is_enum(wanted) else read, hint)
    traits = type_.traits
    if isinstance(traits, Nested):
        return _fitting(_or_none(_NESTED[traits.name](type_, wanted)), hint, whole=not reads_parts_of(type_, hint))
    readers = _NATIVE.get(traits.name, {})
    of_hint = readers.get(get_origin(wanted) or wanted)
    # A program gets back the text that it wrote, also of a key (`types.texts`).
    read = of_hint or readers.get(ANY) or BY_NAME[traits.name].read
    is_duration = traits.name == "duration"
    if hint is not ANY and not is_duration and (of_hint or _ALWAYS.get(traits.name) is class_of(wanted)):
        # All that it reads is of the hint's class: nothing has to be looked at again.
        return read if traits.zero else _or_null_of(hint, read, b"")
    # Of all types without parts in the log a duration alone may be a tuple.
    return _fitting(read if traits.zero else _or_none(read), hint, whole=is_duration)


def reads_parts_of(type_: CqlType, hint: Any) -> bool:
    """Whether what reads values of the type holds each part of them to the hint: it does where the hint says the parts
    as the type has them, each list's element or each tuple's field."""
    if type_.kind == "udt":
        return hint is ANY or is_model(bare(hint))
    return says_parts(hint, 1 if type_.kind == "vector" else len(type_.arguments))


def collected(container: type, values: list[Any]) -> Any:
    """The elements of a list, set or vector in their container."""
    try:
        return container(values)
    except TypeError:
        # Lists in a set: values that no set of Python holds.
        return values


def paired(pairs: Iterable[tuple[Any, Any]]) -> Any:
    """A map as a dict; as a list of pairs where a key is one that no dict holds."""
    held = list(pairs)
    try:
        return dict(held)
    except TypeError:
        return held


def _member(enum: type[Enum], read: FromBytes) -> FromBytes:
    def read_member(value: bytes) -> Any:
        found = read(value)
        try:
            return enum(found)
        except ValueError:
            # Of a version of the program that had other members.
            return found if found is None else fitting(found, enum)

    return read_member


def _or_none(read: FromBytes) -> FromBytes:
    return lambda value: read(value) if value else None


def _fitting(read: FromBytes, hint: Any, *, whole: bool = False) -> FromBytes:
    if hint is ANY:
        return read
    return (lambda value: fitting_whole(read(value), hint)) if whole else lambda value: fitting(read(value), hint)


def _or_null_of(hint: Any, read: FromBytes, null: bytes | None = None) -> Callable[[bytes | None], Any]:
    """What reads a value that may be `null`, and is None then."""
    if hint is ANY or takes_none(hint):
        return lambda part: None if part is None or part == null else read(part)
    return lambda part: fitting(None, hint) if part is None or part == null else read(part)


def _part(type_: CqlType, hint: Any) -> Callable[[bytes | None], Any]:
    """What reads a part of a value, which may be null."""
    return _or_null_of(hint, from_bytes(type_, hint))


def _list(type_: CqlType, hint: Any) -> FromBytes:
    read, container = _part(type_.element, part_hints(hint, 1)[0]), container_of(type_, hint)
    return lambda value: collected(container, list(map(read, collection_parts(value, 1))))


def _map(type_: CqlType, hint: Any) -> FromBytes:
    of_key, of_value = part_hints(hint, 2)
    key, value_of = _part(type_.key, of_key), _part(type_.value, of_value)

    def read_map(value: bytes) -> Any:
        parts = collection_parts(value, 2)
        return paired(zip(map(key, parts[::2]), map(value_of, parts[1::2]), strict=True))

    return read_map


def _fields(type_: CqlType, hints: Iterable[Any]) -> Callable[[bytes], list[Any]]:
    readers = [_part(part, hint) for part, hint in zip(type_.arguments, hints, strict=True)]

    def read_fields(value: bytes) -> list[Any]:
        parts = parts_of(value, 0, len(readers))
        parts += [None] * (len(readers) - len(parts))
        return [read(part) for read, part in zip(readers, parts, strict=True)]

    return read_fields


def _tuple(type_: CqlType, hint: Any) -> FromBytes:
    read = _fields(type_, part_hints(hint, len(type_.arguments)))
    return lambda value: tuple(read(value))


def _udt(type_: CqlType, hint: Any) -> FromBytes:
    model = hint if is_model(hint) else None
    hints = {} if model is None else hints_of(model)
    names = type_.names
    read = _fields(type_, [hints.get(name, ANY) for name in names])

    def read_udt(value: bytes) -> Any:
        values = dict(zip(names, read(value), strict=True))
        return values if model is None else made_of(model, values)

    return read_udt


def _vector(type_: CqlType, hint: Any) -> FromBytes:
    read, container = from_bytes(type_.element, part_hints(hint, 1)[0]), container_of(type_, hint)
    size, dimension = type_.element.fixed, type_.dimension

    def read_vector(value: bytes) -> Any:
        parts = vector_parts(value, dimension) if size is None else dense_vector_parts(value, size, dimension)
        return collected(container, list(map(read, parts)))

    return read_vector


def _long(value: bytes) -> int:
    return int.from_bytes(value, "big", signed=True)


def _decimal(value: bytes) -> Decimal:
    # Its text is one to one with it, and quick however long it is.
    return Decimal(decimal_text(value))


def _whole(value: bytes) -> int:
    number = _decimal(value)
    whole = int(number)
    if whole != number:
        raise MisfitError(int, repr(number))
    return whole


def _uuid(value: bytes) -> UUID:
    return UUID(bytes=value)


def _timestamp(value: bytes) -> Any:
    millis = _long(value)
    try:
        return _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        return millis


def _date(value: bytes) -> Any:
    days = int.from_bytes(value, "big") - _DAY_ZERO
    ordinal = days + _EPOCH_DAY
    return date.fromordinal(ordinal) if 1 <= ordinal <= _LAST_DAY else days


def _time(value: bytes) -> Any:
    nanos = _long(value)
    if not 0 <= nanos < _DAY_NANOS or nanos % 1000:
        return nanos
    return (datetime.min + timedelta(microseconds=nanos // 1000)).time()


def _duration(value: bytes) -> Any:
    months, days, nanos = duration_parts(value)
    if months or nanos % 1000:
        return months, days, nanos
    try:
        return timedelta(days=days, microseconds=nanos // 1000)
    except OverflowError:
        return months, days, nanos


_ALWAYS: Final[Mapping[str, type]] = (
    dict.fromkeys(("bigint", "int", "smallint", "tinyint", "varint"), int)
    | dict.fromkeys(("ascii", "text"), str)
    | dict.fromkeys(("double", "float"), float)
    | dict.fromkeys(("timeuuid", "uuid"), UUID)
    | {"blob": bytes, "boolean": bool, "decimal": Decimal}
)
"""The class of all values of a type, without a hint of its own in `_NATIVE`."""

_NATIVE: Final[Mapping[str, Mapping[Any, FromBytes]]] = {
    "date": {ANY: _date},
    "decimal": {ANY: _decimal, int: _whole},
    "duration": {ANY: _duration, tuple: duration_parts},
    "inet": {ANY: ipaddress.ip_address, str: lambda value: str(ipaddress.ip_address(value))},
    "time": {ANY: _time, int: _long},
    "timestamp": {ANY: _timestamp, int: _long},
    "timeuuid": {ANY: _uuid, str: lambda value: str(_uuid(value))},
    "uuid": {ANY: _uuid, str: lambda value: str(_uuid(value))},
    "varint": {ANY: _long},
}
"""By the hint's own type what reads a value; of types that are not here it is what the typed form reads."""

_NESTED: Final[Mapping[str, Callable[[CqlType, Any], FromBytes]]] = {
    "list": _list,
    "map": _map,
    "set": _list,
    "tuple": _tuple,
    "udt": _udt,
    "vector": _vector,
}
