"""Scan of a service's entries (architecture section 10): the lines that a scan of mutations gives, of `change` records.

    change   [2, table id, fingerprint, transaction or nil, write time, rows, attributes or nil, …]

Errors are values, as in `scan.mutation.scan`: any bytes at all end in a status.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tailer.limits import ATTRS_BYTES_MAX
from tailer.scan.index import CELL, ROW, UPDATE, VALUE, Index, Lines, Status, Stopped, as_lines
from tailer.scan.mutation.scan import Offsets
from tailer.scan.record.heads import NIL, BadRecordError, head_at, is_map, read_array, read_bytes, read_int, skip
from tailer.scan.record.record import CHANGE, DEFINITION, KIND_IGNORABLE, STATE
from tailer.scan.record.rows import scan_row
from tailer.scan.record.times import read_time
from tailer.scan.record.walk import NO_TABLE, RecordScan
from tailer.scan.tables import ScanTables

TABLE_ID_BYTES: Final = 16
FINGERPRINT_BYTES: Final = 8
CHANGE_ELEMENTS: Final = 6
"""With the kind, without attributes."""

ATTRS_FIELDS: Final = ("entry", "off", "len")
ATTRS: Final = np.dtype([(field, np.int64) for field in ATTRS_FIELDS])

_LONG_KINDS: Final = range(0xCC, 0xD0)


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a scan found; `data`: what the offsets of `index` count in.

    `attrs`: a line for each entry with attributes (a msgpack map). `number`: the next change row of a transaction, else
    0.
    """

    index: Index
    data: bytes
    attrs: Lines
    number: int


def scan_records(
    data: bytes,
    starts: Offsets,
    sizes: Offsets,
    tables: ScanTables,
    first: int = 0,
    number_from: int | None = None,
) -> Scanned:
    """The index of the `change` records at `starts` (payload offsets in `data`) from number `first` on.

    `tables` are numbered by table id and fingerprint, 24 bytes. Other records give no lines, and neither do changes of
    a transaction, unless `number_from` says that these are the entries of one: rows are numbered from there on through
    all of them, those of tables that are not kept too. Where a kept table has a key of several columns, data are the
    bytes of these entries alone, with the keys put together behind them. Never raises for what the bytes hold.
    """
    low, high = extent(starts, sizes, first, len(data))
    moved = low if needs_keys(tables) else 0
    walk = RecordScan(data[low:high] if needs_keys(tables) else data, tables, number_from)
    for entry in range(first, len(starts)):
        walk.entry, walk.start = entry, int(starts[entry]) - moved
        walk.end, walk.table_number = walk.start + int(sizes[entry]), NO_TABLE
        if number_from is None:
            walk.number = 0
        marks = walk.marks()
        try:
            _scan_entry(walk)
        except BadRecordError as error:
            walk.go_back(marks)
            walk.stop(error)
            break
    else:
        walk.stopped = Stopped(Status.OK, len(starts))
    lines = as_lines(walk.updates, UPDATE), as_lines(walk.rows, ROW), as_lines(walk.values, VALUE)
    index = Index(*lines, as_lines(walk.cells, CELL), named(walk.stopped), walk.skipped)
    return Scanned(
        index, walk.data + walk.extra if walk.extra else walk.data, as_lines(walk.attrs, ATTRS), _number_of(walk)
    )


def _number_of(walk: RecordScan) -> int:
    return walk.number if walk.in_txn else 0


def needs_keys(tables: ScanTables) -> bool:
    """Whether keys have to be put together."""
    return any(table.kept and table.key > 1 for table in tables.tables)


def extent(starts: Offsets, sizes: Offsets, first: int, limit: int) -> tuple[int, int]:
    """Where the bytes of entries from number `first` on begin and end, up to `limit`."""
    if first >= len(starts):
        return 0, 0
    begins = np.asarray(starts[first:], np.int64)
    ends = begins + np.asarray(sizes[first:], np.int64)
    low = min(max(int(begins.min()), 0), limit)
    return low, max(low, min(int(ends.max()), limit))


def named(stopped: Stopped) -> Stopped:
    """With the length of the name where a table is not known."""
    return stopped._replace(name_len=TABLE_ID_BYTES) if stopped.status == Status.UNKNOWN_TABLE else stopped


