"""Clustering values and range tombstone bounds, compiled: the twin of `scan.mutation.bound`."""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled, inlined
from tailer.jit.vints import read_length, read_vint
from tailer.jit.words import byte, get, put
from tailer.scan.index import (
    CLOSE_INCLUSIVE,
    NO_DELETION,
    NULL_LENGTH,
    OPEN_INCLUSIVE,
    RANGE_BOUNDARY,
    RANGE_END,
    RANGE_START,
    ROW_FIELDS,
    VALUE_FIELDS,
    Status,
)
from tailer.scan.mutation.compiled.flat import T_LENGTHS_AT, T_LENGTHS_N
from tailer.scan.mutation.compiled.walk import (
    CELLS,
    END,
    FAILED,
    FULL,
    LENGTHS,
    NUMBER,
    ROWS,
    ROWS_AT,
    ROWS_ROOM,
    TABLE_AT,
    UPDATE,
    VALUES,
    VALUES_AT,
    VALUES_ROOM,
    fail,
    fail_length,
    is_beyond,
    read_deletion,
)

TRUNCATED: Final = int(Status.TRUNCATED)
BAD_VALUE: Final = int(Status.BAD_VALUE)
BAD_FLAGS: Final = int(Status.BAD_FLAGS)
UNPAIRED_BOUND: Final = int(Status.UNPAIRED_BOUND)

VALUE_WIDTH: Final = len(VALUE_FIELDS)
ROW_WIDTH: Final = len(ROW_FIELDS)

_BLOCK_MASK: Final = 31
_EMPTY: Final = 1
_NULL: Final = 2
_SHIFT_MASK: Final = 2**62 - 1
"""What is left of a word when it is shifted by a clustering value's two bits."""


@inlined
def scan_values(walk: int, base: int, at: int, count: int) -> int:
    """The offset behind the first `count` clustering values. Adds a line for each."""
    end = get(walk, END)
    lengths = get(walk, LENGTHS) + 8 * get(get(walk, TABLE_AT), T_LENGTHS_AT)
    line = get(walk, VALUES)
    if line + count > get(walk, VALUES_ROOM):
        return fail(walk, FULL, at, 0)
    value = get(walk, VALUES_AT) + 8 * VALUE_WIDTH * line
    header = 0
    for number in range(count):
        if number & _BLOCK_MASK == 0:
            if header != 0:
                break
            header, at = read_vint(base, at)
            if at > end:
                return fail(walk, TRUNCATED, at, 0)
        form = header & 3
        header = header >> 2 & _SHIFT_MASK
        length = 0
        if form == 0:
            length, at = read_length(base, at, get(lengths, number))
            if is_beyond(length, end - at):
                return fail_length(walk, TRUNCATED, at, length)
        elif form == _NULL:
            length = NULL_LENGTH
        elif form != _EMPTY:
            return fail(walk, BAD_FLAGS, at, form)
        put(value, 0, at)
        put(value, 1, length)
        value += 8 * VALUE_WIDTH
        if form == 0:
            at += length
    if header != 0:
        return fail_length(walk, BAD_FLAGS, at, header)
    put(walk, VALUES, line + count)
    return at


@inlined
def add_row(
    walk: int,
    kind: int,
    flags: int,
    ts: int,
    ttl: int,
    expires: int,
    deletion: int,
    values_at: int,
    values_n: int,
    cells_at: int,
    cells_n: int,
) -> bool:
    """Adds a line of the update being read; whether there was room for it."""
    line = get(walk, ROWS)
    if line == get(walk, ROWS_ROOM):
        fail(walk, FULL, 0, 0)
        return False
    row = get(walk, ROWS_AT) + 8 * ROW_WIDTH * line
    put(row, 0, get(walk, UPDATE))
    put(row, 1, get(walk, NUMBER))
    put(row, 2, kind)
    put(row, 3, flags)
    put(row, 4, ts)
    put(row, 5, ttl)
    put(row, 6, expires)
    put(row, 7, deletion)
    put(row, 8, values_at)
    put(row, 9, values_n)
    put(row, 10, cells_at)
    put(row, 11, cells_n)
    put(walk, ROWS, line + 1)
    return True


@compiled
def _bound_kind(ordinal: int) -> tuple[int, int]:
    """The kind and the flags of a bound, by its ordinal in the log; kind -1 for an ordinal that is none."""
    if ordinal == 0:
        return RANGE_END, 0
    if ordinal == 1:
        return RANGE_START, OPEN_INCLUSIVE
    if ordinal == 2:
        return RANGE_BOUNDARY, OPEN_INCLUSIVE
    if ordinal == 5:
        return RANGE_BOUNDARY, CLOSE_INCLUSIVE
    if ordinal == 6:
        return RANGE_END, CLOSE_INCLUSIVE
    if ordinal == 7:
        return RANGE_START, 0
    return -1, 0


@compiled
def scan_bound(walk: int, base: int, at: int, is_open: bool) -> tuple[int, bool]:
    """The offset behind the bound at `at`; and whether a range is open there."""
    ordinal = byte(base, at)
    kind, flags = _bound_kind(ordinal)
    if kind < 0:
        return fail(walk, BAD_VALUE, at, ordinal), is_open
    if is_open == (kind == RANGE_START):
        return fail(walk, UNPAIRED_BOUND, at, ordinal), is_open
    size = byte(base, at + 1) << 8 | byte(base, at + 2)
    if size > get(get(walk, TABLE_AT), T_LENGTHS_N):
        return fail(walk, BAD_VALUE, at + 1, size), is_open
    values_at = get(walk, VALUES)
    at = scan_values(walk, base, at + 3, size)
    if at == FAILED:
        return FAILED, is_open
    closing = opening = NO_DELETION
    if kind != RANGE_START:
        closing, at = read_deletion(walk, base, at)
    if kind != RANGE_END:
        opening, at = read_deletion(walk, base, at)
    if at > get(walk, END):
        return fail(walk, TRUNCATED, at, 0), is_open
    if not add_row(walk, kind, flags, opening, 0, 0, closing, values_at, size, get(walk, CELLS), 0):
        return FAILED, is_open
    if kind != RANGE_END:
        put(walk, NUMBER, get(walk, NUMBER) + 1)
    return at, kind != RANGE_END
