"""Cells of a row: a column's value of Python to the array that a change record has. Knows no row and no file.

What depends on the time of the write stands in `late` until that is known.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tailer.scan.record.valid import is_expiry, is_time
from tailer.types import CqlType
from tailer.types.cql import Shape
from writer_hooks.python_values import ToBytes, members_to_bytes, to_bytes

Array = list[Any]
"""An array of a record, as `tailer.scan.record.record` lays it out."""


class Late(NamedTuple):
    """A number of an array that the time of the write decides: `ttl` None, the microsecond before it, else the second
    at which what lives so long expires."""

    array: Array
    place: int
    ttl: int | None = None

    def settle(self, write_ts: int) -> bool:
        """False, and nothing said, where no reader would take the number."""
        number = write_ts - 1 if self.ttl is None else write_ts // 1_000_000 + self.ttl
        fits = is_time(number) if self.ttl is None else is_expiry(number)
        if fits:
            self.array[self.place] = number
        return fits


@dataclass(frozen=True, slots=True)
class Delta:
    """A change of a non-frozen column by element; what is not named stays.

    `put`: of a map or a user-defined type a dict, of a set its elements, of a list what is put behind the others.
    `removed`: keys of a map, elements of a set, field names, ids (timeuuid) of a list's elements.
    """

    put: Any = ()
    removed: Sequence[Any] = field(default=())


MakeCell = Callable[[int, Any, int | None, list[Late]], Array]
"""(column number, value, ttl, late) -> the cell's array."""


class Encoders(NamedTuple):
    """How a program writes values down, by type: a value, and a map's key."""

    value: Callable[[CqlType], ToBytes]
    key: Callable[[CqlType], ToBytes]


PYTHON = Encoders(to_bytes, to_bytes)
"""Values of Python, see `writer_hooks.python_values`."""

MEMBERS = Encoders(members_to_bytes, members_to_bytes)
"""The same, and members of enumerations."""


def cell_maker(type_: CqlType, encoders: Encoders) -> MakeCell:
    """What makes cells of a column of the type. The maker raises `python_values.VALUE_ERRORS`."""
    return _elements_maker(type_, encoders) if type_.complex else _simple_maker(encoders.value(type_))


def _simple_maker(encode: ToBytes) -> MakeCell:
    def make(column: int, value: Any, ttl: int | None, late: list[Late]) -> Array:
        if value is None:
            return [column, None, None, None, None, None]
        cell: Array = [column, encode(value), None, ttl, None, None]
        if ttl is not None:
            late.append(Late(cell, 4, ttl))
        return cell

    return make


def _elements_maker(type_: CqlType, encoders: Encoders) -> MakeCell:
    put, removed = _PUT[type_.shape](type_, encoders), _REMOVED[type_.shape](type_, encoders)

    def make(column: int, value: Any, ttl: int | None, late: list[Late]) -> Array:
        if value is None:
            return [column, None, None, None, None, None]
        whole = not isinstance(value, Delta)
        items: list[Array] = []
        for path, part in put(value if whole else value.put):
            item: Array = [path, part, None, None if part is None else ttl, None]
            if ttl is not None and part is not None:
                late.append(Late(item, 4, ttl))
            items.append(item)
        if not whole:
            items += [[path, None, None, None, None] for path in map(removed, value.removed)]
        elements: Array = [None, items]
        if whole:
            late.append(Late(elements, 0))
        return [column, None, None, None, None, elements]

    return make


Pairs = Iterable[tuple[bytes, bytes | None]]
Put = Callable[[Any], Pairs]


def _put_map(type_: CqlType, encoders: Encoders) -> Put:
    key, value = encoders.key(type_.key), encoders.value(type_.value)
    return lambda put: [(key(name), value(part)) for name, part in dict(put).items()]


def _put_set(type_: CqlType, encoders: Encoders) -> Put:
    element = encoders.value(type_.element)
    return lambda put: [(element(part), b"") for part in put]


def _put_list(type_: CqlType, encoders: Encoders) -> Put:
    element = encoders.value(type_.element)
    return lambda put: [(uuid.uuid1().bytes, element(part)) for part in put]


def _put_fields(type_: CqlType, encoders: Encoders) -> Put:
    fields = {name: (number, encoders.value(part)) for number, (name, part) in enumerate(type_.fields)}

    def put_fields(put: Any) -> Pairs:
        given = put if isinstance(put, Mapping) else {name: getattr(put, name) for name in fields}
        for name, part in given.items():
            number, encode = _field(fields, name)
            yield number.to_bytes(2, "big"), None if part is None else encode(part)

    return put_fields


def _field(fields: Mapping[str, tuple[int, ToBytes]], name: str) -> tuple[int, ToBytes]:
    if name not in fields:
        raise ValueError(f"there is no field {name}")
    return fields[name]


def _remove_field(type_: CqlType, encoders: Encoders) -> ToBytes:
    numbers = {name: (number, encoders.value(part)) for number, (name, part) in enumerate(type_.fields)}
    return lambda name: _field(numbers, name)[0].to_bytes(2, "big")


def _uuid_bytes(value: Any) -> bytes:
    return (value if isinstance(value, uuid.UUID) else uuid.UUID(value)).bytes


_PUT: dict[Shape, Callable[[CqlType, Encoders], Put]] = {
    Shape.MAP: _put_map,
    Shape.SET: _put_set,
    Shape.LIST: _put_list,
    Shape.UDT: _put_fields,
}
_REMOVED: dict[Shape, Callable[[CqlType, Encoders], ToBytes]] = {
    Shape.MAP: lambda type_, encoders: encoders.key(type_.key),
    Shape.SET: lambda type_, encoders: encoders.value(type_.element),
    Shape.LIST: lambda type_, encoders: _uuid_bytes,
    Shape.UDT: _remove_field,
}
