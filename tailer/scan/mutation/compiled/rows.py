"""Rows and their cells, compiled: the twin of `scan.mutation.row`. The innermost loops."""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled, inlined
from tailer.jit.vints import read_length, read_vint
from tailer.jit.words import byte, get, put
from tailer.scan.index import (
    CELL_DELETED,
    CELL_EMPTY,
    CELL_EXPIRING,
    CELL_FIELDS,
    COMPLEX_DELETION,
    HAS_DELETION,
    HAS_TIMESTAMP,
    HAS_TTL,
    NO_DELETION,
    ROW_LINE,
    Status,
)
from tailer.scan.mutation.compiled.bounds import add_row, scan_values
from tailer.scan.mutation.compiled.columns import read_subset
from tailer.scan.mutation.compiled.flat import C_LENGTH, C_MULTI, C_NUMBER, T_LENGTHS_N
from tailer.scan.mutation.compiled.walk import (
    CELLS,
    CELLS_AT,
    CELLS_ROOM,
    END,
    FAILED,
    FULL,
    NUMBER,
    ROW_EXPIRES,
    ROW_FLAGS,
    ROW_TS,
    ROW_TTL,
    TABLE_AT,
    VALUES,
    fail,
    fail_length,
    is_beyond,
    read_deletion,
    read_local_time,
    read_timestamp,
    read_ttl,
)

TRUNCATED: Final = int(Status.TRUNCATED)
BAD_VALUE: Final = int(Status.BAD_VALUE)
BAD_FLAGS: Final = int(Status.BAD_FLAGS)

HAS_ALL_COLUMNS: Final = 0x20
HAS_COMPLEX_DELETION: Final = 0x40
LIVENESS: Final = HAS_TIMESTAMP | HAS_TTL

USE_ROW_TIMESTAMP: Final = 0x08
USE_ROW_TTL: Final = 0x10
EXPIRY: Final = CELL_DELETED | CELL_EXPIRING
KEPT_FLAGS: Final = CELL_DELETED | CELL_EXPIRING | CELL_EMPTY
CELL_WIDTH: Final = len(CELL_FIELDS)
UNKNOWN_FLAGS: Final = 0xE0


@compiled
def _bad_flags(flags: int, row_flags: int) -> bool:
    if flags & UNKNOWN_FLAGS or flags & EXPIRY == EXPIRY:
        return True
    if flags & USE_ROW_TIMESTAMP and not row_flags & HAS_TIMESTAMP:
        return True
    return flags & USE_ROW_TTL != 0 and not (flags & CELL_EXPIRING and row_flags & HAS_TTL)


@compiled
def _add_cell(
    walk: int,
    column: int,
    flags: int,
    ts: int,
    ttl: int,
    expires: int,
    path_off: int,
    path_len: int,
    value_off: int,
    value_len: int,
) -> bool:
    line = get(walk, CELLS)
    if line == get(walk, CELLS_ROOM):
        fail(walk, FULL, 0, 0)
        return False
    cell = get(walk, CELLS_AT) + 8 * CELL_WIDTH * line
    put(cell, 0, get(column, C_NUMBER))
    put(cell, 1, flags)
    put(cell, 2, ts)
    put(cell, 3, ttl)
    put(cell, 4, expires)
    put(cell, 5, path_off)
    put(cell, 6, path_len)
    put(cell, 7, value_off)
    put(cell, 8, value_len)
    put(walk, CELLS, line + 1)
    return True


@inlined
def put_plain_cell(cell: int, column: int, ts: int, at: int, length: int) -> None:
    """A line of a value with its row's timestamp, neither expiring nor with a path."""
    put(cell, 0, get(column, C_NUMBER))
    put(cell, 1, 0)
    put(cell, 2, ts)
    put(cell, 3, 0)
    put(cell, 4, 0)
    put(cell, 5, 0)
    put(cell, 6, 0)
    put(cell, 7, at)
    put(cell, 8, length)


@compiled
def _scan_cell(walk: int, base: int, at: int, column: int) -> int:
    """Any cell."""
    end = get(walk, END)
    flags = byte(base, at)
    if _bad_flags(flags, get(walk, ROW_FLAGS)):
        return fail(walk, BAD_FLAGS, at, flags)
    at += 1
    ts, ttl, expires = get(walk, ROW_TS), 0, 0
    if not flags & USE_ROW_TIMESTAMP:
        ts, at = read_timestamp(walk, base, at)
    if flags & USE_ROW_TTL:
        ttl, expires = get(walk, ROW_TTL), get(walk, ROW_EXPIRES)
    elif flags & EXPIRY:
        expires, at = read_local_time(walk, base, at)
        if flags & CELL_EXPIRING:
            ttl, at = read_ttl(walk, base, at)
            if ttl < 0:
                return fail(walk, BAD_VALUE, at, ttl)
    path_at = path_len = length = 0
    if get(column, C_MULTI):
        path_len, path_at = read_vint(base, at)
        if is_beyond(path_len, end - path_at):
            return fail_length(walk, TRUNCATED, path_at, path_len)
        at = path_at + path_len
    if not flags & CELL_EMPTY:
        length, at = read_length(base, at, get(column, C_LENGTH))
    if is_beyond(length, end - at):
        return fail_length(walk, TRUNCATED, at, length)
    if not _add_cell(walk, column, flags & KEPT_FLAGS, ts, ttl, expires, path_at, path_len, at, length):
        return FAILED
    return at + length


