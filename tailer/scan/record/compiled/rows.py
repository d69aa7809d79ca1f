"""Rows of a change, compiled: the twin of `scan.record.rows`."""

from __future__ import annotations

from tailer.jit.decorators import compiled
from tailer.jit.memory import store
from tailer.jit.words import byte, get, put
from tailer.scan.index import (
    CLOSE_INCLUSIVE,
    HAS_DELETION,
    HAS_TIMESTAMP,
    HAS_TTL,
    NO_DELETION,
    OPEN_INCLUSIVE,
    PARTITION_DELETION,
    RANGE_END,
    RANGE_START,
    ROW_LINE,
    STATIC_ROW,
)
from tailer.scan.mutation.compiled.bounds import VALUE_WIDTH, add_row
from tailer.scan.mutation.compiled.updates import UPDATE_WIDTH
from tailer.scan.mutation.compiled.walk import (
    CELLS,
    END,
    ENTRY,
    FAILED,
    FULL,
    NUMBER,
    TABLE,
    UPDATES,
    UPDATES_AT,
    UPDATES_ROOM,
    VALUES,
    VALUES_AT,
    VALUES_ROOM,
    fail,
)
from tailer.scan.mutation.compiled.walk import UPDATE as UPDATE_LINE
from tailer.scan.record.compiled.cells import no_cells, scan_cells
from tailer.scan.record.compiled.heads import (
    BAD_VALUE,
    TRUNCATED,
    is_nil,
    read_array,
    read_bool,
    read_bytes,
    read_int,
    skip,
)
from tailer.scan.record.compiled.state import (
    CLUSTERING,
    COUNTS_ONLY,
    DATA_END,
    EXTRA,
    EXTRA_AT,
    KEY_COLUMNS,
    WRITE_TS,
)
from tailer.scan.record.compiled.times import read_expiry, read_ts
from tailer.scan.record.record import DELETE_PARTITION, DELETE_RANGE, DELETE_ROW, INSERT, UPDATE
from tailer.scan.record.rows import BOUNDS_ELEMENTS, PART_BYTES_MAX, ROW_ELEMENTS
from tailer.scan.record.times import NO_TTL
from tailer.types.compiled.runs import copy_run


@compiled
def put_part(walk: int, base: int, at: int, length: int) -> None:
    """Adds a value to the key that is being put together. There is room for all keys."""
    extra = get(walk, EXTRA)
    out = get(walk, EXTRA_AT) + extra
    store(out, length >> 8)
    store(out + 1, length & 0xFF)
    copy_run(out + 2, base + at, length)
    store(out + 2 + length, 0)
    put(walk, EXTRA, extra + length + 3)


@compiled
def _add_update(walk: int, off: int, length: int) -> bool:
    line = get(walk, UPDATES)
    if line == get(walk, UPDATES_ROOM):
        fail(walk, FULL, 0, 0)
        return False
    update = get(walk, UPDATES_AT) + 8 * UPDATE_WIDTH * line
    put(update, 0, get(walk, ENTRY))
    put(update, 1, get(walk, TABLE))
    put(update, 2, off)
    put(update, 3, length)
    put(walk, UPDATE_LINE, line)
    put(walk, UPDATES, line + 1)
    return True


@compiled
def _scan_key(walk: int, base: int, at: int) -> int:
    """Adds the row's update."""
    at_key, wanted = at, get(walk, KEY_COLUMNS)
    count, at = read_array(walk, base, at, 0)
    if at == FAILED:
        return FAILED
    if wanted != COUNTS_ONLY and count != wanted:
        return fail(walk, BAD_VALUE, at_key, count)
    begun = off = get(walk, DATA_END) + get(walk, EXTRA)
    length = 0
    for _ in range(count):
        at_part = at
        part, length = read_bytes(walk, base, at)
        if part == FAILED:
            return FAILED
        at = part + length
        if count == 1:
            off = part
        elif length > PART_BYTES_MAX:
            return fail(walk, BAD_VALUE, at_part, length)
        elif wanted != COUNTS_ONLY:
            put_part(walk, base, part, length)
    if count != 1:
        length = get(walk, DATA_END) + get(walk, EXTRA) - begun
    return at if _add_update(walk, off, length) else FAILED


@compiled
def _scan_values(walk: int, base: int, at: int) -> tuple[int, int]:
    """How many values of clustering columns there are, and the offset behind them. Adds their lines."""
    if is_nil(walk, base, at):
        return 0, at + 1
    count, at = read_array(walk, base, at, 0)
    if at == FAILED:
        return 0, FAILED
    line = get(walk, VALUES)
    for _ in range(count):
        off, length = read_bytes(walk, base, at)
        if off == FAILED:
            return 0, FAILED
        if line == get(walk, VALUES_ROOM):
            return 0, fail(walk, FULL, at, 0)
        value = get(walk, VALUES_AT) + 8 * VALUE_WIDTH * line
        put(value, 0, off)
        put(value, 1, length)
        line += 1
        at = off + length
    put(walk, VALUES, line)
    return count, at


