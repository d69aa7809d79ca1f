"""One partition update of a mutation (format page 5.3 to 5.5): head, deletion, static row, rows and bounds.

    update   table id, 16 bytes | key length | key | flags | rest, unless it is empty
    rest     smallest timestamp, local time, TTL, each less its epoch | [static column list] | column list |
             [partition deletion] | [static row] | [row estimate] | rows and bounds | 01

Numbers are vints unless a length is given; what stands in brackets is there if the flags say so.
"""

from __future__ import annotations

from typing import Final

from tailer.framing.vint import read_vint
from tailer.scan.index import (
    CELL_DELETED,
    CELL_FIELDS,
    COMPLEX_DELETION,
    NO_DELETION,
    PARTITION_DELETION,
    ROW_FIELDS,
    ROW_LINE,
    STATIC_ROW,
    UPDATE_FIELDS,
    Status,
)
from tailer.scan.mutation.bound import scan_bound
from tailer.scan.mutation.columns import scan_column_list
from tailer.scan.mutation.flags import (
    END_OF_PARTITION,
    EXTENSION,
    HAS_PARTITION_DELETION,
    HAS_ROW_ESTIMATE,
    HAS_STATIC_ROW,
    IS_EMPTY,
    IS_MARKER,
    IS_STATIC,
    NO_ROW,
    SHADOWABLE,
    UNKNOWN_UPDATE_FLAGS,
)
from tailer.scan.mutation.row import scan_row
from tailer.scan.mutation.walk import FAILED, Columns, MutationScan
from tailer.scan.tables import NO_COLUMN

_NUMBER: Final = ROW_FIELDS.index("number")
_UPDATE_WIDTH: Final = len(UPDATE_FIELDS)
_ROW_WIDTH: Final = len(ROW_FIELDS)
_CELL_WIDTH: Final = len(CELL_FIELDS)


def scan_update(walk: MutationScan, at: int) -> int:
    """The offset behind the update at `at`, or FAILED. Adds its lines; counts its change rows."""
    data, end = walk.data, walk.end
    walk.table_number = -1
    if at + 16 > end:
        return walk.fail(Status.TRUNCATED, at)
    number = walk.tables.numbers.get(data[at : at + 16])
    if number is None:
        return walk.fail(Status.UNKNOWN_TABLE, at, name_len=16)
    table = walk.table = walk.tables.tables[number]
    walk.table_number = number
    at += 16
    key_len = data[at]
    if key_len < 0x80:
        at += 1
    else:
        key_len, at = read_vint(data, at)
    if key_len >= end - at:
        return walk.fail(Status.TRUNCATED, at, key_len)
    walk.update = len(walk.updates) // _UPDATE_WIDTH
    walk.updates += (walk.entry, number, at, key_len)
    at += key_len
    flags = data[at]
    if flags & UNKNOWN_UPDATE_FLAGS:
        return walk.fail(Status.BAD_FLAGS, at, flags)
    if table.kept and table.truncations == NO_COLUMN:
        return _scan_body(walk, at + 1, flags)
    return _scan_special(walk, at + 1, flags)


def _scan_special(walk: MutationScan, at: int, flags: int) -> int:
    """An update whose lines are not kept, or whose cells take row numbers before its rows."""
    rows, values, cells = len(walk.rows), len(walk.values), len(walk.cells)
    at = _scan_body(walk, at, flags)
    if at == FAILED:
        return FAILED
    if walk.table.truncations != NO_COLUMN:
        _number_truncations(walk, rows, cells)
    if not walk.table.kept:
        del walk.updates[-_UPDATE_WIDTH:], walk.rows[rows:], walk.values[values:], walk.cells[cells:]
    return at


def _scan_body(walk: MutationScan, at: int, flags: int) -> int:
    if flags & IS_EMPTY:
        return at
    at = walk.read_bases(at)
    statics: Columns = ()
    if flags & HAS_STATIC_ROW:
        at, statics = scan_column_list(walk, at, is_static=True)
        if at == FAILED:
            return FAILED
    at, columns = scan_column_list(walk, at, is_static=False)
    if at == FAILED:
        return FAILED
    if flags & HAS_PARTITION_DELETION:
        at = _scan_partition_deletion(walk, at)
    if flags & HAS_STATIC_ROW:
        at = _scan_static(walk, at, statics)
        if at == FAILED:
            return FAILED
    if flags & HAS_ROW_ESTIMATE:
        at = at + 1 if walk.data[at] < 0x80 else read_vint(walk.data, at)[1]
    return _scan_unfiltereds(walk, at, columns)


def _scan_partition_deletion(walk: MutationScan, at: int) -> int:
    deletion, at = walk.read_deletion(at)
    if deletion != NO_DELETION:
        walk.rows += (walk.update, walk.number, PARTITION_DELETION, 0, NO_DELETION, 0, 0, deletion, 0, 0, 0, 0)
        walk.number += 1
    return at


def _scan_static(walk: MutationScan, at: int, columns: Columns) -> int:
    flags, extended = walk.data[at], walk.data[at + 1]
    if at + 2 > walk.end:
        return walk.fail(Status.TRUNCATED, at)
    if not flags & EXTENSION or flags & NO_ROW or not extended & IS_STATIC:
        return walk.fail(Status.BAD_FLAGS, at, flags)
    if extended & ~(IS_STATIC | SHADOWABLE):
        return walk.fail(Status.BAD_FLAGS, at + 1, extended)
    return scan_row(walk, at + 2, flags, STATIC_ROW, columns)


def _scan_unfiltereds(walk: MutationScan, at: int, columns: Columns) -> int:
    """Rows and bounds up to the end of the partition. Every turn takes at least one byte, so it ends."""
    data, end = walk.data, walk.end
    is_open = False
    while at < end:
        flags = data[at]
        at += 1
        if not flags & NO_ROW:
            if flags & EXTENSION:
                if data[at] & ~SHADOWABLE:
                    return walk.fail(Status.BAD_FLAGS, at, data[at])
                at += 1
            at = scan_row(walk, at, flags, ROW_LINE, columns)
        elif flags == IS_MARKER:
            at, is_open = scan_bound(walk, at, is_open)
        elif flags != END_OF_PARTITION:
            return walk.fail(Status.BAD_FLAGS, at - 1, flags)
        else:
            return walk.fail(Status.UNPAIRED_BOUND, at - 1) if is_open else at
        if at == FAILED:
            return FAILED
    return walk.fail(Status.TRUNCATED, at)


def _number_truncations(walk: MutationScan, rows_from: int, cells_from: int) -> None:
    """Gives the truncations that the update names the numbers before its own rows."""
    cells, column = walk.cells, walk.table.truncations
    gone = CELL_DELETED | COMPLEX_DELETION
    count = sum(cells[at] == column and not cells[at + 1] & gone for at in range(cells_from, len(cells), _CELL_WIDTH))
    for at in range(rows_from + _NUMBER, len(walk.rows), _ROW_WIDTH):
        walk.rows[at] += count
    walk.number += count
