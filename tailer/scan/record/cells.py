"""Cells of a row, and elements of its non-frozen columns, as lines of the index.

cell       [column, value or nil, time or nil, TTL or nil, expiration or nil, elements or nil, …]
elements   [time of the deletion of all before or nil, items, …]
item       [path, value or nil, time or nil, TTL or nil, expiration or nil, …]
"""

from __future__ import annotations

from typing import Final

from tailer.scan.index import CELL_DELETED, CELL_EXPIRING, COMPLEX_DELETION, NO_TTL, NULL_LENGTH, Status
from tailer.scan.record.heads import (
    NIL,
    BadRecordError,
    head_at,
    read_array,
    read_bytes,
    read_bytes_or_nil,
    read_int,
    skip,
)
from tailer.scan.record.times import read_expiry, read_time, read_ts
from tailer.scan.record.walk import RecordScan
from tailer.scan.tables import ScanColumn

CELL_ELEMENTS: Final = 6
PARTS_OF_ELEMENTS: Final = 2
ELEMENT_ELEMENTS: Final = 5


def no_cells(walk: RecordScan, at: int) -> int:
    """The offset behind the cells of a deletion, which has none."""
    count, first = read_array(walk.data, at, walk.end)
    if count:
        raise BadRecordError(Status.BAD_VALUE, at, count)
    return first


def scan_cells(walk: RecordScan, at: int, is_static: bool, row_ts: int) -> int:
    """The offset behind the cells of a row. Adds their lines."""
    count, at = read_array(walk.data, at, walk.end)
    seen: set[int] = set()
    for _ in range(count):
        at = _scan_cell(walk, at, is_static, row_ts, seen)
    return at


def _scan_cell(walk: RecordScan, at: int, is_static: bool, row_ts: int, seen: set[int]) -> int:
    data, end = walk.data, walk.end
    count, at = read_array(data, at, end, CELL_ELEMENTS)
    at_column = at
    number, at = read_int(data, at, end)
    column = _column(walk, at_column, number, is_static, seen)
    off, length, at = read_bytes_or_nil(data, at, end)
    ts, at = read_ts(data, at, end, row_ts)
    ttl, expires, at = read_expiry(data, at, end)
    at_elements = at
    if head_at(data, at, end) != NIL:
        if length != NULL_LENGTH or (column is not None and not column.multi):
            raise BadRecordError(Status.BAD_VALUE, at_elements, number)
        at = _scan_elements(walk, at, column.number if column else number, row_ts)
    elif length != NULL_LENGTH and column is not None and column.multi:
        raise BadRecordError(Status.BAD_VALUE, at_elements, number)
    else:
        at += 1
        if length == NULL_LENGTH and column is not None and column.multi:
            walk.cells += (column.number, COMPLEX_DELETION, ts, 0, 0, 0, 0, 0, 0)
        else:
            _add(walk, column.number if column else number, ts, ttl, expires, 0, 0, off, length)
    return skip(data, at, end, count - CELL_ELEMENTS)


def _column(walk: RecordScan, at: int, number: int, is_static: bool, seen: set[int]) -> ScanColumn | None:
    """The column that a cell names, once in a row; None where rows are only counted."""
    table = walk.table
    if table is None:
        return None
    place = number - table.key - len(table.clustering)
    if not 0 <= place < len(walk.columns):
        raise BadRecordError(Status.UNKNOWN_COLUMN, at, number)
    if place in seen or is_static != (place < table.statics):
        raise BadRecordError(Status.BAD_VALUE, at, number)
    seen.add(place)
    return walk.columns[place]


def _scan_elements(walk: RecordScan, at: int, column: int, row_ts: int) -> int:
    data, end = walk.data, walk.end
    count, at = read_array(data, at, end, PARTS_OF_ELEMENTS)
    if head_at(data, at, end) == NIL:
        at += 1
    else:
        deletion, at = read_time(data, at, end)
        walk.cells += (column, COMPLEX_DELETION, deletion, 0, 0, 0, 0, 0, 0)
    items, at = read_array(data, at, end)
    for _ in range(items):
        parts, at = read_array(data, at, end, ELEMENT_ELEMENTS)
        path_off, path_len = read_bytes(data, at, end)
        off, length, at = read_bytes_or_nil(data, path_off + path_len, end)
        ts, at = read_ts(data, at, end, row_ts)
        ttl, expires, at = read_expiry(data, at, end)
        _add(walk, column, ts, ttl, expires, path_off, path_len, off, length)
        at = skip(data, at, end, parts - ELEMENT_ELEMENTS)
    return skip(data, at, end, count - PARTS_OF_ELEMENTS)


def _add(
    walk: RecordScan, column: int, ts: int, ttl: int, expires: int, path_off: int, path_len: int, off: int, length: int
) -> None:
    """A cell: a value, or nil, which is a tombstone and has no TTL."""
    if length == NULL_LENGTH:
        walk.cells += (column, CELL_DELETED, ts, 0, 0, path_off, path_len, off, 0)
    elif ttl == NO_TTL:
        walk.cells += (column, 0, ts, 0, 0, path_off, path_len, off, length)
    else:
        walk.cells += (column, CELL_EXPIRING, ts, ttl, expires, path_off, path_len, off, length)