def _scan_entry(walk: RecordScan) -> None:
    data, start, end = walk.data, walk.start, walk.end
    if start < 0 or end < start or end > len(data):
        raise BadRecordError(Status.TRUNCATED, start, end - start)
    head = head_at(data, start, end)
    if head & 0xF0 != 0x90:
        raise BadRecordError(Status.WRONG_TYPE, start, head)
    kind = head_at(data, start + 1, end)
    if kind == CHANGE:
        count = head & 0x0F
        if count < CHANGE_ELEMENTS:
            raise BadRecordError(Status.BAD_VALUE, start, count)
        _scan_change(walk, start + 2, count)
    elif not (DEFINITION <= kind <= STATE or KIND_IGNORABLE <= kind < 0x80 or kind in _LONG_KINDS):
        raise BadRecordError(Status.UNKNOWN_KIND, start + 1, kind)


def _scan_change(walk: RecordScan, at: int, count: int) -> None:
    data, end = walk.data, walk.end
    id_at = _read_exactly(walk, at, TABLE_ID_BYTES)
    print_at = _read_exactly(walk, id_at + TABLE_ID_BYTES, FINGERPRINT_BYTES)
    at = print_at + FINGERPRINT_BYTES
    if head_at(data, at, end) == NIL:
        at += 1
    else:
        at_txn = at
        txn, at = read_int(data, at, end)
        if txn < 0:
            raise BadRecordError(Status.BAD_VALUE, at_txn, txn)
        if not walk.in_txn:
            return
    kept = _find_table(walk, id_at, print_at)
    if not kept and not walk.in_txn:
        _count_skip(walk, id_at)
        return
    walk.write_ts, at = read_time(data, at, end)
    marks = walk.marks()
    rows, at = read_array(data, at, end)
    for _ in range(rows):
        at = scan_row(walk, at)
    at = _scan_attrs(walk, at, count)
    if at != end:
        raise BadRecordError(Status.WRONG_SIZE, at, end - at)
    if not kept:
        walk.go_back((*marks[:-1], walk.number))
        _count_skip(walk, id_at)


def _read_exactly(walk: RecordScan, at: int, size: int) -> int:
    """The offset of so many bytes."""
    off, length = read_bytes(walk.data, at, walk.end)
    if length != size:
        raise BadRecordError(Status.BAD_VALUE, at, length)
    return off


def _find_table(walk: RecordScan, id_at: int, print_at: int) -> bool:
    """Turns to the table of a change; whether its lines are kept."""
    tables = walk.tables
    table_id = walk.data[id_at : id_at + TABLE_ID_BYTES]
    number = tables.numbers.get(table_id + walk.data[print_at : print_at + FINGERPRINT_BYTES], NO_TABLE)
    if number != NO_TABLE and tables.tables[number].kept:
        walk.table_number, walk.table = number, tables.tables[number]
        walk.columns = walk.table.by_number
        return True
    if number == NO_TABLE and not (tables.skip_unknown and table_id not in tables.kept_heads):
        raise BadRecordError(Status.UNKNOWN_TABLE, id_at, 0)
    walk.table = None
    return False


def _count_skip(walk: RecordScan, id_at: int) -> None:
    table_id = walk.data[id_at : id_at + TABLE_ID_BYTES]
    walk.skipped[table_id] = walk.skipped.get(table_id, 0) + 1


def _scan_attrs(walk: RecordScan, at: int, count: int) -> int:
    """The offset behind attributes and all elements that are not known."""
    data, end = walk.data, walk.end
    if count == CHANGE_ELEMENTS:
        return at
    head = head_at(data, at, end)
    behind = skip(data, at, end)
    if is_map(head) and behind - at > ATTRS_BYTES_MAX:
        raise BadRecordError(Status.BAD_VALUE, at, behind - at)
    if is_map(head):
        walk.attrs += (walk.entry, at, behind - at)
    elif head != NIL:
        raise BadRecordError(Status.WRONG_TYPE, at, head)
    return skip(data, behind, end, count - CHANGE_ELEMENTS - 1)