@compiled
def _scan_bound(walk: int, base: int, at: int, kind: int, ts: int) -> int:
    at_values, values_at = at, get(walk, VALUES)
    values_n, at = _scan_values(walk, base, at)
    if at == FAILED:
        return FAILED
    if get(walk, KEY_COLUMNS) != COUNTS_ONLY and values_n > get(walk, CLUSTERING):
        return fail(walk, BAD_VALUE, at_values, values_n)
    is_inclusive, at = read_bool(walk, base, at)
    if at == FAILED:
        return FAILED
    holds = is_inclusive != 0 or values_n == 0
    if kind == RANGE_START:
        flags = OPEN_INCLUSIVE if holds else 0
        if not add_row(walk, kind, flags, ts, 0, 0, NO_DELETION, values_at, values_n, get(walk, CELLS), 0):
            return FAILED
        put(walk, NUMBER, get(walk, NUMBER) + 1)
        return at
    flags = CLOSE_INCLUSIVE if holds else 0
    if not add_row(walk, kind, flags, NO_DELETION, 0, 0, ts, values_at, values_n, get(walk, CELLS), 0):
        return FAILED
    return at


@compiled
def _scan_bounds(walk: int, base: int, at: int, ts: int) -> int:
    count, at = read_array(walk, base, at, BOUNDS_ELEMENTS)
    if at != FAILED:
        at = _scan_bound(walk, base, at, RANGE_START, ts)
    if at != FAILED:
        at = _scan_bound(walk, base, at, RANGE_END, ts)
    return at if at == FAILED else skip(walk, base, at, count - BOUNDS_ELEMENTS)


@compiled
def _end_row(
    walk: int,
    op: int,
    is_static: int,
    ts: int,
    ttl: int,
    expires: int,
    values_at: int,
    values_n: int,
    cells_at: int,
) -> bool:
    """Adds the line of anything but a range, if there is anything in it; whether there was room."""
    kind, flags, row_ts, deletion = ROW_LINE, 0, NO_DELETION, NO_DELETION
    row_ttl = row_expires = 0
    cells_n = get(walk, CELLS) - cells_at
    if op == DELETE_PARTITION:
        kind, deletion = PARTITION_DELETION, ts
        values_at = values_n = cells_at = 0
    elif op == DELETE_ROW:
        flags, deletion = HAS_DELETION, ts
    elif is_static:
        kind = STATIC_ROW
    elif op == INSERT:
        flags, row_ts = HAS_TIMESTAMP, ts
        if ttl != NO_TTL:
            flags, row_ttl, row_expires = HAS_TIMESTAMP | HAS_TTL, ttl, expires
    if deletion == NO_DELETION and flags == 0 and cells_n == 0:
        return True
    if not add_row(walk, kind, flags, row_ts, row_ttl, row_expires, deletion, values_at, values_n, cells_at, cells_n):
        return False
    put(walk, NUMBER, get(walk, NUMBER) + 1)
    return True


@compiled
def _wanted_values(walk: int, op: int, is_static: int) -> int:
    """How many clustering values a row has."""
    return 0 if is_static or op >= DELETE_RANGE else get(walk, CLUSTERING)


@compiled
def _scan_head(walk: int, base: int, at: int) -> tuple[int, int, int, int]:
    """Operation, whether it is of the static row, how many clustering values; the offset behind."""
    at_op = at
    op, at = read_int(walk, base, at)
    if at == FAILED:
        return 0, 0, 0, FAILED
    if op < INSERT or op > DELETE_PARTITION:
        return 0, 0, 0, fail(walk, BAD_VALUE, at_op, op)
    at = _scan_key(walk, base, at)
    if at == FAILED:
        return 0, 0, 0, FAILED
    at_clustering = at
    values_n, at = _scan_values(walk, base, at)
    if at == FAILED:
        return 0, 0, 0, FAILED
    is_static, at = read_bool(walk, base, at)
    if at == FAILED:
        return 0, 0, 0, FAILED
    if is_static and op > UPDATE:
        return 0, 0, 0, fail(walk, BAD_VALUE, at_op, op)
    if get(walk, KEY_COLUMNS) != COUNTS_ONLY and values_n != _wanted_values(walk, op, is_static):
        return 0, 0, 0, fail(walk, BAD_VALUE, at_clustering, values_n)
    return op, is_static, values_n, at


@compiled
def scan_row(walk: int, base: int, at: int) -> int:
    """The offset behind the row at `at`. Adds its lines; counts it if it gives a change row."""
    count, at = read_array(walk, base, at, ROW_ELEMENTS)
    if at == FAILED:
        return FAILED
    values_at, cells_at = get(walk, VALUES), get(walk, CELLS)
    op, is_static, values_n, at = _scan_head(walk, base, at)
    if at == FAILED:
        return FAILED
    ts, at = read_ts(walk, base, at, get(walk, WRITE_TS))
    if at == FAILED:
        return FAILED
    ttl, expires, at = read_expiry(walk, base, at)
    if at == FAILED:
        return FAILED
    at = scan_cells(walk, base, at, is_static, ts) if op <= UPDATE else no_cells(walk, base, at)
    if at == FAILED:
        return FAILED
    if op == DELETE_RANGE:
        at = _scan_bounds(walk, base, at, ts)
        return at if at == FAILED else skip(walk, base, at, count - ROW_ELEMENTS)
    if at >= get(walk, END):
        return fail(walk, TRUNCATED, at, 0)
    if not is_nil(walk, base, at):
        return fail(walk, BAD_VALUE, at, byte(base, at))
    if not _end_row(walk, op, is_static, ts, ttl, expires, values_at, values_n, cells_at):
        return FAILED
    return skip(walk, base, at + 1, count - ROW_ELEMENTS)
