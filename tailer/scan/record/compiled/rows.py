"""Rows of a change, compiled: the twin of `scan.record.rows`."""

from __future__ import annotations

from tailer.jit.decorators import compiled
from tailer.jit.memory import store
from tailer.jit.words import byte, get, put
from tailer.limits import KEY_PART_BYTES_MAX
from tailer.scan import index as ix
from tailer.scan.compiled import block as b
from tailer.scan.compiled import lines as ln
from tailer.scan.compiled.block import fail
from tailer.scan.compiled.lines import add_row, add_update, put_value
from tailer.scan.record.compiled import state as s
from tailer.scan.record.compiled.cells import no_cells, scan_cells
from tailer.scan.record.compiled.heads import is_nil, read_array, read_bool, read_bytes, read_int, skip
from tailer.scan.record.compiled.times import read_expiry, read_ts
from tailer.scan.record.record import DELETE_PARTITION, DELETE_RANGE, DELETE_ROW, INSERT, UPDATE
from tailer.scan.record.rows import BOUNDS_ELEMENTS, ROW_ELEMENTS
from tailer.types.compiled.runs import copy_run


@compiled
def put_part(walk: int, base: int, at: int, length: int) -> None:
    """Adds a value to the key that is being put together. There is room for all keys."""
    extra = get(walk, s.EXTRA)
    out = get(walk, s.EXTRA_AT) + extra
    store(out, length >> 8)
    store(out + 1, length & 0xFF)
    copy_run(out + 2, base + at, length)
    store(out + 2 + length, 0)
    put(walk, s.EXTRA, extra + length + 3)


@compiled
def _scan_key(walk: int, base: int, at: int) -> int:
    """Adds the row's update."""
    at_key, wanted = at, get(walk, s.KEY_COLUMNS)
    count, at = read_array(walk, base, at, 0)
    if at == b.FAILED:
        return b.FAILED
    if wanted != s.COUNTS_ONLY and count != wanted:
        return fail(walk, b.BAD_VALUE, at_key, count)
    begun = off = get(walk, s.DATA_END) + get(walk, s.EXTRA)
    length = 0
    for _ in range(count):
        at_part = at
        part, length = read_bytes(walk, base, at)
        if part == b.FAILED:
            return b.FAILED
        at = part + length
        if count == 1:
            off = part
        elif length > KEY_PART_BYTES_MAX:
            return fail(walk, b.BAD_VALUE, at_part, length)
        elif wanted != s.COUNTS_ONLY:
            put_part(walk, base, part, length)
    if count != 1:
        length = get(walk, s.DATA_END) + get(walk, s.EXTRA) - begun
    return at if add_update(walk, off, length) else b.FAILED


@compiled
def _scan_values(walk: int, base: int, at: int) -> tuple[int, int]:
    """How many values of clustering columns there are, and the offset behind them. Adds their lines."""
    if is_nil(walk, base, at):
        return 0, at + 1
    count, at = read_array(walk, base, at, 0)
    if at == b.FAILED:
        return 0, b.FAILED
    line = get(walk, b.VALUES)
    for _ in range(count):
        off, length = read_bytes(walk, base, at)
        if off == b.FAILED:
            return 0, b.FAILED
        if line == get(walk, b.VALUES_ROOM):
            return 0, fail(walk, b.FULL, at, 0)
        value = get(walk, b.VALUES_AT) + ln.VALUE_BYTES * line
        put_value(value, off, length)
        line += 1
        at = off + length
    put(walk, b.VALUES, line)
    return count, at


@compiled
def _scan_bound(walk: int, base: int, at: int, kind: int, ts: int) -> int:
    at_values, values_at = at, get(walk, b.VALUES)
    values_n, at = _scan_values(walk, base, at)
    if at == b.FAILED:
        return b.FAILED
    if get(walk, s.KEY_COLUMNS) != s.COUNTS_ONLY and values_n > get(walk, s.CLUSTERING):
        return fail(walk, b.BAD_VALUE, at_values, values_n)
    is_inclusive, at = read_bool(walk, base, at)
    if at == b.FAILED:
        return b.FAILED
    holds = is_inclusive != 0 or values_n == 0
    if kind == ix.RANGE_START:
        flags = ix.OPEN_INCLUSIVE if holds else 0
        if not add_row(walk, kind, flags, ts, 0, 0, ix.NO_DELETION, values_at, values_n, get(walk, b.CELLS), 0):
            return b.FAILED
        put(walk, b.NUMBER, get(walk, b.NUMBER) + 1)
        return at
    flags = ix.CLOSE_INCLUSIVE if holds else 0
    if not add_row(walk, kind, flags, ix.NO_DELETION, 0, 0, ts, values_at, values_n, get(walk, b.CELLS), 0):
        return b.FAILED
    return at


