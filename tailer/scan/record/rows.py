"""Rows of a change: a key, times, cells or bounds, as lines of the index.

row      [operation, key values, clustering values or nil, is static, time or nil, TTL or nil, expiration or nil,
          cells, bounds or nil, …]
bounds   [values or nil, is inclusive, values or nil, is inclusive, …]
"""

from __future__ import annotations

from typing import Final

from tailer.limits import KEY_PART_BYTES_MAX
from tailer.scan.index import (
    CELL_FIELDS,
    CLOSE_INCLUSIVE,
    HAS_DELETION,
    HAS_TIMESTAMP,
    HAS_TTL,
    NO_DELETION,
    NO_TTL,
    OPEN_INCLUSIVE,
    PARTITION_DELETION,
    RANGE_END,
    RANGE_START,
    ROW_LINE,
    STATIC_ROW,
    UPDATE_FIELDS,
    Status,
)
from tailer.scan.record.cells import no_cells, scan_cells
from tailer.scan.record.heads import NIL, BadRecordError, head_at, read_array, read_bool, read_bytes, read_int, skip
from tailer.scan.record.record import DELETE_PARTITION, DELETE_RANGE, DELETE_ROW, INSERT, UPDATE
from tailer.scan.record.times import read_expiry, read_ts
from tailer.scan.record.walk import RecordScan

ROW_ELEMENTS: Final = 9
BOUNDS_ELEMENTS: Final = 4

_CELL_WIDTH: Final = len(CELL_FIELDS)
_UPDATE_WIDTH: Final = len(UPDATE_FIELDS)


def scan_row(walk: RecordScan, at: int) -> int:
    """The offset behind the row at `at`. Adds its lines; counts it if it gives a change row."""
    data, end = walk.data, walk.end
    count, at = read_array(data, at, end, ROW_ELEMENTS)
    at_op = at
    op, at = read_int(data, at, end)
    if not INSERT <= op <= DELETE_PARTITION:
        raise BadRecordError(Status.BAD_VALUE, at_op, op)
    at = _scan_key(walk, at)
    at_clustering, values_at = at, len(walk.values) >> 1
    values_n, at = scan_values(walk, at)
    is_static, at = read_bool(data, at, end)
    if is_static and op > UPDATE:
        raise BadRecordError(Status.BAD_VALUE, at_op, op)
    if walk.table is not None:
        wanted = 0 if is_static or op >= DELETE_RANGE else len(walk.table.clustering)
        if values_n != wanted:
            raise BadRecordError(Status.BAD_VALUE, at_clustering, values_n)
    ts, at = read_ts(data, at, end, walk.write_ts)
    ttl, expires, at = read_expiry(data, at, end)
    cells_at = len(walk.cells) // _CELL_WIDTH
    at = scan_cells(walk, at, is_static, ts) if op <= UPDATE else no_cells(walk, at)
    if op == DELETE_RANGE:
        at = _scan_bounds(walk, at, ts)
    elif head_at(data, at, end) == NIL:
        at += 1
    else:
        raise BadRecordError(Status.BAD_VALUE, at, data[at])
    if op <= UPDATE:
        has_liveness = op == INSERT and not is_static
        kind = STATIC_ROW if is_static else ROW_LINE
        _add_row(walk, kind, (ts, ttl, expires) if has_liveness else None, values_at, values_n, cells_at)
    elif op == DELETE_ROW:
        _add(walk, ROW_LINE, HAS_DELETION, NO_DELETION, 0, 0, ts, values_at, values_n, cells_at, 0)
    elif op == DELETE_PARTITION:
        _add(walk, PARTITION_DELETION, 0, NO_DELETION, 0, 0, ts, 0, 0, 0, 0)
    return skip(data, at, end, count - ROW_ELEMENTS)


def _scan_key(walk: RecordScan, at: int) -> int:
    """Adds the row's update: each row is one of its own, however many have its key."""
    data, end, table = walk.data, walk.end, walk.table
    at_key = at
    count, at = read_array(data, at, end)
    if table is not None and count != table.key:
        raise BadRecordError(Status.BAD_VALUE, at_key, count)
    begun = off = len(data) + len(walk.extra)
    length = 0
    for _ in range(count):
        at_part = at
        part, length = read_bytes(data, at, end)
        at = part + length
        if count == 1:
            off = part
            break
        if length > KEY_PART_BYTES_MAX:
            raise BadRecordError(Status.BAD_VALUE, at_part, length)
        walk.extra += length.to_bytes(2, "big") + data[part:at] + b"\0"
    if count != 1:
        length = len(data) + len(walk.extra) - begun
    walk.update = len(walk.updates) // _UPDATE_WIDTH
    walk.updates += (walk.entry, walk.table_number, off, length)
    return at


def scan_values(walk: RecordScan, at: int) -> tuple[int, int]:
    """How many values of clustering columns there are, nil being none, and the offset behind them. Adds their lines."""
    data, end = walk.data, walk.end
    if head_at(data, at, end) == NIL:
        return 0, at + 1
    count, at = read_array(data, at, end)
    for _ in range(count):
        off, length = read_bytes(data, at, end)
        walk.values += (off, length)
        at = off + length
    return count, at


def _scan_bounds(walk: RecordScan, at: int, ts: int) -> int:
    """Both bounds of a range; an open side has no value and counts as inclusive."""
    data, end = walk.data, walk.end
    count, at = read_array(data, at, end, BOUNDS_ELEMENTS)
    cells_at = len(walk.cells) // _CELL_WIDTH
    for kind, inclusive in ((RANGE_START, OPEN_INCLUSIVE), (RANGE_END, CLOSE_INCLUSIVE)):
        at_values, values_at = at, len(walk.values) >> 1
        values_n, at = scan_values(walk, at)
        if walk.table is not None and values_n > len(walk.table.clustering):
            raise BadRecordError(Status.BAD_VALUE, at_values, values_n)
        is_inclusive, at = read_bool(data, at, end)
        flags = inclusive if is_inclusive or not values_n else 0
        if kind == RANGE_START:
            _add(walk, kind, flags, ts, 0, 0, NO_DELETION, values_at, values_n, cells_at, 0)
        else:
            # Numbered like Cassandra's: behind the change row that began with the start.
            _add(walk, kind, flags, NO_DELETION, 0, 0, ts, values_at, values_n, cells_at, 0)
            walk.number -= 1
    return skip(data, at, end, count - BOUNDS_ELEMENTS)


def _add_row(
    walk: RecordScan, kind: int, liveness: tuple[int, int, int] | None, values_at: int, values_n: int, cells_at: int
) -> None:
    """A row with data; one with neither liveness nor cells gives no line and takes no number."""
    cells_n = len(walk.cells) // _CELL_WIDTH - cells_at
    if liveness is not None:
        ts, ttl, expires = liveness
        if ttl == NO_TTL:
            _add(walk, kind, HAS_TIMESTAMP, ts, 0, 0, NO_DELETION, values_at, values_n, cells_at, cells_n)
        else:
            flags = HAS_TIMESTAMP | HAS_TTL
            _add(walk, kind, flags, ts, ttl, expires, NO_DELETION, values_at, values_n, cells_at, cells_n)
    elif cells_n:
        _add(walk, kind, 0, NO_DELETION, 0, 0, NO_DELETION, values_at, values_n, cells_at, cells_n)


def _add(walk: RecordScan, kind: int, flags: int, *rest: int) -> None:
    walk.rows += (walk.update, walk.number, kind, flags, *rest)
    walk.number += 1
