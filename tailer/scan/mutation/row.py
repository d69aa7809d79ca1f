"""Rows, static rows and their cells (format page 5.5, 5.6). The innermost loops of a scan.

row      flags | [extended flags] | clustering values, not in a static row | [timestamp] | [TTL | expiration] |
         [deletion] | [subset of the columns] | each column's cells
column   of one cell: cell; else [complex deletion] | count | cells
cell     flags | [timestamp] | [local deletion time] | [TTL] | [path length | path] | [[value length] | value]
"""

from __future__ import annotations

from typing import Final

from tailer.framing.vint import read_vint
from tailer.scan.index import (
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
from tailer.scan.mutation.bound import scan_values
from tailer.scan.mutation.columns import scan_subset
from tailer.scan.mutation.flags import (
    EXPIRY,
    HAS_ALL_COLUMNS,
    HAS_COMPLEX_DELETION,
    KEPT_FLAGS,
    LIVENESS,
    UNKNOWN_CELL_FLAGS,
    USE_ROW_TIMESTAMP,
    USE_ROW_TTL,
)
from tailer.scan.mutation.walk import FAILED, Columns, MutationScan
from tailer.scan.tables import ScanColumn

_USUAL: Final = HAS_TTL | HAS_DELETION | HAS_ALL_COLUMNS
"""Of these flags most rows have the last one alone."""

_CELL_WIDTH: Final = len(CELL_FIELDS)


def scan_row(walk: MutationScan, at: int, flags: int, kind: int, columns: Columns) -> int:
    """The offset behind the row whose flags end at `at`, or FAILED. Adds its lines.

    A row with neither liveness, deletion nor cells gives none, and takes no number.
    """
    number, values_at, cells_at = walk.number, len(walk.values) >> 1, len(walk.cells) // _CELL_WIDTH
    lengths = walk.table.clustering if kind == ROW_LINE else ()
    if lengths:
        at = scan_values(walk, at, lengths)
        if at == FAILED:
            return FAILED
    walk.row_flags = flags
    walk.row_ttl = walk.row_expires = 0
    deletion = walk.row_ts = NO_DELETION
    if flags & HAS_TIMESTAMP:
        if walk.data[at]:
            walk.row_ts, at = walk.read_timestamp(at)
        else:
            walk.row_ts = walk.ts_base
            at += 1
    if flags & _USUAL != HAS_ALL_COLUMNS:
        at, deletion, columns = _scan_rare(walk, at, flags, columns)
    if at == FAILED:
        return FAILED
    at = scan_cells(walk, at, columns)
    if at == FAILED:
        return FAILED
    cells_n = len(walk.cells) // _CELL_WIDTH - cells_at
    kept = flags & LIVENESS
    if deletion != NO_DELETION:
        walk.number += 1 if kept or cells_n else 0
        kept |= HAS_DELETION
    if kept or cells_n:
        ts, ttl, expires = walk.row_ts, walk.row_ttl, walk.row_expires
        line = (walk.update, number, kind, kept, ts, ttl, expires, deletion, values_at, len(lengths), cells_at, cells_n)
        walk.rows += line
        walk.number += 1
    return at


def _scan_rare(walk: MutationScan, at: int, flags: int, columns: Columns) -> tuple[int, int, Columns]:
    """What few rows have between timestamp and cells: TTL and expiration, a deletion, and a subset behind those."""
    deletion = NO_DELETION
    if flags & HAS_TTL:
        if not flags & HAS_TIMESTAMP:
            return walk.fail(Status.BAD_FLAGS, at, flags), deletion, columns
        walk.row_ttl, at = walk.read_ttl(at)
        if walk.row_ttl < 0:
            return walk.fail(Status.BAD_VALUE, at, walk.row_ttl), deletion, columns
        walk.row_expires, at = walk.read_local_time(at)
    if flags & HAS_DELETION:
        deletion, at = walk.read_deletion(at)
    if not flags & HAS_ALL_COLUMNS:
        at, columns = scan_subset(walk, at, columns)
    return at, deletion, columns


def scan_cells(walk: MutationScan, at: int, columns: Columns) -> int:
    """The offset behind the cells of one row, or FAILED."""
    data, end, cells = walk.data, walk.end, walk.cells
    plain = USE_ROW_TIMESTAMP if walk.row_flags & HAS_TIMESTAMP else -1
    row_ts = walk.row_ts
    for column in columns:
        number, length, multi = column
        if multi:
            at = _scan_multi(walk, at, column)
        elif data[at] == plain:
            # What an INSERT writes, and most there is: a value with the row's own timestamp.
            at += 1
            if length < 0:
                length = data[at]
                if length < 0x80:
                    at += 1
                else:
                    length, at = read_vint(data, at)
            if length > end - at:
                return walk.fail(Status.TRUNCATED, at, length)
            cells += (number, 0, row_ts, 0, 0, 0, 0, at, length)
            at += length
        else:
            at = _scan_cell(walk, at, column)
        if at == FAILED:
            return FAILED
    if at > end:
        return walk.fail(Status.TRUNCATED, at)
    return at


def _scan_multi(walk: MutationScan, at: int, column: ScanColumn) -> int:
    if walk.row_flags & HAS_COMPLEX_DELETION:
        deletion, at = walk.read_deletion(at)
        if deletion != NO_DELETION:
            walk.cells += (column.number, COMPLEX_DELETION, deletion, 0, 0, 0, 0, 0, 0)
    count, at = read_vint(walk.data, at)
    if count > walk.end - at:
        return walk.fail(Status.TRUNCATED, at, count)
    for _ in range(count):
        at = _scan_cell(walk, at, column)
        if at == FAILED:
            return FAILED
    return at


def _scan_cell(walk: MutationScan, at: int, column: ScanColumn) -> int:
    """Any cell. The end is checked behind each run of bytes whose length the log says."""
    data, end = walk.data, walk.end
    flags = data[at]
    if _bad_flags(flags, walk.row_flags):
        return walk.fail(Status.BAD_FLAGS, at, flags)
    at += 1
    timestamp, ttl, expires = walk.row_ts, 0, 0
    if not flags & USE_ROW_TIMESTAMP:
        timestamp, at = walk.read_timestamp(at)
    if flags & USE_ROW_TTL:
        ttl, expires = walk.row_ttl, walk.row_expires
    elif flags & EXPIRY:
        expires, at = walk.read_local_time(at)
        if flags & CELL_EXPIRING:
            ttl, at = walk.read_ttl(at)
            if ttl < 0:
                return walk.fail(Status.BAD_VALUE, at, ttl)
    path_at = path_len = length = 0
    if column.multi:
        path_len, path_at = read_vint(data, at)
        if path_len > end - path_at:
            return walk.fail(Status.TRUNCATED, path_at, path_len)
        at = path_at + path_len
    if not flags & CELL_EMPTY:
        length = column.length
        if length < 0:
            length, at = read_vint(data, at)
    if length > end - at:
        return walk.fail(Status.TRUNCATED, at, length)
    walk.cells += (column.number, flags & KEPT_FLAGS, timestamp, ttl, expires, path_at, path_len, at, length)
    return at + length


def _bad_flags(flags: int, row_flags: int) -> bool:
    if flags & UNKNOWN_CELL_FLAGS or flags & EXPIRY == EXPIRY:
        return True
    if flags & USE_ROW_TIMESTAMP and not row_flags & HAS_TIMESTAMP:
        return True
    return bool(flags & USE_ROW_TTL and not (flags & CELL_EXPIRING and row_flags & HAS_TTL))