@compiled
def _scan_bounds(walk: int, base: int, at: int, ts: int) -> int:
    count, at = read_array(walk, base, at, BOUNDS_ELEMENTS)
    if at != b.FAILED:
        at = _scan_bound(walk, base, at, ix.RANGE_START, ts)
    if at != b.FAILED:
        at = _scan_bound(walk, base, at, ix.RANGE_END, ts)
    return at if at == b.FAILED else skip(walk, base, at, count - BOUNDS_ELEMENTS)


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
    kind, flags, row_ts, deletion = ix.ROW_LINE, 0, ix.NO_DELETION, ix.NO_DELETION
    row_ttl = row_expires = 0
    cells_n = get(walk, b.CELLS) - cells_at
    if op == DELETE_PARTITION:
        kind, deletion = ix.PARTITION_DELETION, ts
        values_at = values_n = cells_at = 0
    elif op == DELETE_ROW:
        flags, deletion = ix.HAS_DELETION, ts
    elif is_static:
        kind = ix.STATIC_ROW
    elif op == INSERT:
        flags, row_ts = ix.HAS_TIMESTAMP, ts
        if ttl != ix.NO_TTL:
            flags, row_ttl, row_expires = ix.HAS_TIMESTAMP | ix.HAS_TTL, ttl, expires
    if deletion == ix.NO_DELETION and flags == 0 and cells_n == 0:
        return True
    if not add_row(walk, kind, flags, row_ts, row_ttl, row_expires, deletion, values_at, values_n, cells_at, cells_n):
        return False
    put(walk, b.NUMBER, get(walk, b.NUMBER) + 1)
    return True


@compiled
def _wanted_values(walk: int, op: int, is_static: int) -> int:
    """How many clustering values a row has."""
    return 0 if is_static or op >= DELETE_RANGE else get(walk, s.CLUSTERING)


@compiled
def _scan_head(walk: int, base: int, at: int) -> tuple[int, int, int, int]:
    """Operation, whether it is of the static row, how many clustering values; the offset behind."""
    at_op = at
    op, at = read_int(walk, base, at)
    if at == b.FAILED:
        return 0, 0, 0, b.FAILED
    if op < INSERT or op > DELETE_PARTITION:
        return 0, 0, 0, fail(walk, b.BAD_VALUE, at_op, op)
    at = _scan_key(walk, base, at)
    if at == b.FAILED:
        return 0, 0, 0, b.FAILED
    at_clustering = at
    values_n, at = _scan_values(walk, base, at)
    if at == b.FAILED:
        return 0, 0, 0, b.FAILED
    is_static, at = read_bool(walk, base, at)
    if at == b.FAILED:
        return 0, 0, 0, b.FAILED
    if is_static and op > UPDATE:
        return 0, 0, 0, fail(walk, b.BAD_VALUE, at_op, op)
    if get(walk, s.KEY_COLUMNS) != s.COUNTS_ONLY and values_n != _wanted_values(walk, op, is_static):
        return 0, 0, 0, fail(walk, b.BAD_VALUE, at_clustering, values_n)
    return op, is_static, values_n, at


@compiled
def scan_row(walk: int, base: int, at: int) -> int:
    """The offset behind the row at `at`. Adds its lines; counts it if it gives a change row."""
    count, at = read_array(walk, base, at, ROW_ELEMENTS)
    if at == b.FAILED:
        return b.FAILED
    values_at, cells_at = get(walk, b.VALUES), get(walk, b.CELLS)
    op, is_static, values_n, at = _scan_head(walk, base, at)
    if at == b.FAILED:
        return b.FAILED
    ts, at = read_ts(walk, base, at, get(walk, s.WRITE_TS))
    if at == b.FAILED:
        return b.FAILED
    ttl, expires, at = read_expiry(walk, base, at)
    if at == b.FAILED:
        return b.FAILED
    at = scan_cells(walk, base, at, is_static, ts) if op <= UPDATE else no_cells(walk, base, at)
    if at == b.FAILED:
        return b.FAILED
    if op == DELETE_RANGE:
        at = _scan_bounds(walk, base, at, ts)
        return at if at == b.FAILED else skip(walk, base, at, count - ROW_ELEMENTS)
    if at >= get(walk, b.END):
        return fail(walk, b.TRUNCATED, at, 0)
    if not is_nil(walk, base, at):
        return fail(walk, b.BAD_VALUE, at, byte(base, at))
    if not _end_row(walk, op, is_static, ts, ttl, expires, values_at, values_n, cells_at):
        return b.FAILED
    return skip(walk, base, at + 1, count - ROW_ELEMENTS)
