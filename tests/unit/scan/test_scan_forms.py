"""Every form of format page 5 that the worked examples do not have."""

from __future__ import annotations

import pytest

from tailer.scan import index as ix
from tailer.scan.index import NO_DELETION, Status
from tailer.scan.tables import LENGTH_PREFIX, ScanColumn, ScanTable, ScanTables
from tests.unit.scan.mutations import NOW, TABLE, T, cell, ck, counted, deletion, marker, mutation, update, vint
from tests.unit.scan.tables import M, V, lines, ok, scanned, status

INT = b"\0\0\0\x07"


def wide(count: int) -> ScanTables:
    columns = {f"c{number:03}".encode(): ScanColumn(number, 1, False) for number in range(count)}
    return ScanTables((ScanTable(TABLE, (), columns, True),))


def wide_row(count: int, subset: bytes, present: int) -> bytes:
    columns = [f"c{number:03}" for number in range(count)]
    return mutation(update(b"\x00" + subset + b"\x00\x00\x2a" * present, columns=columns))


def test_an_empty_update_has_no_rows() -> None:
    assert len(ok(mutation(TABLE + b"\x04\0\0\0\x01" + b"\x01")).rows) == 0


def test_a_partition_deletion_stands_first() -> None:
    index = ok(mutation(update(b"\x24" + ck(b"a") + b"\x05", deletion=deletion(3))))
    assert lines(index.rows, "number", "kind", "deletion") == [
        (0, ix.PARTITION_DELETION, T + 3),
        (1, ix.ROW_LINE, NO_DELETION),
    ]


def test_a_row_with_deletion_and_data_takes_two_numbers() -> None:
    both = b"\x34" + ck(b"a") + b"\x01" + deletion(0)
    only = b"\x30" + ck(b"b") + deletion(2)
    index = ok(mutation(update(both, only, only)))
    assert lines(index.rows, "number", "flags", "ts", "deletion") == [
        (0, ix.HAS_TIMESTAMP | ix.HAS_DELETION, T + 1, T),
        (2, ix.HAS_DELETION, NO_DELETION, T + 2),
        (3, ix.HAS_DELETION, NO_DELETION, T + 2),
    ]


def test_a_row_with_nothing_gives_no_line_and_takes_no_number() -> None:
    empty = b"\x00" + ck(b"a") + b"\x01"
    written = b"\x24" + ck(b"b") + b"\x00" + cell(0x08, INT)
    index = ok(mutation(update(empty, written, columns=["v"])))
    assert lines(index.rows, "number", "cells_n") == [(0, 1)]


def test_a_static_row_with_nothing_gives_none_either() -> None:
    index = ok(mutation(update(columns=[], statics=["m"], static_row=b"\xa0\x01\x00")))
    assert len(index.rows) == len(index.cells) == 0


def test_a_shadowable_deletion_is_a_row_deletion() -> None:
    index = ok(mutation(update(b"\xb0\x02" + ck(b"a") + deletion(9))))
    assert lines(index.rows, "kind", "flags", "deletion") == [(ix.ROW_LINE, ix.HAS_DELETION, T + 9)]


def test_an_expired_liveness_of_a_view() -> None:
    row = b"\x2c" + ck(b"a") + b"\x00" + vint(2147483647) + vint(5)
    assert lines(ok(mutation(update(row))).rows, "ts", "ttl", "expires") == [(T, 2147483647, NOW + 5)]


@pytest.mark.parametrize("ldt", [2**31 - 1, 2**32 - 1])
def test_a_live_complex_deletion_is_none_whatever_its_local_time(ldt: int) -> None:
    live = vint(-(2**63) - T) + vint(ldt - NOW)
    row = b"\x64" + ck(b"a") + b"\x00" + live + vint(1) + cell(0x08, counted(b"k"), counted(INT))
    index = ok(mutation(update(row, columns=["m"])))
    assert lines(index.cells, "column", "flags", "ts") == [(M, 0, T)]


def test_a_complex_deletion_without_cells() -> None:
    row = b"\x60" + ck(b"a") + deletion(1) + vint(0)
    assert lines(ok(mutation(update(row, columns=["m"]))).cells, "column", "flags", "ts") == [
        (M, ix.COMPLEX_DELETION, T + 1)
    ]


