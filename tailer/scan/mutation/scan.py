"""Scan: walks mutations (format page 5) once and notes where everything lies. Knows the format and no output.

Errors are values: the scan stops at the first entry that does not decode, with all before it whole, and says why and
where; it goes on from any later entry when called again. Any bytes at all end in a status.

    mutation   count of updates, vint | updates, which end where the payload does
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tailer.framing.vint import read_vint
from tailer.scan.index import CELL, ROW, UPDATE, VALUE, Index, Status, Stopped, as_lines
from tailer.scan.mutation.update import scan_update
from tailer.scan.mutation.walk import FAILED, SLACK, MutationScan
from tailer.scan.tables import ScanTables

Offsets = Sequence[int] | npt.NDArray[np.int64]

TABLE_ID_BYTES: Final = 16


def scan(
    data: bytes, starts: Offsets, sizes: Offsets, tables: ScanTables, first: int = 0, unsigned_times: bool = False
) -> Index:
    """The index of the mutations at `starts` (payload offsets in `data`) from number `first` on.

    `unsigned_times`: local times are unsigned (descriptor 8). Data without SLACK bytes behind the last payload are
    copied once. Never raises for what the bytes hold.
    """
    starts, sizes = _plain(starts), _plain(sizes)
    walk = MutationScan(_with_slack(data, starts, sizes), tables, unsigned_times)
    for entry in range(first, len(starts)):
        lengths = (len(walk.updates), len(walk.rows), len(walk.values), len(walk.cells))
        walk.entry = entry
        if _scan_entry(walk, starts[entry], sizes[entry], len(data)) == FAILED:
            _drop_lines(walk, *lengths)
            break
    else:
        walk.stopped = Stopped(Status.OK, len(starts))
    return Index(
        as_lines(walk.updates, UPDATE),
        as_lines(walk.rows, ROW),
        as_lines(walk.values, VALUE),
        as_lines(walk.cells, CELL),
        walk.stopped,
        walk.skipped,
    )


def _plain(numbers: Offsets) -> Sequence[int]:
    # numpy's own integers would carry through every addition, and overflow.
    plain: Sequence[int] = numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
    return plain


def _with_slack(data: bytes, starts: Sequence[int], sizes: Sequence[int]) -> bytes:
    if starts and starts[-1] + sizes[-1] + SLACK > len(data):
        return bytes(data) + bytes(SLACK)
    return bytes(data)


def _scan_entry(walk: MutationScan, start: int, size: int, limit: int) -> int:
    walk.table_number = -1
    walk.number = 0
    walk.start = start
    walk.end = end = start + size
    if start < 0 or size < 0 or end > limit:
        return walk.fail(Status.TRUNCATED, start, size)
    count, at = walk.data[start], start + 1
    if count >= 0x80:
        count, at = read_vint(walk.data, start)
    if count == 0:
        return walk.fail(Status.BAD_VALUE, start)
    if _skip(walk, at, count):
        return end
    table_id, updates = walk.data[at : at + TABLE_ID_BYTES], len(walk.updates)
    for _ in range(count):
        at = scan_update(walk, at)
        if at == FAILED:
            _look_for_kept(walk, start)
            return FAILED
    if at != end:
        return walk.fail(Status.WRONG_SIZE, at, end - at)
    if len(walk.updates) == updates:
        walk.skipped[table_id] = walk.skipped.get(table_id, 0) + 1
    return end


def _skip(walk: MutationScan, at: int, count: int) -> bool:
    """Whether the entry is passed over unread: it is known that no update in it is of a kept table.

    An entry of several tables is read, although its first one is not kept: a table that no definition names may be
    among the others, and that must not be passed over.
    """
    tables = walk.tables
    table_id = walk.data[at : at + TABLE_ID_BYTES]
    number = tables.numbers.get(table_id)
    if number is not None and tables.tables[number].kept:
        return False
    alone = count == 1 and (number is not None or table_id in tables.unusable)
    passed = alone or (number is None and table_id in tables.unread)
    if passed:
        walk.skipped[table_id] = walk.skipped.get(table_id, 0) + 1
    return passed


def _holds_kept(walk: MutationScan, start: int) -> bool:
    find = walk.data.find
    return any(find(table_id, start, walk.end) >= 0 for table_id in walk.tables.kept_ids)


def _look_for_kept(walk: MutationScan, start: int) -> None:
    if walk.stopped.status == Status.UNKNOWN_TABLE:
        walk.stopped = walk.stopped._replace(kept_inside=_holds_kept(walk, start))


def _drop_lines(walk: MutationScan, updates: int, rows: int, values: int, cells: int) -> None:
    del walk.updates[updates:], walk.rows[rows:], walk.values[values:], walk.cells[cells:]
