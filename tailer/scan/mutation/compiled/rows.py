"""Rows and their cells, compiled: the twin of `scan.mutation.row`. The innermost loops."""

from __future__ import annotations

from tailer.jit.decorators import compiled, inlined
from tailer.jit.vints import read_length, read_vint
from tailer.jit.words import byte, get, put
from tailer.scan import index as ix
from tailer.scan.compiled import block as b
from tailer.scan.compiled import lines as ln
from tailer.scan.compiled.block import fail, fail_length, is_beyond
from tailer.scan.compiled.lines import add_cell, add_row, put_cell
from tailer.scan.mutation import flags as fl
from tailer.scan.mutation.compiled import flat as f
from tailer.scan.mutation.compiled.bounds import scan_values
from tailer.scan.mutation.compiled.columns import read_subset
from tailer.scan.mutation.compiled.times import read_deletion, read_local_time, read_timestamp, read_ttl


@compiled
def _bad_flags(flags: int, row_flags: int) -> bool:
    if flags & fl.UNKNOWN_CELL_FLAGS or flags & fl.EXPIRY == fl.EXPIRY:
        return True
    if flags & fl.USE_ROW_TIMESTAMP and not row_flags & ix.HAS_TIMESTAMP:
        return True
    return flags & fl.USE_ROW_TTL != 0 and not (flags & ix.CELL_EXPIRING and row_flags & ix.HAS_TTL)


@compiled
def _scan_cell(walk: int, base: int, at: int, column: int) -> int:
    """Any cell."""
    end = get(walk, b.END)
    flags = byte(base, at)
    if _bad_flags(flags, get(walk, b.ROW_FLAGS)):
        return fail(walk, b.BAD_FLAGS, at, flags)
    at += 1
    ts, ttl, expires = get(walk, b.ROW_TS), 0, 0
    if not flags & fl.USE_ROW_TIMESTAMP:
        ts, at = read_timestamp(walk, base, at)
    if flags & fl.USE_ROW_TTL:
        ttl, expires = get(walk, b.ROW_TTL), get(walk, b.ROW_EXPIRES)
    elif flags & fl.EXPIRY:
        expires, at = read_local_time(walk, base, at)
        if flags & ix.CELL_EXPIRING:
            ttl, at = read_ttl(walk, base, at)
            if ttl < 0:
                return fail(walk, b.BAD_VALUE, at, ttl)
    path_at = path_len = length = 0
    if get(column, f.C_MULTI):
        path_len, path_at = read_vint(base, at)
        if is_beyond(path_len, end - path_at):
            return fail_length(walk, b.TRUNCATED, path_at, path_len)
        at = path_at + path_len
    if not flags & ix.CELL_EMPTY:
        length, at = read_length(base, at, get(column, f.C_LENGTH))
    if is_beyond(length, end - at):
        return fail_length(walk, b.TRUNCATED, at, length)
    kept = flags & fl.KEPT_FLAGS
    if not add_cell(walk, get(column, f.C_NUMBER), kept, ts, ttl, expires, path_at, path_len, at, length):
        return b.FAILED
    return at + length


@compiled
def _scan_multi(walk: int, base: int, at: int, column: int) -> int:
    if get(walk, b.ROW_FLAGS) & fl.HAS_COMPLEX_DELETION:
        deletion, at = read_deletion(walk, base, at)
        if deletion != ix.NO_DELETION and not add_cell(
            walk, get(column, f.C_NUMBER), ix.COMPLEX_DELETION, deletion, 0, 0, 0, 0, 0, 0
        ):
            return b.FAILED
    count, at = read_vint(base, at)
    if is_beyond(count, get(walk, b.END) - at):
        return fail_length(walk, b.TRUNCATED, at, count)
    for _ in range(count):
        at = _scan_cell(walk, base, at, column)
        if at == b.FAILED:
            return b.FAILED
    return at


