"""One partition update, compiled: the twin of `scan.mutation.update`."""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled, inlined
from tailer.jit.vints import read_vint
from tailer.jit.words import byte, get, put
from tailer.scan.index import (
    CELL_DELETED,
    COMPLEX_DELETION,
    NO_DELETION,
    PARTITION_DELETION,
    ROW_LINE,
    STATIC_ROW,
    UPDATE_FIELDS,
    Status,
)
from tailer.scan.mutation.compiled.bounds import ROW_WIDTH, add_row, scan_bound
from tailer.scan.mutation.compiled.columns import list_place, read_column_list
from tailer.scan.mutation.compiled.flat import T_KEPT, T_TRUNCATIONS, T_WIDTH
from tailer.scan.mutation.compiled.ids import TABLE_ID_BYTES
from tailer.scan.mutation.compiled.rows import CELL_WIDTH, scan_row
from tailer.scan.mutation.compiled.walk import (
    CELLS,
    CELLS_AT,
    END,
    ENTRY,
    FAILED,
    FULL,
    NUMBER,
    ROWS,
    ROWS_AT,
    TABLE,
    TABLE_AT,
    TABLES,
    UPDATE,
    UPDATES,
    UPDATES_AT,
    UPDATES_ROOM,
    VALUES,
    fail,
    fail_length,
    is_beyond,
    read_bases,
    read_deletion,
)
from tailer.scan.tables import NO_COLUMN

TRUNCATED: Final = int(Status.TRUNCATED)
BAD_FLAGS: Final = int(Status.BAD_FLAGS)
UNPAIRED_BOUND: Final = int(Status.UNPAIRED_BOUND)

IS_EMPTY: Final = 0x01
HAS_PARTITION_DELETION: Final = 0x04
HAS_STATIC_ROW: Final = 0x08
HAS_ROW_ESTIMATE: Final = 0x10
UNKNOWN_FLAGS: Final = ~(IS_EMPTY | HAS_PARTITION_DELETION | HAS_STATIC_ROW | HAS_ROW_ESTIMATE)

END_OF_PARTITION: Final = 0x01
IS_MARKER: Final = 0x02
NO_ROW: Final = END_OF_PARTITION | IS_MARKER
EXTENSION: Final = 0x80
IS_STATIC: Final = 0x01
SHADOWABLE: Final = 0x02

UPDATE_WIDTH: Final = len(UPDATE_FIELDS)


@inlined
def drop_lines(walk: int, updates: int, rows: int, values: int, cells: int) -> None:
    """Takes back all lines but so many."""
    put(walk, UPDATES, updates)
    put(walk, ROWS, rows)
    put(walk, VALUES, values)
    put(walk, CELLS, cells)


@compiled
def _number_truncations(walk: int, rows: int, cells: int, column: int) -> None:
    """Gives the truncations that the update names the numbers before its own rows."""
    count = 0
    for number in range(cells, get(walk, CELLS)):
        cell = get(walk, CELLS_AT) + 8 * CELL_WIDTH * number
        gone = get(cell, 1) & (CELL_DELETED | COMPLEX_DELETION)
        count += get(cell, 0) == column and gone == 0
    for number in range(rows, get(walk, ROWS)):
        row = get(walk, ROWS_AT) + 8 * ROW_WIDTH * number
        put(row, 1, get(row, 1) + count)
    put(walk, NUMBER, get(walk, NUMBER) + count)


@compiled
def _scan_partition_deletion(walk: int, base: int, at: int) -> int:
    deletion, at = read_deletion(walk, base, at)
    if deletion != NO_DELETION:
        if not add_row(walk, PARTITION_DELETION, 0, NO_DELETION, 0, 0, deletion, 0, 0, 0, 0):
            return FAILED
        put(walk, NUMBER, get(walk, NUMBER) + 1)
    return at


