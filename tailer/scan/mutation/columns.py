"""Column lists and subsets of an update (format page 5.4).

list     count | for each: name length | name
subset   of fewer than 64 columns: a vint with a bit for each that is missing, the first one lowest
         else: count of the missing | numbers of those there if they are less than half, else of the missing
"""

from __future__ import annotations

from typing import Final

from tailer.framing.vint import read_vint
from tailer.limits import COLUMNS_MAX
from tailer.scan.index import Status
from tailer.scan.mutation.walk import FAILED, Columns, MutationScan
from tailer.scan.tables import ScanColumn

_BITMAP_COLUMNS: Final = 64
"""From this many columns on a subset is a list of numbers instead of a bitmap."""


def scan_column_list(walk: MutationScan, at: int, is_static: bool) -> tuple[int, Columns]:
    """The offset behind the list at `at`, or FAILED; and its columns.

    One statement writes the same list over and over: the last one of each table is recognised by its bytes.
    """
    key = walk.table_number * 2 + is_static
    known = walk.column_lists.get(key)
    if known is not None and walk.data.startswith(known[0], at, walk.end):
        return at + len(known[0]), known[1]
    after, columns = _read_list(walk, at)
    if after != FAILED:
        walk.column_lists[key] = (walk.data[at:after], columns)
    return after, columns


def _read_list(walk: MutationScan, at: int) -> tuple[int, Columns]:
    data, end = walk.data, walk.end
    count, at = read_vint(data, at)
    if count > end - at:
        return walk.fail(Status.TRUNCATED, at, count), ()
    if count > COLUMNS_MAX:
        return walk.fail(Status.BAD_VALUE, at, count), ()
    columns: list[ScanColumn] = []
    by_name = walk.table.columns
    for _ in range(count):
        length, at = read_vint(data, at)
        if length > end - at:
            return walk.fail(Status.TRUNCATED, at, length), ()
        column = by_name.get(data[at : at + length])
        if column is None:
            return walk.fail(Status.UNKNOWN_COLUMN, at, name_len=length), ()
        columns.append(column)
        at += length
    if len(set(columns)) != count:
        return walk.fail(Status.BAD_VALUE, at, count), ()
    return at, tuple(columns)


def scan_subset(walk: MutationScan, at: int, columns: Columns) -> tuple[int, Columns]:
    """The offset behind the subset at `at`, or FAILED; and those of `columns` that the row has."""
    missing, after = read_vint(walk.data, at)
    if missing == 0:
        return after, columns
    if len(columns) >= _BITMAP_COLUMNS:
        return _read_numbers(walk, after, columns, missing)
    if missing >> len(columns):
        return walk.fail(Status.BAD_VALUE, at, missing), ()
    return after, tuple(column for bit, column in enumerate(columns) if not missing >> bit & 1)


def _read_numbers(walk: MutationScan, at: int, columns: Columns, missing: int) -> tuple[int, Columns]:
    present = len(columns) - missing
    if present < 0:
        return walk.fail(Status.BAD_VALUE, at, missing), ()
    names_present = present < len(columns) // 2
    numbers: list[int] = []
    last = -1
    for _ in range(present if names_present else missing):
        if at >= walk.end:
            return walk.fail(Status.TRUNCATED, at), ()
        number, at = read_vint(walk.data, at)
        if not last < number < len(columns):
            return walk.fail(Status.BAD_VALUE, at, number), ()
        numbers.append(number)
        last = number
    if names_present:
        return at, tuple(columns[number] for number in numbers)
    gone = set(numbers)
    return at, tuple(column for number, column in enumerate(columns) if number not in gone)
