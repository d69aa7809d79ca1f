"""One partition update, compiled: the twin of `scan.mutation.update`."""

from __future__ import annotations

from tailer.jit.decorators import compiled, inlined
from tailer.jit.vints import read_vint
from tailer.jit.words import byte, get, put
from tailer.scan import index as ix
from tailer.scan.compiled import block as b
from tailer.scan.compiled import lines as ln
from tailer.scan.compiled.block import fail, fail_length, is_beyond
from tailer.scan.compiled.lines import add_row, add_update, set_counts
from tailer.scan.mutation import flags as fl
from tailer.scan.mutation.compiled import flat as f
from tailer.scan.mutation.compiled.bounds import scan_bound
from tailer.scan.mutation.compiled.columns import list_place, read_column_list
from tailer.scan.mutation.compiled.ids import TABLE_ID_BYTES
from tailer.scan.mutation.compiled.rows import scan_row
from tailer.scan.mutation.compiled.times import read_bases, read_deletion
from tailer.scan.tables import NO_COLUMN


@compiled
def _number_truncations(walk: int, rows: int, cells: int, column: int) -> None:
    """Gives the truncations that the update names the numbers before its own rows."""
    count = 0
    for number in range(cells, get(walk, b.CELLS)):
        cell = get(walk, b.CELLS_AT) + ln.CELL_BYTES * number
        gone = get(cell, ln.C_FLAGS) & (ix.CELL_DELETED | ix.COMPLEX_DELETION)
        count += get(cell, ln.C_COLUMN) == column and gone == 0
    for number in range(rows, get(walk, b.ROWS)):
        row = get(walk, b.ROWS_AT) + ln.ROW_BYTES * number
        put(row, ln.R_NUMBER, get(row, ln.R_NUMBER) + count)
    put(walk, b.NUMBER, get(walk, b.NUMBER) + count)


@compiled
def _scan_partition_deletion(walk: int, base: int, at: int) -> int:
    deletion, at = read_deletion(walk, base, at)
    if deletion != ix.NO_DELETION:
        if not add_row(walk, ix.PARTITION_DELETION, 0, ix.NO_DELETION, 0, 0, deletion, 0, 0, 0, 0):
            return b.FAILED
        put(walk, b.NUMBER, get(walk, b.NUMBER) + 1)
    return at


@compiled
def _scan_static(walk: int, base: int, at: int, count: int) -> int:
    flags, extended = byte(base, at), byte(base, at + 1)
    if at + 2 > get(walk, b.END):
        return fail(walk, b.TRUNCATED, at, 0)
    if not flags & fl.EXTENSION or flags & fl.NO_ROW or not extended & fl.IS_STATIC:
        return fail(walk, b.BAD_FLAGS, at, flags)
    if extended & ~(fl.IS_STATIC | fl.SHADOWABLE):
        return fail(walk, b.BAD_FLAGS, at + 1, extended)
    return scan_row(walk, base, at + 2, flags, ix.STATIC_ROW, list_place(walk, 1), count)


@inlined
def _scan_unfiltereds(walk: int, base: int, at: int, count: int) -> int:
    """Rows and bounds up to the end of the partition."""
    end = get(walk, b.END)
    place = list_place(walk, 0)
    is_open = False
    while at < end:
        flags = byte(base, at)
        at += 1
        if not flags & fl.NO_ROW:
            if flags & fl.EXTENSION:
                if byte(base, at) & ~fl.SHADOWABLE:
                    return fail(walk, b.BAD_FLAGS, at, byte(base, at))
                at += 1
            at = scan_row(walk, base, at, flags, ix.ROW_LINE, place, count)
        elif flags == fl.IS_MARKER:
            at, is_open = scan_bound(walk, base, at, is_open)
        elif flags != fl.END_OF_PARTITION:
            return fail(walk, b.BAD_FLAGS, at - 1, flags)
        else:
            return fail(walk, b.UNPAIRED_BOUND, at - 1, 0) if is_open else at
        if at == b.FAILED:
            return b.FAILED
    return fail(walk, b.TRUNCATED, at, 0)


@inlined
def _scan_body(walk: int, base: int, at: int, flags: int) -> int:
    if flags & fl.IS_EMPTY:
        return at
    at = read_bases(walk, base, at)
    statics = 0
    if flags & fl.HAS_STATIC_ROW:
        at, statics = read_column_list(walk, base, at, 1)
        if at == b.FAILED:
            return b.FAILED
    at, columns = read_column_list(walk, base, at, 0)
    if at == b.FAILED:
        return b.FAILED
    if flags & fl.HAS_PARTITION_DELETION:
        at = _scan_partition_deletion(walk, base, at)
        if at == b.FAILED:
            return b.FAILED
    if flags & fl.HAS_STATIC_ROW:
        at = _scan_static(walk, base, at, statics)
        if at == b.FAILED:
            return b.FAILED
    if flags & fl.HAS_ROW_ESTIMATE:
        at = read_vint(base, at)[1]
    return _scan_unfiltereds(walk, base, at, columns)


@compiled
def scan_update(walk: int, base: int, at: int, number: int) -> int:
    """The offset behind the update at `at`, of the table of that number. Adds its lines; counts its change rows."""
    table = get(walk, b.TABLES) + 8 * f.T_WIDTH * number
    put(walk, b.TABLE, number)
    put(walk, b.TABLE_AT, table)
    length, at = read_vint(base, at + TABLE_ID_BYTES)
    if is_beyond(length, get(walk, b.END) - at - 1):
        return fail_length(walk, b.TRUNCATED, at, length)
    updates, rows, values, cells = get(walk, b.UPDATES), get(walk, b.ROWS), get(walk, b.VALUES), get(walk, b.CELLS)
    if not add_update(walk, at, length):
        return b.FAILED
    at += length
    flags = byte(base, at)
    if flags & fl.UNKNOWN_UPDATE_FLAGS:
        return fail(walk, b.BAD_FLAGS, at, flags)
    at = _scan_body(walk, base, at + 1, flags)
    if at == b.FAILED:
        return b.FAILED
    if get(table, f.T_TRUNCATIONS) != NO_COLUMN:
        _number_truncations(walk, rows, cells, get(table, f.T_TRUNCATIONS))
    if not get(table, f.T_KEPT):
        set_counts(walk, updates, rows, values, cells)
    return at