def test_a_cell_ttl_other_than_the_rows_is_local_time_first() -> None:
    row = b"\x2c" + ck(b"a") + b"\x00" + vint(60) + vint(60) + cell(0x02, vint(1), vint(70), vint(10), INT)
    index = ok(mutation(update(row, columns=["v"])))
    assert lines(index.cells, "ts", "ttl", "expires") == [(T + 1, 10, NOW + 70)]


@pytest.mark.parametrize("base", [NOW, 4102444800])
def test_local_times_beyond_2038(base: int) -> None:
    row = b"\x2c" + ck(b"a") + b"\x00" + vint(60) + vint(_signed32(4102444800 - base))
    payload = mutation(update(row, ldt=_signed32(base - 1442880000) + 1442880000))
    assert lines(ok(payload, unsigned_times=True).rows, "expires") == [4102444800]
    assert lines(ok(payload).rows, "expires") == [4294967294]


def test_the_bytes_of_the_page_for_2100() -> None:
    assert vint(_signed32(4102444800 - NOW)).hex() == "ffffffffff8f326600"
    assert vint(_signed32(4102444800 - 1442880000)).hex() == "ffffffffff9e85bd00"


def _signed32(value: int) -> int:
    value &= 2**32 - 1
    return value if value < 2**31 else value - 2**32


@pytest.mark.parametrize("timestamp", [-(2**63) + 1, -1, 0, 2**63 - 1])
def test_timestamps_wrap(timestamp: int) -> None:
    index = ok(mutation(update(b"\x24" + ck(b"a") + vint(timestamp - T))))
    assert lines(index.rows, "ts") == [timestamp]


def test_a_bitmap_names_the_missing_columns() -> None:
    index = ok(wide_row(63, vint(2**63 - 1 - (1 << 2) - (1 << 62)), 2), tables=wide(63))
    assert lines(index.cells, "column") == [2, 62]


def test_many_columns_name_the_present_ones_if_they_are_few() -> None:
    index = ok(wide_row(64, vint(62) + vint(3) + vint(60), 2), tables=wide(64))
    assert lines(index.cells, "column") == [3, 60]


@pytest.mark.parametrize("count", [64, 65])
def test_many_columns_name_the_missing_ones_else(count: int) -> None:
    missing = [0, count - 1]
    subset = vint(2) + b"".join(map(vint, missing))
    index = ok(wide_row(count, subset, count - 2), tables=wide(count))
    assert lines(index.cells, "column") == list(range(1, count - 1))


def test_the_half_counts_as_many() -> None:
    subset = vint(33) + b"".join(map(vint, range(31)))
    index = ok(wide_row(64, subset, 31), tables=wide(64))
    assert lines(index.cells, "column") == list(range(31))
    subset = vint(32) + b"".join(map(vint, range(32)))
    index = ok(wide_row(64, subset, 32), tables=wide(64))
    assert lines(index.cells, "column") == list(range(32, 64))


def test_clustering_values_in_two_blocks_empty_and_null() -> None:
    tables = ScanTables((ScanTable(TABLE, (1,) * 32 + (LENGTH_PREFIX,) * 2, {}, True),))
    first = vint(1 << 2) + bytes(range(31))
    second = vint(2 << 2) + counted(b"xyz")
    index = ok(mutation(update(b"\x24" + first + second + b"\x00")), tables=tables)
    assert lines(index.values, "len") == [1, 0] + [1] * 30 + [3, ix.NULL_LENGTH]


def test_bounds_of_all_kinds_and_sizes() -> None:
    unfiltereds = (
        marker(1, [], deletion(1)),
        marker(2, [b"a"], deletion(1), deletion(2)),
        marker(5, [b"b"], deletion(2), deletion(3)),
        marker(0, [b"c"], deletion(3)),
        marker(7, [b"d"], deletion(4)),
        marker(6, [], deletion(4)),
    )
    index = ok(mutation(update(*unfiltereds)))
    assert lines(index.rows, "number", "kind", "flags", "deletion", "ts", "clustering_n") == [
        (0, ix.RANGE_START, ix.OPEN_INCLUSIVE, NO_DELETION, T + 1, 0),
        (1, ix.RANGE_BOUNDARY, ix.OPEN_INCLUSIVE, T + 1, T + 2, 1),
        (2, ix.RANGE_BOUNDARY, ix.CLOSE_INCLUSIVE, T + 2, T + 3, 1),
        (3, ix.RANGE_END, 0, T + 3, NO_DELETION, 1),
        (3, ix.RANGE_START, 0, NO_DELETION, T + 4, 1),
        (4, ix.RANGE_END, ix.CLOSE_INCLUSIVE, T + 4, NO_DELETION, 0),
    ]


