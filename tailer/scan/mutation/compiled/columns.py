"""Column lists and subsets of an update, compiled: the twin of `scan.mutation.columns`."""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.jit.decorators import compiled, inlined
from tailer.jit.vints import read_vint
from tailer.jit.words import byte, get, is_same, put
from tailer.limits import COLUMNS_MAX
from tailer.scan.compiled import block as b
from tailer.scan.compiled.block import fail, fail_length, fail_name, is_beyond
from tailer.scan.mutation.compiled import flat as f

BITMAP_COLUMNS: Final = 64

# What is known of the column lists of a table's rows, or of its static ones: where the last one lies in the data, its
# bytes, how many columns. The same of the one before: where statements of two kinds take turns, neither is read again.
K_BASE: Final = 0
K_AT: Final = 1
K_LEN: Final = 2
K_COUNT: Final = 3
K_OTHER: Final = 4
# In which of two places the columns of the last one are.
K_PLACE: Final = 8
K_WIDTH: Final = 9

LISTS: Final = 4
"""So many lists of a table's columns are kept: two of its rows, two of its static ones."""

_BASIS: Final = np.uint64(0xCBF29CE484222325)
_PRIME: Final = np.uint64(0x100000001B3)
_HALF: Final = np.uint64(32)
_LOW: Final = np.uint64(0xFFFFFFFF)
_ZERO: Final = np.uint64(0)
_ONE: Final = np.uint64(1)


@inlined
def known_lists(walk: int, number: int, is_static: int) -> int:
    """What is known of the lists of that kind of the table of that number."""
    return get(walk, b.KNOWN) + 8 * K_WIDTH * (2 * number + is_static)


@inlined
def place_of_list(walk: int, table: int, known: int, is_static: int) -> int:
    """The address of the last list of that kind of the table: addresses of lines of `flat.columns`."""
    before = (2 * is_static + get(known, K_PLACE)) * get(table, f.T_COLUMNS_N)
    return get(walk, b.LISTS) + 8 * (LISTS * get(table, f.T_COLUMNS_AT) + before)


@inlined
def list_place(walk: int, is_static: int) -> int:
    """The same of the current table."""
    known = known_lists(walk, get(walk, b.TABLE), is_static)
    return place_of_list(walk, get(walk, b.TABLE_AT), known, is_static)


@compiled
def _find_column(walk: int, base: int, at: int, length: int) -> int:
    """The number in `flat.columns` of the name at `at`, -1 if the current table has none of that name."""
    value = _BASIS
    for step in range(length):
        value = (value ^ np.uint64(byte(base, at + step))) * _PRIME
    table = get(walk, b.TABLE_AT)
    mask = get(table, f.T_NAMES_MASK)
    first = get(walk, b.NAMES) + 8 * f.N_WIDTH * get(table, f.T_NAMES_AT)
    slot = np.int64(value >> _HALF ^ value & _LOW) & mask
    while True:
        name = first + 8 * f.N_WIDTH * slot
        if get(name, f.N_LEN) == f.FREE:
            return -1
        if get(name, f.N_LEN) == length and is_same(base, at, get(walk, b.TEXTS), get(name, f.N_OFF), length):
            return get(name, f.N_COLUMN)
        slot = slot + 1 & mask


@compiled
def _read_list(walk: int, base: int, at: int, place: int) -> tuple[int, int]:
    end = get(walk, b.END)
    count, at = read_vint(base, at)
    if is_beyond(count, end - at):
        return fail_length(walk, b.TRUNCATED, at, count), 0
    if count > COLUMNS_MAX:
        return fail_length(walk, b.BAD_VALUE, at, count), 0
    room = get(get(walk, b.TABLE_AT), f.T_COLUMNS_N)
    stamp = get(walk, b.STAMP) + 1
    put(walk, b.STAMP, stamp)
    twice = False
    for number in range(count):
        length, at = read_vint(base, at)
        if is_beyond(length, end - at):
            return fail_length(walk, b.TRUNCATED, at, length), 0
        column = _find_column(walk, base, at, length)
        if column < 0:
            return fail_name(walk, b.UNKNOWN_COLUMN, at, length), 0
        twice |= get(get(walk, b.SEEN), column) == stamp
        put(get(walk, b.SEEN), column, stamp)
        if number < room:
            put(place, number, get(walk, b.COLUMNS) + 8 * f.C_WIDTH * column)
        at += length
    if twice:
        return fail_length(walk, b.BAD_VALUE, at, count), 0
    return at, count


