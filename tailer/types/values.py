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

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Final, NoReturn

from tailer.types.counter import read_shards
from tailer.types.cql import CellsReader, CqlType, Decimals, Nested, Reader, Shape
from tailer.types.integers import decimal_parts
from tailer.types.jsontext import ToJson, wrong_length
from tailer.types.parts import collection_parts, dense_vector_parts, parts_of, vector_parts
from tailer.types.times import duration_parts

DIGITS: Final = 38
SCALE: Final = 18
DURATION: Final = ("months", "days", "nanoseconds")

_LIMIT: Final = 10**DIGITS
_BITS_MAX: Final = 4096
"""No decimal of more bits is looked at: it fits only with a thousand zeros at its end, and is slow to divide."""


def reader(type_: CqlType, decimals: Decimals) -> Reader:
    """The reader of a whole value of the type."""
    traits = type_.traits
    if isinstance(traits, Nested):
        read = traits.reader(type_, decimals)
    elif traits.read_text is not None and decimals == "string":
        read = traits.read_text
    elif traits.zero:
        return traits.read
    else:
        read = traits.read

    def read_or_null(value: bytes) -> Any:
        return read(value) if value else None

    return read_or_null


def elements_reader(type_: CqlType, decimals: Decimals) -> CellsReader | None:
    """The value of a non-frozen column from path and value of each of its cells; None for none at all.

    None instead of a reader for a type whose columns are one cell.
    """
    traits = type_.traits
    if not isinstance(traits, Nested) or traits.cells_reader is None:
        return None
    make = traits.cells_reader(type_, decimals)

    def read_elements(cells: Cells) -> Any:
        return make(cells) if cells else None

    return read_elements


def is_pairs(type_: CqlType) -> bool:
    """Whether a map is an array of its entries: Spark has no map whose key contains a map."""
    return _is_map(type_) and _holds_map(type_.key)


def field_names(type_: CqlType) -> tuple[str, ...]:
    """The names of the fields of a tuple or user-defined type."""
    return type_.names or tuple(f"_{number}" for number in range(1, len(type_.arguments) + 1))


def _is_map(type_: CqlType) -> bool:
    return type_.traits.shape is Shape.MAP


def _holds_map(type_: CqlType) -> bool:
    return _is_map(type_) or any(map(_holds_map, type_.arguments))


def counter_value(value: bytes) -> int:
    """The sum of a counter's shards."""
    total = sum(shard.total for shard in read_shards(value))
    if not -(2**63) <= total < 2**63:
        raise ValueError(f"the sum {total} of a counter's shards is beyond 64 bits")
    return total


def micros(millis: int) -> int:
    """A timestamp's microseconds."""
    if not -(2**63) <= millis * 1000 < 2**63:
        raise ValueError(f"the timestamp {millis} ms is beyond 64 bits of microseconds")
    return millis * 1000


def duration_value(value: bytes) -> dict[str, int]:
    """The parts of a duration by name."""
    return dict(zip(DURATION, duration_parts(value), strict=True))


def no_value(value: bytes) -> NoReturn:
    """The type `empty` has none."""
    raise wrong_length(value, "empty", "none")


def decimal_value(value: bytes) -> Decimal:
    """Exactly the number; one that needs more digits than there are is out of range, not rounded."""
    unscaled, scale = decimal_parts(value)
    scaled = _scaled(unscaled, SCALE - scale) if unscaled else 0
    if scaled is None or abs(scaled) >= _LIMIT:
        raise _out_of_range("decimal", f"{SCALE} of {DIGITS} digits behind the point")
    return Decimal((int(scaled < 0), tuple(map(int, str(abs(scaled)))), -SCALE))


def unquoted(json: ToJson) -> Reader:
    """What the JSON string of a value says."""
    return lambda value: json(value)[1:-1]


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


def varint_value(value: bytes) -> int:
    """A varint."""
    number = int.from_bytes(value, "big", signed=True)
    if abs(number) >= _LIMIT:
        raise _out_of_range("varint", f"{DIGITS} digits")
    return number


def _out_of_range(name: str, bound: str) -> ValueError:
    return ValueError(f"a {name} that does not fit {bound} (decimals = string has no bounds)")


def list_reader(type_: CqlType, decimals: Decimals) -> Reader:
    """Of a list or set."""
    read = reader(type_.element, decimals)
    return lambda value: [None if part is None else read(part) for part in collection_parts(value, 1)]


def vector_reader(type_: CqlType, decimals: Decimals) -> Reader:
    """Of a vector."""
    read, size, dimension = reader(type_.element, decimals), type_.element.fixed, type_.dimension
    if size is None:
        return lambda value: list(map(read, vector_parts(value, dimension)))
    return lambda value: list(map(read, dense_vector_parts(value, size, dimension)))


def map_reader(type_: CqlType, decimals: Decimals) -> Reader:
    """Of a map."""
    make = map_of_entries(type_, decimals)

    def read_map(value: bytes) -> list[Any]:
        parts = collection_parts(value, 2)
        return make(zip(parts[::2], parts[1::2], strict=True))

    return read_map


def map_of_entries(
    type_: CqlType, decimals: Decimals
) -> Callable[[Iterable[tuple[bytes | None, bytes | None]]], list[Any]]:
    """Of a map, from keys and values: those of its cells too."""
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


def fields_reader(type_: CqlType, decimals: Decimals) -> Reader:
    """Of a tuple or user-defined type."""
    names = field_names(type_)
    readers = [reader(argument, decimals) for argument in type_.arguments]

    def read_struct(value: bytes) -> dict[str, Any]:
        made = dict.fromkeys(names)
        for name, read, part in zip(names, readers, parts_of(value, 0, len(names)), strict=False):
            made[name] = None if part is None else read(part)
        return made

    return read_struct


Cells = Sequence[tuple[bytes, bytes]]


def list_of_cells(type_: CqlType, decimals: Decimals) -> CellsReader:
    """Of a non-frozen list."""
    read = reader(type_.element, decimals)
    return lambda cells: [read(value) for _, value in cells]


def set_of_cells(type_: CqlType, decimals: Decimals) -> CellsReader:
    """Of a non-frozen set."""
    read = reader(type_.element, decimals)
    return lambda cells: [read(path) for path, _ in cells]


def udt_of_cells(type_: CqlType, decimals: Decimals) -> CellsReader:
    """Of a non-frozen user-defined type."""
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