@compiled
def _scan_multi(walk: int, base: int, at: int, column: int) -> int:
    if get(walk, ROW_FLAGS) & HAS_COMPLEX_DELETION:
        deletion, at = read_deletion(walk, base, at)
        if deletion != NO_DELETION and not _add_cell(walk, column, COMPLEX_DELETION, deletion, 0, 0, 0, 0, 0, 0):
            return FAILED
    count, at = read_vint(base, at)
    if is_beyond(count, get(walk, END) - at):
        return fail_length(walk, TRUNCATED, at, count)
    for _ in range(count):
        at = _scan_cell(walk, base, at, column)
        if at == FAILED:
            return FAILED
    return at


@inlined
def scan_cells(walk: int, base: int, at: int, place: int, count: int) -> int:
    """The offset behind the cells of one row."""
    end, row_ts = get(walk, END), get(walk, ROW_TS)
    plain = USE_ROW_TIMESTAMP if get(walk, ROW_FLAGS) & HAS_TIMESTAMP else -1
    for number in range(count):
        column = get(place, number)
        if get(column, C_MULTI):
            at = _scan_multi(walk, base, at, column)
        elif byte(base, at) == plain:
            at += 1
            length, at = read_length(base, at, get(column, C_LENGTH))
            if is_beyond(length, end - at):
                return fail_length(walk, TRUNCATED, at, length)
            line = get(walk, CELLS)
            if line == get(walk, CELLS_ROOM):
                return fail(walk, FULL, at, 0)
            cell = get(walk, CELLS_AT) + 8 * CELL_WIDTH * line
            put_plain_cell(cell, column, row_ts, at, length)
            put(walk, CELLS, line + 1)
            at += length
        else:
            at = _scan_cell(walk, base, at, column)
        if at == FAILED:
            return FAILED
    if at > end:
        return fail(walk, TRUNCATED, at, 0)
    return at


@compiled
def _read_ttl(walk: int, base: int, at: int, flags: int) -> int:
    if not flags & HAS_TIMESTAMP:
        return fail(walk, BAD_FLAGS, at, flags)
    ttl, at = read_ttl(walk, base, at)
    if ttl < 0:
        return fail(walk, BAD_VALUE, at, ttl)
    expires, at = read_local_time(walk, base, at)
    put(walk, ROW_TTL, ttl)
    put(walk, ROW_EXPIRES, expires)
    return at


@inlined
def _end_row(walk: int, flags: int, kind: int, deletion: int, values_at: int, values_n: int, cells_at: int) -> bool:
    """Adds the row's line, if there is anything in it; whether there was room."""
    number = get(walk, NUMBER)
    kept = flags & LIVENESS
    cells_n = get(walk, CELLS) - cells_at
    holds = kept != 0 or cells_n > 0
    behind = number + holds
    if deletion != NO_DELETION:
        behind += 1
        kept |= HAS_DELETION
    if behind > number:
        ts, ttl, expires = get(walk, ROW_TS), get(walk, ROW_TTL), get(walk, ROW_EXPIRES)
        if not add_row(walk, kind, kept, ts, ttl, expires, deletion, values_at, values_n, cells_at, cells_n):
            return False
        put(walk, NUMBER, behind)
    return True


@compiled
def scan_row(walk: int, base: int, at: int, flags: int, kind: int, place: int, count: int) -> int:
    """The offset behind the row whose flags end at `at`; `count` columns of the update at `place`. Adds its lines."""
    values_at, cells_at = get(walk, VALUES), get(walk, CELLS)
    values_n = get(get(walk, TABLE_AT), T_LENGTHS_N) if kind == ROW_LINE else 0
    if values_n:
        at = scan_values(walk, base, at, values_n)
        if at == FAILED:
            return FAILED
    put(walk, ROW_FLAGS, flags)
    put(walk, ROW_TTL, 0)
    put(walk, ROW_EXPIRES, 0)
    deletion = ts = NO_DELETION
    if flags & HAS_TIMESTAMP:
        ts, at = read_timestamp(walk, base, at)
    put(walk, ROW_TS, ts)
    if flags & HAS_TTL:
        at = _read_ttl(walk, base, at, flags)
        if at == FAILED:
            return FAILED
    if flags & HAS_DELETION:
        deletion, at = read_deletion(walk, base, at)
    if not flags & HAS_ALL_COLUMNS:
        at, place, count = read_subset(walk, base, at, place, count)
        if at == FAILED:
            return FAILED
    at = scan_cells(walk, base, at, place, count)
    if at == FAILED:
        return FAILED
    return at if _end_row(walk, flags, kind, deletion, values_at, values_n, cells_at) else FAILED
