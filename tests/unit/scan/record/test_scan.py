"""Bytes of records, written down by hand, to lines of the index; and what has no lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tailer.scan import index as ix
from tailer.scan.index import Status
from tailer.scan.record.scan import Scanned
from tailer.scan.tables import ScanTables
from tests.unit.scan.record.packed import entry, pack
from tests.unit.scan.record.scanned import (
    ID,
    OTHER_ID,
    OTHER_PRINT,
    PAIR,
    PAIRS,
    PRINT,
    SINGLE,
    TABLES,
    TS,
    cell,
    change,
    row,
    scanned,
)

INSERT = bytes.fromhex(
    "97 02"
    "c410 000102030405060708090a0b0c0d0e0f"
    "c408 66696e6765727072"
    "c0"
    "cf 00060a24181e4000"
    "91 99 00  91 c4016b  91 c40163  c2  c0 c0 c0"
    "91 96 03 c404 00000007 c0 c0 c0 c0"
    "c0 c0"
)
"""One row `k`, `c` with `v` = 7."""


def ok(*payloads: bytes, **options: object) -> Scanned:
    found = scanned(*payloads, **options)  # type: ignore[arg-type]
    assert found.index.stopped.status == Status.OK, found.index.stopped
    return found


def bytes_at(found: Scanned, off: int, length: int) -> bytes:
    return found.data[off : off + length]


def test_an_insert_byte_by_byte() -> None:
    assert entry(change(row(cells=[cell(3, b"\0\0\0\7")]))) == INSERT
    found = ok(INSERT)
    # The payload lies at 6, behind "before".
    assert found.index.updates.tolist() == [(0, 0, 6 + 47 - 1, 1)]
    assert found.index.values.tolist() == [(6 + 50, 1)]
    assert found.index.cells.tolist() == [(1, 0, TS, 0, 0, 0, 0, 6 + 60, 4)]
    assert found.index.rows.tolist() == [(0, 0, ix.ROW_LINE, ix.HAS_TIMESTAMP, TS, 0, 0, ix.NO_DELETION, 0, 1, 0, 1)]
    assert bytes_at(found, *found.index.updates.tolist()[0][2:]) == b"k"
    assert bytes_at(found, *found.index.values.tolist()[0]) == b"c"
    assert bytes_at(found, *found.index.cells.tolist()[0][7:]) == b"\0\0\0\7"


def test_every_operation_has_its_lines_and_numbers() -> None:
    found = ok(
        entry(
            change(
                row(2, ts=5),
                row(0, ttl=60, expires=1000, cells=[cell(3, b"1234", 9, 30, 70), cell(4, None, 8)]),
                row(1, cells=[]),
                row(1, cells=[cell(3, None)]),
                row(1, clustering=None, static=True, cells=[cell(2, b"")]),
                row(3, clustering=None, bounds=[[b"a"], False, None, False]),
                row(4, clustering=None, ts=4),
            )
        )
    )
    none = ix.NO_DELETION
    fields = ["number", "kind", "flags", "ts", "ttl", "expires", "deletion", "clustering_n", "cells_n"]
    assert [tuple(line) for line in found.index.rows[fields].tolist()] == [
        (0, ix.ROW_LINE, ix.HAS_DELETION, none, 0, 0, 5, 1, 0),
        (1, ix.ROW_LINE, ix.HAS_TIMESTAMP | ix.HAS_TTL, TS, 60, 1000, none, 1, 2),
        (2, ix.ROW_LINE, 0, none, 0, 0, none, 1, 1),
        (3, ix.STATIC_ROW, 0, none, 0, 0, none, 0, 1),
        (4, ix.RANGE_START, 0, TS, 0, 0, none, 1, 0),
        (5, ix.RANGE_END, ix.CLOSE_INCLUSIVE, none, 0, 0, TS, 0, 0),
        (5, ix.PARTITION_DELETION, 0, none, 0, 0, 4, 0, 0),
    ]
    fields = ["column", "flags", "ts", "ttl", "expires", "value_len"]
    assert [tuple(line) for line in found.index.cells[fields].tolist()] == [
        (1, ix.CELL_EXPIRING, 9, 30, 70, 4),
        (2, ix.COMPLEX_DELETION, 8, 0, 0, 0),
        (1, ix.CELL_DELETED, TS, 0, 0, 0),
        (0, 0, TS, 0, 0, 0),
    ]


def test_elements() -> None:
    items = [[b"p", b"v", None, 5, 6], [b"qq", None, 3, None, None]]
    found = ok(entry(change(row(ts=7, cells=[cell(4, None, None, None, None, [6, items])]))))
    assert [(*line[:5], line[6], line[8]) for line in found.index.cells.tolist()] == [
        (2, ix.COMPLEX_DELETION, 6, 0, 0, 0, 0),
        (2, ix.CELL_EXPIRING, 7, 5, 6, 1, 1),
        (2, ix.CELL_DELETED, 3, 0, 0, 2, 0),
    ]
    put, removed = found.index.cells.tolist()[1:]
    assert bytes_at(found, *put[5:7]) + bytes_at(found, *put[7:]) == b"pv"
    assert bytes_at(found, *removed[5:7]) == b"qq"


def test_a_key_of_two_columns_is_put_together_behind_the_data() -> None:
    payload = entry(
        change(row(key=[b"ab", b""], clustering=None, cells=[cell(2, b"x")]), table=OTHER_ID, mark=OTHER_PRINT)
    )
    found = ok(payload, payload, tables=PAIRS)
    keys = [bytes_at(found, off, length) for _, _, off, length in found.index.updates.tolist()]
    assert keys == [b"\0\2ab\0\0\0\0"] * 2
    assert found.data == payload + b"\xcc\xcc\xcc\xcc" + payload + b"".join(keys)
    assert bytes_at(found, *found.index.cells.tolist()[1][7:]) == b"x"


@pytest.mark.parametrize("wide", range(5))
def test_numbers_lengths_and_arrays_of_any_width(wide: int) -> None:
    rows = [
        row(ts=1, ttl=2, expires=3, cells=[cell(3, b"1234", 4, 5, 6)]),
        row(3, clustering=None, bounds=[[], True] * 2),
    ]
    narrow, found = (ok(entry(change(*rows, ts=9), width)) for width in (0, wide))
    assert found.index.rows.tolist() == narrow.index.rows.tolist()
    assert [line[:5] for line in found.index.cells.tolist()] == [line[:5] for line in narrow.index.cells.tolist()]
    assert bytes_at(found, *found.index.cells.tolist()[0][7:]) == b"1234"


def test_what_is_not_known_is_passed_over() -> None:
    strange = [{"a": [1, -1.5, {"b": b"c"}]}, None]
    item = [b"p", b"v", None, None, None, *strange]
    elements = [None, [item], *strange]
    held = row(cells=[[*cell(3, b"1234"), *strange], [*cell(4, None, None, None, None, elements), *strange]])
    bounds = row(3, clustering=None, bounds=[None, True, [b"z"], True, *strange])
    found = ok(entry(change([*held, *strange], [*bounds, *strange], more=(None, *strange))))
    plain = ok(
        entry(
            change(
                row(cells=[cell(3, b"1234"), cell(4, None, None, None, None, [None, [item[:5]]])]),
                row(3, clustering=None, bounds=[None, True, [b"z"], True]),
            )
        )
    )
    assert found.index.rows.tolist() == plain.index.rows.tolist()
    assert len(found.index.cells) == len(plain.index.cells) == 2


def test_other_records_give_no_lines_and_newer_kinds_stop() -> None:
    others = [entry([kind, 1, bytes(8)]) for kind in (1, 3, 4, 5, 6, 7, 8, 64, 127)]
    long_kind = b"\x92\xcc\x80\xc4\x08" + bytes(8)
    found = ok(*others, long_kind, INSERT)
    assert found.index.updates["entry"].tolist() == [len(others) + 1]
    for kind in (0, 9, 63):
        stopped = scanned(INSERT, entry([kind, 1, bytes(8)])).index.stopped
        assert (stopped.status, stopped.entry, stopped.found) == (Status.UNKNOWN_KIND, 1, kind)


def test_a_transactions_rows_count_through_all_its_changes() -> None:
    payloads = [
        entry(change(row(), row(1), row(2), txn=7)),
        entry(change(row(key=[b"1", b"2"], clustering=None), table=OTHER_ID, mark=OTHER_PRINT, txn=7)),
        entry(change(row(4, clustering=None), txn=7)),
    ]
    tables = ScanTables((SINGLE,), skip_unknown=True)
    assert len(ok(*payloads, tables=tables).index.rows) == 0
    found = ok(*payloads, tables=tables, number_from=10)
    assert found.index.rows["number"].tolist() == [10, 11, 13]
    assert found.number == 14
    assert found.index.skipped == {OTHER_ID: 1}
    assert ok(*payloads[2:], tables=tables, number_from=13).index.rows["number"].tolist() == [13]


def test_tables_that_are_not_kept_are_counted_and_not_read() -> None:
    broken = entry(change(row(), table=OTHER_ID, mark=OTHER_PRINT))[:-20]
    left = replace(PAIR, kept=False)
    for tables in (ScanTables((SINGLE,), skip_unknown=True), ScanTables((SINGLE, left))):
        found = ok(broken, INSERT, broken, tables=tables)
        assert found.index.skipped == {OTHER_ID: 2}
        assert found.index.updates["entry"].tolist() == [1]


def test_an_unknown_definition_stops_with_the_tables_id() -> None:
    payload = entry(change(row(), mark=OTHER_PRINT))
    for tables in (TABLES, ScanTables((SINGLE,), skip_unknown=True)):
        found = scanned(INSERT, payload, tables=tables)
        stopped = found.index.stopped
        assert (stopped.status, stopped.entry) == (Status.UNKNOWN_TABLE, 1)
        assert bytes_at(found, stopped.name_off, stopped.name_len) == ID


def test_attributes_have_a_line() -> None:
    attrs = {"origin": 3}
    found = ok(INSERT, entry(change(row(), more=(attrs,))), entry(change(row(), more=())))
    ((number, off, length),) = found.attrs.tolist()
    assert (number, bytes_at(found, off, length)) == (1, pack(attrs))


WRONG = {
    "clustering values": (change(row(clustering=None)), Status.BAD_VALUE, 0),
    "key values": (change(row(key=[b"a", b"b"])), Status.BAD_VALUE, 2),
    "a null in the key": (change(row(key=[None])), Status.WRONG_TYPE, 0xC0),  # type: ignore[list-item]
    "a null in the clustering": (change(row(clustering=[None])), Status.WRONG_TYPE, 0xC0),  # type: ignore[list-item]
    "text for bytes": (change(row(cells=[cell(3, "x")])), Status.WRONG_TYPE, 0xA1),  # type: ignore[arg-type]
    "a key column's cell": (change(row(cells=[cell(1, b"x")])), Status.UNKNOWN_COLUMN, 1),
    "a column too many": (change(row(cells=[cell(5, b"x")])), Status.UNKNOWN_COLUMN, 5),
    "a column before all": (change(row(cells=[cell(-1, b"x")])), Status.UNKNOWN_COLUMN, -1),
    "a static column in a row": (change(row(cells=[cell(2, b"x")])), Status.BAD_VALUE, 2),
    "a regular one in a static row": (
        change(row(1, clustering=None, static=True, cells=[cell(3, b"x")])), Status.BAD_VALUE, 3,
    ),
    "a column twice": (change(row(cells=[cell(3, b"x"), cell(3, b"y")])), Status.BAD_VALUE, 3),
    "a whole value of a map": (change(row(cells=[cell(4, b"x")])), Status.BAD_VALUE, 4),
    "elements of a simple column": (
        change(row(cells=[cell(3, None, None, None, None, [None, []])])), Status.BAD_VALUE, 3,
    ),
    "no such operation": (change(row(5)), Status.BAD_VALUE, 5),
    "a static deletion": (change(row(2, clustering=None, static=True)), Status.BAD_VALUE, 2),
    "a deletion with cells": (change(row(2, cells=[cell(3, b"x")])), Status.BAD_VALUE, 1),
    "a range without bounds": (change(row(3, clustering=None)), Status.WRONG_TYPE, 0xC0),
    "bounds of a row": (change(row(bounds=[None, True, None, True])), Status.BAD_VALUE, 0x94),
    "a bound too long": (change(row(3, clustering=None, bounds=[[b"1", b"2"], True, None, True])), Status.BAD_VALUE, 2),
    "a ttl without its end": (change(row(ttl=5)), Status.BAD_VALUE, 5),
    "an end without ttl": (change(row(expires=5)), Status.BAD_VALUE, 5),
    "a ttl too large": (change(row(ttl=2**31, expires=1)), Status.BAD_VALUE, 2**31),
    "a timestamp too large": (change(row(ts=2**63)), Status.BAD_VALUE, 2**63),
    "the timestamp that means none": (change(row(ts=-(2**63))), Status.BAD_VALUE, -(2**63)),
    "a transaction below zero": (change(row(), txn=-1), Status.BAD_VALUE, -1),
    "a short table id": (change(row(), table=b"short"), Status.BAD_VALUE, 5),
    "attributes of another type": (change(row(), more=([1],)), Status.WRONG_TYPE, 0x91),
    "too many attributes": (change(row(), more=({"a": "x" * 60_000, "b": "x" * 10_000},)), Status.BAD_VALUE, 70_011),
    "too few elements": ([2, ID, PRINT, None, 1], Status.BAD_VALUE, 5),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_no_change_has_stops_with_a_status(name: str) -> None:
    what, status, value = WRONG[name]
    found = scanned(INSERT, entry(what))
    assert (found.index.stopped.status, found.index.stopped.entry, found.index.stopped.found) == (status, 1, value)
    assert found.index.updates["entry"].tolist() == [0]
    assert len(found.attrs) == 0


def test_values_too_deep_stop() -> None:
    deep: object = None
    for _ in range(33):
        deep = [deep]
    assert ok(entry(change(row(), more=(None, deep[0])))).index.stopped.status == Status.OK  # type: ignore[index]
    assert scanned(entry(change(row(), more=(None, deep)))).index.stopped.status == Status.TOO_DEEP


@pytest.mark.parametrize("head", ["dd ffffffff", "c6 ffffffff", "df ffffffff", "db ffffffff", "c9 ffffffff 00"])
def test_lengths_beyond_the_entry_take_no_memory(head: str) -> None:
    body = entry(change(row(), more=(None,)))
    stopped = scanned(bytes([0x98]) + body[1:] + bytes.fromhex(head)).index.stopped
    assert stopped.status == Status.TRUNCATED
    assert stopped.found >= 2**32 - 1


def test_bytes_behind_the_record_stop() -> None:
    stopped = scanned(INSERT + b"\0\0\0").index.stopped
    assert (stopped.status, stopped.found) == (Status.WRONG_SIZE, 3)