@inlined
def is_last_list(base: int, at: int, end: int, known: int) -> bool:
    """Whether the list at `at` is the last that was read."""
    length = get(known, K_LEN)
    return 0 < length <= end - at and is_same(base, at, get(known, K_BASE), get(known, K_AT), length)


@inlined
def read_column_list(walk: int, base: int, at: int, is_static: int) -> tuple[int, int]:
    """The offset behind the list at `at`, and how many columns it has: they lie at `list_place`."""
    known = known_lists(walk, get(walk, b.TABLE), is_static)
    if is_last_list(base, at, get(walk, b.END), known):
        return at + get(known, K_LEN), get(known, K_COUNT)
    return _read_other_list(walk, base, at, known, is_static)


@compiled
def _read_other_list(walk: int, base: int, at: int, known: int, is_static: int) -> tuple[int, int]:
    """The same where it is not the last one, but maybe the one before; it becomes the last."""
    for number in range(K_OTHER):
        last = get(known, number)
        put(known, number, get(known, K_OTHER + number))
        put(known, K_OTHER + number, last)
    put(known, K_PLACE, 1 - get(known, K_PLACE))
    if is_last_list(base, at, get(walk, b.END), known):
        return at + get(known, K_LEN), get(known, K_COUNT)
    # A list that fails overwrites what is known.
    put(known, K_LEN, 0)
    after, count = _read_list(walk, base, at, list_place(walk, is_static))
    if after != b.FAILED:
        put(known, K_BASE, base)
        put(known, K_AT, at)
        put(known, K_LEN, after - at)
        put(known, K_COUNT, count)
    return after, count


@compiled
def _choose(place: int, first: int, end: int, chosen: int, n: int) -> int:
    for number in range(first, end):
        put(chosen, n, get(place, number))
        n += 1
    return n


@compiled
def _read_numbers(walk: int, base: int, at: int, place: int, count: int, missing: int) -> tuple[int, int, int]:
    if is_beyond(missing, count):
        return fail_length(walk, b.BAD_VALUE, at, missing), 0, 0
    present = count - missing
    names_present = present < count // 2
    chosen = get(walk, b.CHOSEN)
    n = 0
    last = -1
    for _ in range(present if names_present else missing):
        if at >= get(walk, b.END):
            return fail(walk, b.TRUNCATED, at, 0), 0, 0
        number, at = read_vint(base, at)
        if number <= last or number >= count:
            return fail_length(walk, b.BAD_VALUE, at, number), 0, 0
        first, end = (number, number + 1) if names_present else (last + 1, number)
        n = _choose(place, first, end, chosen, n)
        last = number
    if not names_present:
        n = _choose(place, last + 1, count, chosen, n)
    return at, chosen, n


@compiled
def read_subset(walk: int, base: int, at: int, place: int, count: int) -> tuple[int, int, int]:
    """The offset behind the subset at `at`; and those of the columns at `place` that the row has: place, count."""
    missing, after = read_vint(base, at)
    if missing == 0:
        return after, place, count
    if count >= BITMAP_COLUMNS:
        return _read_numbers(walk, base, after, place, count, missing)
    bits = np.uint64(missing)
    if bits >> np.uint64(count) != _ZERO:
        return fail_length(walk, b.BAD_VALUE, at, missing), 0, 0
    chosen = get(walk, b.CHOSEN)
    n = 0
    for bit in range(count):
        if bits >> np.uint64(bit) & _ONE == _ZERO:
            put(chosen, n, get(place, bit))
            n += 1
    return after, chosen, n
