"""Rows that are noted by the column though they are no plain inserts, compiled: what INSERTs with a TTL, with nulls or
empty values write, and UPDATEs.

    row      flags | clustering values | [timestamp | [TTL | expiration]] | cell for each column | 01
    cell     0D local time: null | 08 value, with a TTL 1A value | 0C, 1E: empty
    of an UPDATE, whose row has no times: flags | timestamp | [local time | [TTL]] | [value]

All cells of an UPDATE have one timestamp, those with values one TTL. Any other row takes the long way: see `straight`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.jit.decorators import compiled, inlined
from tailer.jit.vints import read_length, read_vint
from tailer.jit.words import byte, get
from tailer.scan.compiled import block as b
from tailer.scan.compiled import one_row as o
from tailer.scan.compiled.block import is_beyond
from tailer.scan.compiled.one_row import BY_COLUMN
from tailer.scan.index import CELL_DELETED, CELL_EMPTY, CELL_EXPIRING, HAS_TIMESTAMP, HAS_TTL, NO_TTL
from tailer.scan.mutation.compiled import flat as f
from tailer.scan.mutation.compiled.straight_values import scan_values
from tailer.scan.mutation.compiled.times import read_bases, read_local_time, read_timestamp, read_ttl
from tailer.scan.mutation.flags import END_OF_PARTITION, HAS_ALL_COLUMNS, USE_ROW_TIMESTAMP, USE_ROW_TTL

_KNOWN_FLAGS: Final = HAS_TIMESTAMP | HAS_TTL | HAS_ALL_COLUMNS
_NULL: Final = CELL_DELETED | CELL_EMPTY
_OWN_FLAGS: Final = CELL_DELETED | CELL_EXPIRING | CELL_EMPTY
_ROW_TTL: Final = CELL_EXPIRING | USE_ROW_TTL


@compiled
def note_timed(
    walk: int,
    base: int,
    bases: int,
    at: int,
    end: int,
    lengths: int,
    count: int,
    place: int,
    columns: int,
    one_row: int,
) -> tuple[int, int]:
    """The offset of the row's end, from its flags on, or FAILED, and its timestamp. `bases`: where the update's are."""
    flags = byte(base, at)
    if flags & ~_KNOWN_FLAGS or not flags & HAS_ALL_COLUMNS:
        return b.FAILED, 0
    read_bases(walk, base, bases)
    at = scan_values(base, at + 1, end, lengths, count, BY_COLUMN, o.places(one_row, get(one_row, o.CLUSTERING)))
    if at == b.FAILED:
        return b.FAILED, 0
    if flags & HAS_TIMESTAMP:
        at, ts, ttl, expires = _note_insert(walk, base, at, end, flags, place, columns, one_row)
    elif flags & HAS_TTL or columns == 0:
        return b.FAILED, 0
    else:
        at, ts, ttl, expires = _note_update(walk, base, at, end, place, columns, one_row)
    if at != end - 1 or byte(base, at) != END_OF_PARTITION:
        return b.FAILED, 0
    if not flags & HAS_TIMESTAMP:
        o.set_update(one_row)
    if ttl != NO_TTL:
        o.set_ttl(one_row, ttl, expires)
    return at, ts


@inlined
def _note_insert(
    walk: int, base: int, at: int, end: int, flags: int, place: int, columns: int, one_row: int
) -> tuple[int, Any, Any, Any]:
    """The offset behind cells that have the times of their row, or FAILED; those times."""
    ts, at = read_timestamp(walk, base, at)
    ttl, expires, own = np.int64(NO_TTL), np.int64(0), np.int64(USE_ROW_TIMESTAMP)
    if flags & HAS_TTL:
        ttl, at = read_ttl(walk, base, at)
        expires, at = read_local_time(walk, base, at)
        own |= _ROW_TTL
        if ttl < 0:
            return b.FAILED, ts, ttl, expires
    to = o.places(one_row, get(one_row, o.SETS))
    for number in range(columns):
        column, cell = get(place, number), byte(base, at)
        at, size, is_null = at + 1, np.int64(0), False
        if get(column, f.C_MULTI):
            return b.FAILED, ts, ttl, expires
        if cell == own:
            size, at = read_length(base, at, get(column, f.C_LENGTH))
        elif cell == _NULL | USE_ROW_TIMESTAMP:
            is_null, at = True, read_vint(base, at)[1]
        elif cell != own | CELL_EMPTY:
            return b.FAILED, ts, ttl, expires
        at = _put_place(to, number, at, size, is_null, end)
        if at == b.FAILED:
            return b.FAILED, ts, ttl, expires
    return at, ts, ttl, expires


@inlined
def _put_place(to: tuple[int, int, int, int], number: int, at: int, size: int, is_null: bool, end: int) -> int:
    """The offset behind the value, or FAILED where it is not there whole."""
    if is_beyond(size, end - at):
        return b.FAILED
    o.put_place(to, number, at, np.int64(o.DELETED) if is_null else size)
    return at + size


@inlined
def _note_update(
    walk: int, base: int, at: int, end: int, place: int, columns: int, one_row: int
) -> tuple[int, Any, Any, Any]:
    """The offset behind cells with times of their own that are all the same, or FAILED; those times."""
    ts, ttl, expires, is_live = np.int64(0), np.int64(NO_TTL), np.int64(0), False
    to = o.places(one_row, get(one_row, o.SETS))
    for number in range(columns):
        column, cell = get(place, number), byte(base, at)
        if get(column, f.C_MULTI) or cell & ~_OWN_FLAGS:
            return b.FAILED, ts, ttl, expires
        own_ts, at = read_timestamp(walk, base, at + 1)
        if number != 0 and own_ts != ts:
            return b.FAILED, ts, ttl, expires
        ts, size, is_null = own_ts, np.int64(0), False
        if cell & CELL_DELETED:
            if cell != _NULL:
                return b.FAILED, ts, ttl, expires
            is_null, at = True, read_vint(base, at)[1]
        else:
            own_ttl, own_expires = np.int64(NO_TTL), np.int64(0)
            if cell & CELL_EXPIRING:
                own_expires, at = read_local_time(walk, base, at)
                own_ttl, at = read_ttl(walk, base, at)
                if own_ttl < 0:
                    return b.FAILED, ts, ttl, expires
            if is_live and (own_ttl != ttl or own_expires != expires):
                return b.FAILED, ts, ttl, expires
            ttl, expires, is_live = own_ttl, own_expires, True
            if not cell & CELL_EMPTY:
                size, at = read_length(base, at, get(column, f.C_LENGTH))
        at = _put_place(to, number, at, size, is_null, end)
        if at == b.FAILED:
            return b.FAILED, ts, ttl, expires
    return at, ts, ttl, expires
