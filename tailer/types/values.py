"""Values of CQL types as plain Python objects, one by one, the way the typed form has them. Knows no Arrow and no row.

    int types, counter      int (of a counter: the sum of its shards)
    timestamp, date, time   int: µs since 1970, days since 1970, ns since midnight
    decimal, varint         Decimal and int, or their JSON text with `decimals` = string
    uuid, timeuuid, inet    str, as JSON has them
    blob, custom            bytes
    duration                dict of months, days, nanoseconds
    list, set, vector       list
    tuple, UDT              dict: fields `_1`, `_2`, … of a tuple
    map                     list of (key, value); of dicts where a key holds a map (`is_pairs`)

A zero-length value is None but for text, ascii and blob. ValueError for bytes that are none of the type, for a number
out of the typed form's range, and for a map that has two keys of one value.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Final, Literal

from tailer.types.collections import collection_parts, dense_vector_parts, parts_of, vector_parts
from tailer.types.counter import read_shards
from tailer.types.cql import CqlType, TypeKind
from tailer.types.integers import decimal_text, digits
from tailer.types.jsontext import wrong_length
from tailer.types.times import duration_parts

Decimals = Literal["decimal", "string"]
"""What decimal and varint become: `decimal(38, 18)` and `decimal(38, 0)`, or text without bounds."""

Reader = Callable[[bytes], Any]
"""The bytes of one value to the value; see the module."""

DIGITS: Final = 38
SCALE: Final = 18
DURATION: Final = ("months", "days", "nanoseconds")

_LIMIT: Final = 10**DIGITS
_BITS_MAX: Final = 4096
"""No decimal of more bits is looked at: it fits only with a thousand zeros at its end, and is slow to divide."""

_FIXED: Final[dict[TypeKind, str]] = {
    "bigint": "q", "double": "d", "float": "f", "int": "i", "smallint": "h", "time": "q", "tinyint": "b",
}  # fmt: skip


def reader(type_: CqlType, decimals: Decimals) -> Reader:
    """The reader of a whole value of the type."""
    if type_.kind in ("text", "blob", "ascii"):
        return _STRINGS[type_.kind]
    read = _reader(type_, decimals)

    def read_or_null(value: bytes) -> Any:
        return read(value) if value else None

    return read_or_null


def elements_reader(type_: CqlType, decimals: Decimals) -> Callable[[Sequence[tuple[bytes, bytes]]], Any]:
    """The value of a non-frozen column from path and value of each of its cells; None for none at all."""
    make = _ELEMENTS[type_.kind](type_, decimals)

    def read_elements(cells: Sequence[tuple[bytes, bytes]]) -> Any:
        return make(cells) if cells else None

    return read_elements


def is_pairs(type_: CqlType) -> bool:
    """Whether a map is an array of its entries: Spark has no map whose key contains a map."""
    return type_.kind == "map" and _holds_map(type_.key)


def tuple_fields(type_: CqlType) -> tuple[str, ...]:
    """The names of the fields of a tuple."""
    return tuple(f"_{number}" for number in range(1, len(type_.arguments) + 1))


def _holds_map(type_: CqlType) -> bool:
    return type_.kind == "map" or any(map(_holds_map, type_.arguments))


def _reader(type_: CqlType, decimals: Decimals) -> Reader:
    kind = type_.kind
    if kind in _FIXED:
        return _fixed(kind)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind in ("uuid", "timeuuid", "inet"):
        json = type_.json
        return lambda value: json(value)[1:-1]
    if kind in ("decimal", "varint"):
        return _NUMBERS[kind, decimals]
    return _NESTED[kind](type_, decimals)


def _fixed(kind: TypeKind) -> Reader:
    codec = struct.Struct(">" + _FIXED[kind])

    def read_fixed(value: bytes) -> Any:
        if len(value) != codec.size:
            raise wrong_length(value, kind, str(codec.size))
        return codec.unpack(value)[0]

    return read_fixed


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} of the text is not UTF-8") from None


def _ascii(value: bytes) -> str:
    try:
        return value.decode("ascii")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} of the ascii is not ASCII") from None


def _boolean(value: bytes) -> bool:
    if len(value) != 1:
        raise wrong_length(value, "boolean", "1")
    return value != b"\0"


def _counter(value: bytes) -> int:
    total = sum(shard.total for shard in read_shards(value))
    if not -(2**63) <= total < 2**63:
        raise ValueError(f"the sum {total} of a counter's shards is beyond 64 bits")
    return total


def _timestamp(value: bytes) -> int:
    if len(value) != 8:
        raise wrong_length(value, "timestamp", "8")
    millis = int.from_bytes(value, "big", signed=True)
    if not -(2**63) <= millis * 1000 < 2**63:
        raise ValueError(f"the timestamp {millis} ms is beyond 64 bits of microseconds")
    return millis * 1000


def _date(value: bytes) -> int:
    if len(value) != 4:
        raise wrong_length(value, "date", "4")
    return int.from_bytes(value, "big") - 0x8000_0000


def _duration(value: bytes) -> dict[str, int]:
    return dict(zip(DURATION, duration_parts(value), strict=True))


def _empty(value: bytes) -> None:
    raise wrong_length(value, "empty", "none")


def _unscaled(value: bytes) -> tuple[int, int]:
    if len(value) < 5:
        raise wrong_length(value, "decimal", "at least 5")
    return int.from_bytes(value[4:], "big", signed=True), int.from_bytes(value[:4], "big", signed=True)


def _decimal(value: bytes) -> Decimal:
    """Exactly the number; one that needs more digits than there are is out of range, not rounded."""
    unscaled, scale = _unscaled(value)
    scaled = _scaled(unscaled, SCALE - scale) if unscaled else 0
    if scaled is None or abs(scaled) >= _LIMIT:
        raise _out_of_range("decimal", f"{SCALE} of {DIGITS} digits behind the point")
    return Decimal((int(scaled < 0), tuple(map(int, str(abs(scaled)))), -SCALE))


def _scaled(unscaled: int, shift: int) -> int | None:
    """`unscaled` × 10^`shift`, None where that is no whole number or far too large."""
    bits = unscaled.bit_length()
    # A scale has 32 bits: no power of ten that large is ever made.
    if shift > DIGITS or -shift > bits or bits > _BITS_MAX:
        return None
    if shift >= 0:
        return int(unscaled * 10**shift)
    scaled, rest = divmod(unscaled, 10**-shift)
    return None if rest else scaled


def _varint(value: bytes) -> int:
    number = int.from_bytes(value, "big", signed=True)
    if abs(number) >= _LIMIT:
        raise _out_of_range("varint", f"{DIGITS} digits")
    return number


def _out_of_range(name: str, bound: str) -> ValueError:
    return ValueError(f"a {name} that does not fit {bound} (decimals = string has no bounds)")


def _list(type_: CqlType, decimals: Decimals) -> Reader:
    read = reader(type_.element, decimals)
    return lambda value: [None if part is None else read(part) for part in collection_parts(value, 1)]


def _vector(type_: CqlType, decimals: Decimals) -> Reader:
    read, size, dimension = reader(type_.element, decimals), type_.element.fixed, type_.dimension
    if size is None:
        return lambda value: list(map(read, vector_parts(value, dimension)))
    return lambda value: list(map(read, dense_vector_parts(value, size, dimension)))


def _map(type_: CqlType, decimals: Decimals) -> Reader:
    make = _map_maker(type_, decimals)

    def read_map(value: bytes) -> list[Any]:
        parts = collection_parts(value, 2)
        return make(zip(parts[::2], parts[1::2], strict=True))

    return read_map


def _map_maker(
    type_: CqlType, decimals: Decimals
) -> Callable[[Iterable[tuple[bytes | None, bytes | None]]], list[Any]]:
    read_key, read_value = reader(type_.key, decimals), reader(type_.value, decimals)
    pairs = is_pairs(type_)

    def make(entries: Iterable[tuple[bytes | None, bytes | None]]) -> list[Any]:
        made = [
            (None if key is None else read_key(key), None if value is None else read_value(value))
            for key, value in entries
        ]
        if pairs:
            return [{"key": key, "value": value} for key, value in made]
        if any(key is None for key, _ in made):
            raise ValueError("a map with a null key, which the typed form cannot hold")
        if len({same_key(key) for key, _ in made}) != len(made):
            raise ValueError("a map with two keys of the same value")
        return made

    return make


def same_key(value: Any) -> Any:
    """Something hashable that two values have in common if a map takes them for one key."""
    if isinstance(value, float):
        return "NaN" if value != value else value
    if isinstance(value, dict):
        return tuple(map(same_key, value.values()))
    return tuple(map(same_key, value)) if isinstance(value, list) else value


def _struct(type_: CqlType, decimals: Decimals) -> Reader:
    names = type_.names if type_.kind == "udt" else tuple_fields(type_)
    readers = [reader(argument, decimals) for argument in type_.arguments]

    def read_struct(value: bytes) -> dict[str, Any]:
        made = dict.fromkeys(names)
        for name, read, part in zip(names, readers, parts_of(value, 0, len(names)), strict=False):
            made[name] = None if part is None else read(part)
        return made

    return read_struct


Cells = Sequence[tuple[bytes, bytes]]


def _list_of_cells(type_: CqlType, decimals: Decimals) -> Callable[[Cells], Any]:
    read = reader(type_.element, decimals)
    return lambda cells: [read(value) for _, value in cells]


def _set_of_cells(type_: CqlType, decimals: Decimals) -> Callable[[Cells], Any]:
    read = reader(type_.element, decimals)
    return lambda cells: [read(path) for path, _ in cells]


def _udt_of_cells(type_: CqlType, decimals: Decimals) -> Callable[[Cells], Any]:
    readers = [reader(argument, decimals) for argument in type_.arguments]

    def make(cells: Cells) -> dict[str, Any]:
        made = dict.fromkeys(type_.names)
        for path, value in cells:
            number = int.from_bytes(path, "big")
            if len(path) != 2 or number >= len(readers):
                raise ValueError(f"field {number} of {type_.text}, which has {len(readers)} fields")
            made[type_.names[number]] = readers[number](value)
        return made

    return make


_STRINGS: Final[dict[TypeKind, Reader]] = {"ascii": _ascii, "blob": bytes, "text": _text}
_SCALARS: Final[dict[TypeKind, Reader]] = {
    "boolean": _boolean,
    "counter": _counter,
    "custom": bytes,
    "date": _date,
    "duration": _duration,
    "empty": _empty,
    "timestamp": _timestamp,
}
_NUMBERS: Final[dict[tuple[TypeKind, Decimals], Reader]] = {
    ("decimal", "decimal"): _decimal,
    ("decimal", "string"): lambda value: decimal_text(*_unscaled(value)),
    ("varint", "decimal"): _varint,
    ("varint", "string"): lambda value: digits(int.from_bytes(value, "big", signed=True)),
}
_NESTED: Final[dict[TypeKind, Callable[[CqlType, Decimals], Reader]]] = {
    "list": _list,
    "map": _map,
    "set": _list,
    "tuple": _struct,
    "udt": _struct,
    "vector": _vector,
}
_ELEMENTS: Final[dict[TypeKind, Callable[[CqlType, Decimals], Callable[[Cells], Any]]]] = {
    "list": _list_of_cells,
    "map": _map_maker,
    "set": _set_of_cells,
    "udt": _udt_of_cells,
}
