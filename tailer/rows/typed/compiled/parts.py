"""The parts of nested values: where the elements, keys or fields of a column's values lie. Compiled; on addresses.

The twin of the parts of `tailer.types.parts`. `off` and `length` as in `decode`: 32-bit numbers, a length of zero
or below is no value. A part gets the same two numbers, a length below zero is null. A value that is none of its type
marks its row in `bad`; its parts are there, but what they are says nothing.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.jit.decorators import compiled, entry_point, inlined
from tailer.jit.memory import get_offset, give_offset, load, store
from tailer.jit.words import half_word, is_same
from tailer.limits import OFFSET_MAX
from tailer.types.compiled.times import read_vint, vint_size
from tailer.types.compiled.token import token

# Forms of values: elements, pairs of key and value, a vector's elements with lengths; else a dense vector, whose
# elements have that many bytes each.
VECTOR: Final = 0
LIST: Final = -1
MAP: Final = -2

TOO_LONG: Final = -1

_NULL: Final = -1
_BAD: Final = -2
PAIRWISE: Final = 32
"""More keys than these are not compared with each other, but put into a table if they are not in order."""

TABLE_SHARE: Final = 4
"""A table has room for so many times the keys at most; it is a power of two, and twice as many at least."""

_LOOKS: Final = 16
"""So many places are looked at for each key: with more, keys were chosen to lie at the same ones."""

_SIGN: Final = 0x8000_0000


@inlined
def _count(form: int, dimension: int, at: int, size: int) -> Any:
    """Elements or pairs of one value, below zero if that cannot be."""
    if form > VECTOR:
        return dimension if size == form * dimension else _BAD
    if form == VECTOR:
        return dimension if dimension <= size else _BAD
    if size < 4:
        return _BAD
    count = max(_signed(at), 0)
    return count if count * (4 if form == LIST else 8) <= size - 4 else _BAD


@inlined
def _signed(at: int) -> Any:
    return (np.int64(half_word(at, 0)) ^ _SIGN) - _SIGN


@inlined
def _cut(form: int, data: int, at: int, end: int, to_off: int, to_length: int, place: int) -> Any:
    """Puts down the part at `at`; where it ends, or _BAD."""
    if form > VECTOR:
        size, start = np.int64(form), at
    elif form == VECTOR:
        head = vint_size(data + at, data + end)
        size, start = (np.int64(read_vint(data + at, head)) if head else np.int64(_BAD)), at + head
        if size < 0:
            return _BAD
    else:
        start = at + 4
        if start > end:
            return _BAD
        size = _signed(data + at)
    if size > end - start:
        return _BAD
    size = max(size, np.int64(_NULL))
    give_offset(to_off, place, start)
    give_offset(to_length, place, size)
    return start + (size if size > 0 else 0)


@compiled
def _fill(form: int, to_off: int, to_length: int, place: int, end: int, values: int) -> None:
    """Nulls in place of the parts that are not there."""
    while place < end:
        give_offset(to_off, place, 0)
        give_offset(to_length, place, _NULL)
        if form == MAP:
            give_offset(to_off + values, place, 0)
            give_offset(to_length + values, place, _NULL)
        place += 1


@inlined
def _are_keys(data: int, off: int, length: int, begin: int, end: int, least: int, flip: int, table: int) -> bool:
    rising = True
    for place in range(begin, end):
        if get_offset(length, place) < least:
            return False
        rising = rising and (place == begin or _is_less(data, off, length, place - 1, place, flip))
    if rising:
        return True
    if end - begin <= PAIRWISE:
        return _are_different(data, off, length, begin, end)
    return _are_different_by_table(data, off, length, begin, end, table)


@compiled
def _is_less(data: int, off: int, length: int, one: int, other: int, flip: int) -> bool:
    """Whether the bytes of one part come before those of the other."""
    first, second = data + get_offset(off, one), data + get_offset(off, other)
    size, most = get_offset(length, one), get_offset(length, other)
    for at in range(min(size, most)):
        left, right = load(first + at), load(second + at)
        if left != right:
            return (left ^ flip) < (right ^ flip) if at == 0 else left < right
    return size < most


@compiled
def _are_different(data: int, off: int, length: int, begin: int, end: int) -> bool:
    """Whether no two parts have the same bytes."""
    for one in range(begin, end):
        for other in range(begin, one):
            if _is_equal(data, off, length, one, other):
                return False
    return True


@compiled
def _is_equal(data: int, off: int, length: int, one: int, other: int) -> bool:
    size = get_offset(length, one)
    same = size == get_offset(length, other)
    return same and is_same(data, get_offset(off, one), data, get_offset(off, other), size)


@compiled
def _are_different_by_table(data: int, off: int, length: int, begin: int, end: int, table: int) -> bool:
    """The same in time that grows with their number; also no where that cannot be told soon."""
    size = 1
    while size < 2 * (end - begin):
        size *= 2
    for place in range(size):
        give_offset(table, place, _NULL)
    looks = _LOOKS * (end - begin)
    for one in range(begin, end):
        place = token(data + get_offset(off, one), get_offset(length, one)) & (size - 1)
        other = get_offset(table, place)
        while other != _NULL:
            looks -= 1
            if looks < 0 or _is_equal(data, off, length, one, other):
                return False
            place = (place + 1) & (size - 1)
            other = get_offset(table, place)
        give_offset(table, place, one)
    return True


@entry_point
def count_parts(
    form: int, dimension: int, data: int, off: int, length: int, rows: int, ends: int, valid: int, bad: int
) -> int:
    """32-bit offsets, one more than rows: of each value the elements or pairs that it says it has.

    How many values there are; TOO_LONG where 32-bit offsets do not reach. `valid` gets a byte a row.
    """
    total = values = 0
    give_offset(ends, 0, 0)
    for row in range(rows):
        size = get_offset(length, row)
        good = size > 0
        store(valid + row, good)
        values += good
        if good:
            count = _count(form, dimension, data + get_offset(off, row), size)
            if count < 0:
                store(bad + row, 1)
            total += max(count, 0)
            if total > OFFSET_MAX:
                return TOO_LONG
        give_offset(ends, row + 1, total)
    return values


@entry_point
def cut_parts(
    form: int, data: int, off: int, length: int, rows: int, ends: int, to_off: int, to_length: int, bad: int
) -> Any:
    """Where the parts lie that `count_parts` counted; of pairs all keys, then all values."""
    values = 4 * get_offset(ends, rows)
    for row in range(rows):
        place, end = get_offset(ends, row), get_offset(ends, row + 1)
        size = get_offset(length, row)
        if size <= 0:
            continue
        at = get_offset(off, row)
        after = at + size
        at += 4 if form < VECTOR else 0
        while place < end:
            at = _cut(form, data, at, after, to_off, to_length, place)
            if form == MAP and at >= 0:
                at = _cut(form, data, at, after, to_off + values, to_length + values, place)
            if at < 0:
                _fill(form, to_off, to_length, place, end, values)
                break
            place += 1
        if at != after:
            store(bad + row, 1)
    return 0


@entry_point
def cut_fields(
    fields: int, data: int, off: int, length: int, rows: int, to_off: int, to_length: int, valid: int, bad: int
) -> int:
    """Where the fields of tuples lie, a line of `rows` numbers a field; those missing at the end are null.

    How many values there are. `valid` gets a byte a row.
    """
    values = 0
    for row in range(rows):
        size = get_offset(length, row)
        store(valid + row, size > 0)
        values += int(size > 0)
        at = get_offset(off, row)
        end = at + max(size, 0)
        for field in range(fields):
            place = field * rows + row
            if at == end:
                give_offset(to_off, place, 0)
                give_offset(to_length, place, _NULL)
                continue
            at = _cut(LIST, data, at, end, to_off, to_length, place)
            if at < 0:
                store(bad + row, 1)
                give_offset(to_off, place, 0)
                give_offset(to_length, place, _NULL)
                at = end
        if at != end:
            store(bad + row, 1)
    return values


@entry_point
def check_keys(
    data: int, off: int, length: int, ends: int, rows: int, least: int, flip: int, table: int, bad: int
) -> Any:
    """Marks maps with a key of less than `least` bytes, which is null, or with two of the same bytes.

    `flip`: a number whose bits are turned in the first byte of keys before they are compared. `table`: room for
    TABLE_SHARE 32-bit numbers a key of the largest map, if that has more keys than PAIRWISE.
    """
    for row in range(rows):
        begin, end = get_offset(ends, row), get_offset(ends, row + 1)
        if not _are_keys(data, off, length, begin, end, least, flip, table):
            store(bad + row, 1)
    return 0
