"""Clustering values and range tombstone bounds, compiled: the twin of `scan.mutation.bound`."""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled, inlined
from tailer.jit.vints import read_length, read_vint
from tailer.jit.words import byte, get, put
from tailer.scan import index as ix
from tailer.scan.compiled import block as b
from tailer.scan.compiled import lines as ln
from tailer.scan.compiled.block import fail, fail_length, is_beyond
from tailer.scan.compiled.lines import add_row, put_value
from tailer.scan.mutation.compiled import flat as f
from tailer.scan.mutation.compiled.times import read_deletion

_BLOCK_MASK: Final = 31
_EMPTY: Final = 1
_NULL: Final = 2
_SHIFT_MASK: Final = 2**62 - 1
"""What is left of a word when it is shifted by a clustering value's two bits."""


@inlined
def scan_values(walk: int, base: int, at: int, count: int) -> int:
    """The offset behind the first `count` clustering values. Adds a line for each."""
    end = get(walk, b.END)
    lengths = get(walk, b.LENGTHS) + 8 * get(get(walk, b.TABLE_AT), f.T_LENGTHS_AT)
    line = get(walk, b.VALUES)
    if line + count > get(walk, b.VALUES_ROOM):
        return fail(walk, b.FULL, at, 0)
    value = get(walk, b.VALUES_AT) + ln.VALUE_BYTES * line
    header = 0
    for number in range(count):
        if number & _BLOCK_MASK == 0:
            if header != 0:
                break
            header, at = read_vint(base, at)
            if at > end:
                return fail(walk, b.TRUNCATED, at, 0)
        form = header & 3
        header = header >> 2 & _SHIFT_MASK
        length = 0
        if form == 0:
            length, at = read_length(base, at, get(lengths, number))
            if is_beyond(length, end - at):
                return fail_length(walk, b.TRUNCATED, at, length)
        elif form == _NULL:
            length = ix.NULL_LENGTH
        elif form != _EMPTY:
            return fail(walk, b.BAD_FLAGS, at, form)
        put_value(value, at, length)
        value += ln.VALUE_BYTES
        if form == 0:
            at += length
    if header != 0:
        return fail_length(walk, b.BAD_FLAGS, at, header)
    put(walk, b.VALUES, line + count)
    return at


@compiled
def _bound_kind(ordinal: int) -> tuple[int, int]:
    """The kind and the flags of a bound, by its ordinal in the log; kind -1 for an ordinal that is none."""
    if ordinal == 0:
        return ix.RANGE_END, 0
    if ordinal == 1:
        return ix.RANGE_START, ix.OPEN_INCLUSIVE
    if ordinal == 2:
        return ix.RANGE_BOUNDARY, ix.OPEN_INCLUSIVE
    if ordinal == 5:
        return ix.RANGE_BOUNDARY, ix.CLOSE_INCLUSIVE
    if ordinal == 6:
        return ix.RANGE_END, ix.CLOSE_INCLUSIVE
    if ordinal == 7:
        return ix.RANGE_START, 0
    return -1, 0


@compiled
def scan_bound(walk: int, base: int, at: int, is_open: bool) -> tuple[int, bool]:
    """The offset behind the bound at `at`; and whether a range is open there."""
    ordinal = byte(base, at)
    kind, flags = _bound_kind(ordinal)
    if kind < 0:
        return fail(walk, b.BAD_VALUE, at, ordinal), is_open
    if is_open == (kind == ix.RANGE_START):
        return fail(walk, b.UNPAIRED_BOUND, at, ordinal), is_open
    size = byte(base, at + 1) << 8 | byte(base, at + 2)
    if size > get(get(walk, b.TABLE_AT), f.T_LENGTHS_N):
        return fail(walk, b.BAD_VALUE, at + 1, size), is_open
    values_at = get(walk, b.VALUES)
    at = scan_values(walk, base, at + 3, size)
    if at == b.FAILED:
        return b.FAILED, is_open
    closing = opening = ix.NO_DELETION
    if kind != ix.RANGE_START:
        closing, at = read_deletion(walk, base, at)
    if kind != ix.RANGE_END:
        opening, at = read_deletion(walk, base, at)
    if at > get(walk, b.END):
        return fail(walk, b.TRUNCATED, at, 0), is_open
    if not add_row(walk, kind, flags, opening, 0, 0, closing, values_at, size, get(walk, b.CELLS), 0):
        return b.FAILED, is_open
    if kind != ix.RANGE_END:
        put(walk, b.NUMBER, get(walk, b.NUMBER) + 1)
    return at, kind != ix.RANGE_END
