"""Clustering values, and bounds of range tombstones (format page 5.5, 5.7).

values   before every 32: a vint, two bits a value, the first one lowest | values that are neither empty nor null,
         each behind its length where its type has no fixed one
bound    ordinal, 1 byte | count of values, 2 bytes | values | [closing deletion] | [opening deletion]
"""

from __future__ import annotations

from typing import Final

from tailer.framing.vint import read_vint
from tailer.scan.index import (
    CELL_FIELDS,
    CLOSE_INCLUSIVE,
    NO_DELETION,
    NULL_LENGTH,
    OPEN_INCLUSIVE,
    RANGE_BOUNDARY,
    RANGE_END,
    RANGE_START,
    Status,
)
from tailer.scan.mutation.walk import FAILED, MutationScan

_BLOCK_MASK: Final = 31
"""A header of two bits a value stands before every 32 values."""

_EMPTY: Final = 1
_NULL: Final = 2

# By the bound's ordinal in the log.
_BOUNDS: Final = {
    0: (RANGE_END, 0),
    1: (RANGE_START, OPEN_INCLUSIVE),
    2: (RANGE_BOUNDARY, OPEN_INCLUSIVE),
    5: (RANGE_BOUNDARY, CLOSE_INCLUSIVE),
    6: (RANGE_END, CLOSE_INCLUSIVE),
    7: (RANGE_START, 0),
}


def scan_values(walk: MutationScan, at: int, lengths: tuple[int, ...]) -> int:
    """The offset behind one clustering value for each of `lengths`, or FAILED. Adds a line for each."""
    data, end, values = walk.data, walk.end, walk.values
    header = 0
    for number, length in enumerate(lengths):
        if not number & _BLOCK_MASK:
            if header:
                break
            header, at = read_vint(data, at) if data[at] else (0, at + 1)
            if at > end:
                return walk.fail(Status.TRUNCATED, at)
        state = header & 3
        header >>= 2
        if state == 0:
            if length < 0:
                length = data[at]
                if length < 0x80:
                    at += 1
                else:
                    length, at = read_vint(data, at)
            if length > end - at:
                return walk.fail(Status.TRUNCATED, at, length)
            values += (at, length)
            at += length
        elif state == _EMPTY:
            values += (at, 0)
        elif state == _NULL:
            values += (at, NULL_LENGTH)
        else:
            return walk.fail(Status.BAD_FLAGS, at, state)
    if header:
        return walk.fail(Status.BAD_FLAGS, at, header)
    return at


def scan_bound(walk: MutationScan, at: int, is_open: bool) -> tuple[int, bool]:
    """The offset behind the bound at `at`, or FAILED; and whether a range is open there.

    `is_open` says whether one is open before: bounds come in pairs, in clustering order.
    """
    data = walk.data
    bound = _BOUNDS.get(data[at])
    if bound is None:
        return walk.fail(Status.BAD_VALUE, at, data[at]), is_open
    kind, flags = bound
    if is_open == (kind == RANGE_START):
        return walk.fail(Status.UNPAIRED_BOUND, at, data[at]), is_open
    size = data[at + 1] << 8 | data[at + 2]
    lengths = walk.table.clustering
    if size > len(lengths):
        return walk.fail(Status.BAD_VALUE, at + 1, size), is_open
    values_at = len(walk.values) >> 1
    at = scan_values(walk, at + 3, lengths[:size])
    if at == FAILED:
        return FAILED, is_open
    closing = opening = NO_DELETION
    if kind != RANGE_START:
        closing, at = walk.read_deletion(at)
    if kind != RANGE_END:
        opening, at = walk.read_deletion(at)
    if at > walk.end:
        return walk.fail(Status.TRUNCATED, at), is_open
    cells_at = len(walk.cells) // len(CELL_FIELDS)
    walk.rows += (walk.update, walk.number, kind, flags, opening, 0, 0, closing, values_at, size, cells_at, 0)
    if kind != RANGE_END:
        walk.number += 1
    return at, kind != RANGE_END
