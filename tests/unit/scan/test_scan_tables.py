"""Which entries are read, passed over or refused, by the tables they are of; and row numbers over all of them."""

from __future__ import annotations

from dataclasses import replace

from tailer.scan import index as ix
from tailer.scan.index import Status
from tailer.scan.mutation.scan import scan
from tailer.scan.tables import LENGTH_PREFIX, ScanColumn, ScanTable, ScanTables
from tests.unit.scan.mutations import FIRST, OTHER, TABLE, cell, ck, counted, deletion, mutation, update, vint
from tests.unit.scan.tables import EXAMPLE, PLAIN, TABLES, lines, ok, scanned

STRANGER = bytes(range(16))
ROW = b"\x24" + ck(b"a") + b"\x00"
WANTED = update(ROW)
UNWANTED = update(
    b"\x24\x00" + cell(0x08, b"\0\0\0\x01"), b"\x34\x00\x00\x00" + cell(0x08, b"\0\0\0\x01"), columns=["v"], table=OTHER
)
LOCAL = ScanTable(
    OTHER, (), {b"truncated_at": ScanColumn(0, LENGTH_PREFIX, True), b"x": ScanColumn(1, 4, False)}, True, truncations=0
)


def test_an_entry_of_an_unwanted_table_alone_is_passed_over_and_counted() -> None:
    index = ok(mutation(UNWANTED)[:-9], FIRST, mutation(UNWANTED))
    assert index.skipped == {OTHER: 2}
    assert lines(index.updates, "entry") == [1]


def test_one_of_several_tables_is_read_although_none_is_wanted() -> None:
    """Another of its tables may be one that no definition names."""
    index = ok(mutation(UNWANTED, UNWANTED))
    assert (index.skipped, len(index.updates), len(index.rows)) == ({OTHER: 1}, 0, 0)
    stopped = scanned(mutation(UNWANTED, update(table=STRANGER))).stopped
    assert (stopped.status, stopped.entry, stopped.kept_inside) == (Status.UNKNOWN_TABLE, 0, False)


def test_unwanted_updates_take_row_numbers_and_give_no_lines() -> None:
    index = ok(mutation(UNWANTED, WANTED, UNWANTED, WANTED))
    assert lines(index.rows, "update", "number") == [(0, 3), (1, 7)]
    assert lines(index.updates, "table") == [0, 0]
    assert len(index.cells) == 0
    assert index.skipped == {}


def test_an_unknown_table_stops_the_scan_with_everything_before_intact() -> None:
    stranger = mutation(update(table=STRANGER))
    index = scanned(FIRST, stranger, FIRST)
    stopped = index.stopped
    assert (stopped.status, stopped.entry, stopped.name_len, stopped.kept_inside) == (
        Status.UNKNOWN_TABLE,
        1,
        16,
        False,
    )
    assert stopped.name_off == len(FIRST) + 4 + 1
    assert lines(index.updates, "entry") == [0]
    assert lines(ok(FIRST, stranger, FIRST, first=2).updates, "entry") == [2]


def test_an_unknown_table_behind_a_wanted_one_may_lose_rows() -> None:
    index = scanned(mutation(WANTED, update(table=STRANGER)))
    assert index.stopped.status == Status.UNKNOWN_TABLE
    assert index.stopped.kept_inside
    assert len(index.updates) == len(index.rows) == len(index.values) == len(index.cells) == 0


def test_a_table_that_cannot_be_read_is_passed_over_where_it_stands_alone() -> None:
    tables = replace(TABLES, unusable=frozenset([STRANGER]))
    stranger = update(table=STRANGER)
    index = scanned(mutation(stranger), mutation(stranger, WANTED), tables=tables)
    assert index.skipped == {STRANGER: 1}
    assert (index.stopped.status, index.stopped.entry, index.stopped.kept_inside) == (Status.UNKNOWN_TABLE, 1, True)


def test_tables_of_a_keyspace_of_which_nothing_is_wanted_are_passed_over() -> None:
    tables = replace(TABLES, unread=frozenset([STRANGER]))
    index = ok(mutation(update(table=STRANGER)), mutation(update(table=STRANGER), UNWANTED), tables=tables)
    assert index.skipped == {STRANGER: 2}


def test_a_bad_entry_takes_none_of_its_lines_along() -> None:
    good, bad = mutation(WANTED), mutation(WANTED, WANTED) + b"\0"
    index = scanned(good, bad)
    assert (index.stopped.status, index.stopped.entry, index.stopped.found) == (Status.WRONG_SIZE, 1, 1)
    assert [len(array) for array in (index.updates, index.rows, index.values)] == [1, 1, 1]


def test_truncations_take_the_numbers_before_the_updates_own_rows() -> None:
    cells = cell(0x08, counted(TABLE), counted(bytes(20))) + cell(0x08, counted(OTHER), counted(bytes(20)))
    gone = cell(0x0D, vint(0), counted(STRANGER))
    row = b"\x64\x00" + deletion(0) + vint(3) + cells + gone
    local = update(row, columns=["truncated_at"], table=OTHER)
    index = ok(mutation(local, WANTED), tables=ScanTables((EXAMPLE, LOCAL)))
    assert lines(index.rows, "number") == [2, 3]
    index = ok(mutation(local, WANTED), tables=ScanTables((EXAMPLE, replace(LOCAL, kept=False))))
    assert lines(index.rows, "number") == [3]


def test_offsets_are_those_of_the_buffer() -> None:
    data = b"\xee" * 7 + FIRST
    index = scan(data, [7], [len(FIRST)], ScanTables((EXAMPLE, PLAIN)))
    assert index.cells["value_off"].tolist() == [49]
    assert index.rows["kind"].tolist() == [ix.ROW_LINE]