@inlined
def scan_cells(walk: int, base: int, at: int, place: int, count: int) -> int:
    """The offset behind the cells of one row."""
    end, row_ts = get(walk, b.END), get(walk, b.ROW_TS)
    plain = fl.USE_ROW_TIMESTAMP if get(walk, b.ROW_FLAGS) & ix.HAS_TIMESTAMP else -1
    for number in range(count):
        column = get(place, number)
        if get(column, f.C_MULTI):
            at = _scan_multi(walk, base, at, column)
        elif byte(base, at) == plain:
            at += 1
            length, at = read_length(base, at, get(column, f.C_LENGTH))
            if is_beyond(length, end - at):
                return fail_length(walk, b.TRUNCATED, at, length)
            line = get(walk, b.CELLS)
            if line == get(walk, b.CELLS_ROOM):
                return fail(walk, b.FULL, at, 0)
            cell = get(walk, b.CELLS_AT) + ln.CELL_BYTES * line
            put_cell(cell, get(column, f.C_NUMBER), 0, row_ts, 0, 0, 0, 0, at, length)
            put(walk, b.CELLS, line + 1)
            at += length
        else:
            at = _scan_cell(walk, base, at, column)
        if at == b.FAILED:
            return b.FAILED
    if at > end:
        return fail(walk, b.TRUNCATED, at, 0)
    return at


@compiled
def _read_ttl(walk: int, base: int, at: int, flags: int) -> int:
    if not flags & ix.HAS_TIMESTAMP:
        return fail(walk, b.BAD_FLAGS, at, flags)
    ttl, at = read_ttl(walk, base, at)
    if ttl < 0:
        return fail(walk, b.BAD_VALUE, at, ttl)
    expires, at = read_local_time(walk, base, at)
    put(walk, b.ROW_TTL, ttl)
    put(walk, b.ROW_EXPIRES, expires)
    return at


@inlined
def _end_row(walk: int, flags: int, kind: int, deletion: int, values_at: int, values_n: int, cells_at: int) -> bool:
    """Adds the row's line, if there is anything in it; whether there was room."""
    number = get(walk, b.NUMBER)
    kept = flags & fl.LIVENESS
    cells_n = get(walk, b.CELLS) - cells_at
    holds = kept != 0 or cells_n > 0
    behind = number + holds
    if deletion != ix.NO_DELETION:
        behind += 1
        kept |= ix.HAS_DELETION
    if behind > number:
        ts, ttl, expires = get(walk, b.ROW_TS), get(walk, b.ROW_TTL), get(walk, b.ROW_EXPIRES)
        if not add_row(walk, kind, kept, ts, ttl, expires, deletion, values_at, values_n, cells_at, cells_n):
            return False
        put(walk, b.NUMBER, behind)
    return True


@compiled
def scan_row(walk: int, base: int, at: int, flags: int, kind: int, place: int, count: int) -> int:
    """The offset behind the row whose flags end at `at`; `count` columns of the update at `place`. Adds its lines."""
    values_at, cells_at = get(walk, b.VALUES), get(walk, b.CELLS)
    values_n = get(get(walk, b.TABLE_AT), f.T_LENGTHS_N) if kind == ix.ROW_LINE else 0
    if values_n:
        at = scan_values(walk, base, at, values_n)
        if at == b.FAILED:
            return b.FAILED
    put(walk, b.ROW_FLAGS, flags)
    put(walk, b.ROW_TTL, 0)
    put(walk, b.ROW_EXPIRES, 0)
    deletion = ts = ix.NO_DELETION
    if flags & ix.HAS_TIMESTAMP:
        ts, at = read_timestamp(walk, base, at)
    put(walk, b.ROW_TS, ts)
    if flags & ix.HAS_TTL:
        at = _read_ttl(walk, base, at, flags)
        if at == b.FAILED:
            return b.FAILED
    if flags & ix.HAS_DELETION:
        deletion, at = read_deletion(walk, base, at)
    if not flags & fl.HAS_ALL_COLUMNS:
        at, place, count = read_subset(walk, base, at, place, count)
        if at == b.FAILED:
            return b.FAILED
    at = scan_cells(walk, base, at, place, count)
    if at == b.FAILED:
        return b.FAILED
    return at if _end_row(walk, flags, kind, deletion, values_at, values_n, cells_at) else b.FAILED