def test_a_column_that_differs_from_the_last_list_is_read_anew() -> None:
    one = mutation(update(b"\x24" + ck(b"a") + b"\x00" + cell(0x08, INT), columns=["v"]))
    other = mutation(update(b"\x24" + ck(b"a") + b"\x00" + vint(0), columns=["m"]))
    index = ok(one, other, one)
    assert lines(index.cells, "column") == [V, V]


SCANT: dict[str, tuple[bytes, Status]] = {
    "no update at all": (b"\x00", Status.BAD_VALUE),
    "reversed": (mutation(TABLE + b"\x04\0\0\0\x01" + b"\x12"), Status.BAD_FLAGS),
    "bytes left over": (mutation(update()) + b"\x00", Status.WRONG_SIZE),
    "one update too few": (vint(2) + update(), Status.TRUNCATED),
    "a column twice": (mutation(update(columns=["v", "v"])), Status.BAD_VALUE),
    "no such column": (mutation(update(columns=["nope"])), Status.UNKNOWN_COLUMN),
    "a key column in the list": (mutation(update(columns=["ck"])), Status.UNKNOWN_COLUMN),
    "more columns than bytes": (mutation(update())[:-3] + vint(2**60), Status.TRUNCATED),
    "a TTL without timestamp": (mutation(update(b"\x28" + ck(b"a"))), Status.BAD_FLAGS),
    "a static row among the rows": (mutation(update(b"\xa0\x01")), Status.BAD_FLAGS),
    "an end with other flags": (mutation(update(b"\x05")), Status.BAD_FLAGS),
    "a bound of kind 4": (mutation(update(marker(4, []))), Status.BAD_VALUE),
    "a bound of more values than columns": (mutation(update(marker(1, [b"a", b"b"], deletion(0)))), Status.BAD_VALUE),
    "an end alone": (mutation(update(marker(0, [b"a"], deletion(0)))), Status.UNPAIRED_BOUND),
    "a start alone": (mutation(update(marker(1, [b"a"], deletion(0)))), Status.UNPAIRED_BOUND),
    "two starts": (mutation(update(*[marker(1, [b"a"], deletion(0))] * 2)), Status.UNPAIRED_BOUND),
    "clustering null and empty": (mutation(update(b"\x24\x03")), Status.BAD_FLAGS),
    "clustering header of more values": (mutation(update(b"\x24\x04\x01a\x00")), Status.BAD_FLAGS),
    "a subset of more columns": (mutation(update(b"\x04" + ck(b"a") + b"\x00\x02", columns=["v"])), Status.BAD_VALUE),
    "tombstone that expires": (mutation(update(b"\x20" + ck(b"a") + b"\x03", columns=["v"])), Status.BAD_FLAGS),
    "row timestamp without one": (mutation(update(b"\x20" + ck(b"a") + b"\x08", columns=["v"])), Status.BAD_FLAGS),
    "row TTL without one": (mutation(update(b"\x24" + ck(b"a") + b"\x00\x1a", columns=["v"])), Status.BAD_FLAGS),
    "a negative TTL": (mutation(update(b"\x2c" + ck(b"a") + b"\x00" + vint(-1) + b"\0")), Status.BAD_VALUE),
}


@pytest.mark.parametrize(("payload", "answer"), SCANT.values(), ids=SCANT)
def test_what_no_server_writes(payload: bytes, answer: Status) -> None:
    assert status(payload) == answer


def test_the_index_tells_the_unknown_column() -> None:
    payload = mutation(update(columns=["nope"]))
    stopped = scanned(payload).stopped
    assert payload[stopped.name_off : stopped.name_off + stopped.name_len] == b"nope"
    assert (stopped.table, stopped.start, stopped.size) == (0, 0, len(payload))