@compiled
def _scan_static(walk: int, base: int, at: int, count: int) -> int:
    flags, extended = byte(base, at), byte(base, at + 1)
    if at + 2 > get(walk, END):
        return fail(walk, TRUNCATED, at, 0)
    if not flags & EXTENSION or flags & NO_ROW or not extended & IS_STATIC:
        return fail(walk, BAD_FLAGS, at, flags)
    if extended & ~(IS_STATIC | SHADOWABLE):
        return fail(walk, BAD_FLAGS, at + 1, extended)
    return scan_row(walk, base, at + 2, flags, STATIC_ROW, list_place(walk, 1), count)


@inlined
def _scan_unfiltereds(walk: int, base: int, at: int, count: int) -> int:
    """Rows and bounds up to the end of the partition."""
    end = get(walk, END)
    place = list_place(walk, 0)
    is_open = False
    while at < end:
        flags = byte(base, at)
        at += 1
        if not flags & NO_ROW:
            if flags & EXTENSION:
                if byte(base, at) & ~SHADOWABLE:
                    return fail(walk, BAD_FLAGS, at, byte(base, at))
                at += 1
            at = scan_row(walk, base, at, flags, ROW_LINE, place, count)
        elif flags == IS_MARKER:
            at, is_open = scan_bound(walk, base, at, is_open)
        elif flags != END_OF_PARTITION:
            return fail(walk, BAD_FLAGS, at - 1, flags)
        else:
            return fail(walk, UNPAIRED_BOUND, at - 1, 0) if is_open else at
        if at == FAILED:
            return FAILED
    return fail(walk, TRUNCATED, at, 0)


@inlined
def _scan_body(walk: int, base: int, at: int, flags: int) -> int:
    if flags & IS_EMPTY:
        return at
    at = read_bases(walk, base, at)
    statics = 0
    if flags & HAS_STATIC_ROW:
        at, statics = read_column_list(walk, base, at, 1)
        if at == FAILED:
            return FAILED
    at, columns = read_column_list(walk, base, at, 0)
    if at == FAILED:
        return FAILED
    if flags & HAS_PARTITION_DELETION:
        at = _scan_partition_deletion(walk, base, at)
        if at == FAILED:
            return FAILED
    if flags & HAS_STATIC_ROW:
        at = _scan_static(walk, base, at, statics)
        if at == FAILED:
            return FAILED
    if flags & HAS_ROW_ESTIMATE:
        at = read_vint(base, at)[1]
    return _scan_unfiltereds(walk, base, at, columns)


@compiled
def scan_update(walk: int, base: int, at: int, number: int) -> int:
    """The offset behind the update at `at`, of the table of that number. Adds its lines; counts its change rows."""
    table = get(walk, TABLES) + 8 * T_WIDTH * number
    put(walk, TABLE, number)
    put(walk, TABLE_AT, table)
    length, at = read_vint(base, at + TABLE_ID_BYTES)
    if is_beyond(length, get(walk, END) - at - 1):
        return fail_length(walk, TRUNCATED, at, length)
    updates, rows, values, cells = get(walk, UPDATES), get(walk, ROWS), get(walk, VALUES), get(walk, CELLS)
    if updates == get(walk, UPDATES_ROOM):
        return fail(walk, FULL, at, 0)
    update = get(walk, UPDATES_AT) + 8 * UPDATE_WIDTH * updates
    put(update, 0, get(walk, ENTRY))
    put(update, 1, number)
    put(update, 2, at)
    put(update, 3, length)
    put(walk, UPDATE, updates)
    put(walk, UPDATES, updates + 1)
    at += length
    flags = byte(base, at)
    if flags & UNKNOWN_FLAGS:
        return fail(walk, BAD_FLAGS, at, flags)
    at = _scan_body(walk, base, at + 1, flags)
    if at == FAILED:
        return FAILED
    if get(table, T_TRUNCATIONS) != NO_COLUMN:
        _number_truncations(walk, rows, cells, get(table, T_TRUNCATIONS))
    if not get(table, T_KEPT):
        drop_lines(walk, updates, rows, values, cells)
    return at
