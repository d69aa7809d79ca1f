"""The Arrow array of values of any type: nested ones are cut into their parts, which become arrays in the same way."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailer.jit.addresses import address_of
from tailer.rows.typed.arrays import list_array, map_array, struct_array
from tailer.rows.typed.columns import SCALARS, ZERO, Column, Maker, Source, mark_any, one_by_one, too_long
from tailer.rows.typed.compiled.parts import (
    LIST,
    MAP,
    PAIRWISE,
    TABLE_SHARE,
    TOO_LONG,
    VECTOR,
    check_keys,
    count_parts,
    cut_fields,
    cut_parts,
)
from tailer.rows.typed.form import FormValue
from tailer.types import CqlType
from tailer.types.kinds import ROWS
from tailer.types.order import signed_order
from tailer.types.values import is_pairs

Numbers = npt.NDArray[Any]

_SIGNED: Final = frozenset(native.name for native in ROWS if native.order is signed_order)
_PLAIN_KEYS: Final = frozenset(native.name for native in ROWS if native.exact)
"""Kinds of which two values are the same just if their bytes are."""

_FIRST_BIT: Final = 0x80


def column_array(value: FormValue, source: Source, places: Column) -> pa.Array:
    """The values; rows whose bytes are no value of the type are marked."""
    kind = value.type.kind
    return (_NESTED.get(kind) or SCALARS.get(kind, one_by_one))(value, source, places)


def has_plain_keys(type_: CqlType) -> bool:
    """Whether a map's keys can be told apart by their bytes, and it is a map in Arrow."""
    return type_.key.kind in _PLAIN_KEYS and not is_pairs(type_)


def no_places(values: int) -> Column:
    """Room for that many, unmarked."""
    memory = np.empty(9 * values, np.uint8)
    return _in_memory(memory, values, 0, values)


def key_marks(key: FormValue, source: Source, keys: Column, ends: Numbers, bad: Numbers) -> None:
    """Marks maps whose keys cannot be a map's: a null one, or two of the same bytes."""
    least = 0 if key.type.kind in ZERO else 1
    flip = _FIRST_BIT if key.type.kind in _SIGNED else 0
    off, length, _ = keys.places
    most = int(np.diff(ends).max(initial=0))
    table = np.empty(TABLE_SHARE * most if most > PAIRWISE else 0, np.int32)
    check_keys(source.base, off, length, address_of(ends), len(bad), least, flip, address_of(table), address_of(bad))


def _lists(value: FormValue, source: Source, places: Column) -> pa.Array:
    ends, valid, count, (elements,) = _cut(LIST, value, source, places)
    return list_array(value.arrow, ends, part_array(value.parts[0], source, elements, ends, places), valid, count)


def _vectors(value: FormValue, source: Source, places: Column) -> pa.Array:
    size = value.type.element.fixed
    ends, valid, count, (elements,) = _cut(VECTOR if size is None else size, value, source, places)
    return list_array(value.arrow, ends, part_array(value.parts[0], source, elements, ends, places), valid, count)


def _maps(value: FormValue, source: Source, places: Column) -> pa.Array:
    if not has_plain_keys(value.type):
        return one_by_one(value, source, places)
    ends, valid, count, parts = _cut(MAP, value, source, places)
    key_marks(value.parts[0], source, parts[0], ends, places.bad)
    made = [part_array(kind, source, part, ends, places) for kind, part in zip(value.parts, parts, strict=True)]
    return map_array(value.arrow, ends, made, valid, count)


def part_array(part: FormValue, source: Source, elements: Column, ends: Numbers, places: Column) -> pa.Array:
    """The array of the parts; rows are marked that have one that is no value."""
    made = column_array(part, source, elements)
    if elements.bad.view(np.bool_).any():
        mark_any(elements.bad, ends, places.bad)
    return made


def _cut(form: int, value: FormValue, source: Source, places: Column) -> tuple[Numbers, Numbers, int, list[Column]]:
    """Offsets to the parts of each row, which rows have a value, how many; the parts, of maps keys and values."""
    off, length, bad = places.places
    rows = len(places.off)
    memory = np.empty(5 * rows + 4, np.uint8)
    ends_at = address_of(memory)
    ends, valid = memory[: 4 * rows + 4].view(np.int32), memory[4 * rows + 4 :]
    valid_at = ends_at + 4 * rows + 4
    count = count_parts(form, value.type.dimension, source.base, off, length, rows, ends_at, valid_at, bad)
    if count == TOO_LONG:
        raise too_long(value.name)
    total, lines = int(ends[-1]), 2 if form == MAP else 1
    room = np.empty(9 * lines * total, np.uint8)
    parts = [_in_memory(room, lines * total, line * total, total) for line in range(lines)]
    cut_parts(form, source.base, off, length, rows, ends_at, *parts[0].places[:2], bad)
    return ends, valid, count, parts


def _in_memory(memory: Numbers, room: int, first: int, count: int) -> Column:
    """The places of `count` values from the first on, in memory for `room` of them: offsets, lengths, marks."""
    base, end = address_of(memory), first + count
    off, length = memory[4 * first : 4 * end].view(np.int32), memory[4 * (room + first) : 4 * (room + end)]
    bad = memory[8 * room + first : 8 * room + end]
    bad.fill(0)
    at = base + 4 * first, base + 4 * (room + first), base + 8 * room + first
    return Column(off, length.view(np.int32), bad, at)


def _structs(value: FormValue, source: Source, places: Column) -> pa.Array:
    off, length, bad = places.places
    rows, fields = len(places.off), len(value.parts)
    memory = np.empty(rows * (8 * fields + 1), np.uint8)
    base, line = address_of(memory), 4 * rows
    to_length, valid_at = base + fields * line, base + 2 * fields * line
    count = cut_fields(fields, source.base, off, length, rows, base, to_length, valid_at, bad)
    return struct_array(value.arrow, field_arrays(value, source, memory, places), memory[2 * fields * line :], count)


def field_arrays(value: FormValue, source: Source, memory: Numbers, places: Column) -> list[pa.Array]:
    """The arrays of a struct's fields: in memory a line of offsets for each, then of lengths. Marks are shared."""
    rows, fields, bad = len(places.bad), len(value.parts), places.places[2]
    base, line = address_of(memory), 4 * rows
    made: list[pa.Array] = []
    for number, part in enumerate(value.parts):
        begins = number * line, (fields + number) * line
        off, length = (memory[begin : begin + line].view(np.int32) for begin in begins)
        column = Column(off, length, places.bad, (base + begins[0], base + begins[1], bad))
        made.append(column_array(part, source, column))
    return made


_NESTED: Final[dict[str, Maker]] = {
    "list": _lists,
    "map": _maps,
    "set": _lists,
    "tuple": _structs,
    "udt": _structs,
    "vector": _vectors,
}
