"""Changes that count at once, and those of transactions, as rows; expected values are written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailer.errors import LossError
from tests.helpers.logs.codecs import FORMATS
from tests.helpers.logs.native import (
    DELETE_PARTITION,
    DELETE_RANGE,
    DELETE_ROW,
    STATE_BYTES,
    UPDATE,
    NativeTable,
    NativeWriter,
    begin,
    cell,
    commit,
    rollback,
    rollback_to,
    row,
    savepoint,
)
from tests.native.logs import NAME, NOTES, ORDERS, folder_of, number, put, rows_of, short

BOTH = ["shop.orders", "shop.notes"]


def test_a_row_has_every_column_of_a_change_row(tmp_path: Path) -> None:
    log = NativeWriter(7)
    place = log.section([ORDERS.definition, put(1, "one", ts=5, attrs={"primary": True, "origin": "eu"})])
    (found,) = rows_of(folder_of(tmp_path, log))
    offset = place.entries[1].start
    assert found == {
        "node": "local",
        "keyspace": "shop",
        "table": "orders",
        "table_id": "00010203-0405-0607-0809-0a0b0c0d0e0f",
        "op": "insert",
        "partition_key": {"id": 1},
        "clustering": None,
        "is_static": False,
        "columns": {"v": "one"},
        "range": None,
        "write_ts": 5,
        "ttl": None,
        "expires_at": None,
        "cells": None,
        "token": -4069959284402364209,  # of int 1, as a server computes it
        "segment": 7,
        "offset": offset,
        "row": 0,
        "event_id": f"local:7:{offset}:0",
        "txn": None,
        "attrs": {"primary": True, "origin": "eu"},
    }


def test_all_operations_of_one_change_are_numbered_in_order(tmp_path: Path) -> None:
    log = NativeWriter(7)
    bounds = [[number(1)], True, None, True]
    tracked = NativeTable(NOTES.id, NOTES.keyspace, NOTES.name, NOTES.columns)
    rows = [
        row(DELETE_PARTITION, [number(1)], None),
        [DELETE_RANGE, [number(1)], None, False, None, None, None, [], bounds],
        row(DELETE_ROW, [number(1)], [number(2)]),
        row(UPDATE, [number(1)], [number(3)], [cell(2, None)]),
    ]
    log.section([tracked.definition, tracked.change(rows)])
    found = rows_of(folder_of(tmp_path, log))
    assert [(each["op"], each["row"], each["clustering"], each["columns"]) for each in found] == [
        ("delete_partition", 0, None, None),
        ("delete_range", 1, None, None),
        ("delete_row", 2, {"at": 2}, None),
        ("update", 3, {"at": 3}, {"v": None}),
    ]
    assert found[1]["range"] == {"start": {"at": 1}, "start_inclusive": True, "end": None, "end_inclusive": True}


def test_a_transaction_comes_at_its_commit_among_the_changes_around_it(tmp_path: Path) -> None:
    first, second = NativeWriter(7), NativeWriter(8)
    one = first.section([ORDERS.definition, put(1, "before")])
    opened = (7, first.frame.end)
    two = first.section([begin(5), put(2, "in", txn=5), put(3, "between")], restart=opened)
    three = second.section([ORDERS.definition, put(4, "in too", txn=5), commit(5, opened, 2), put(5, "after")])
    at = f"8:{three.entries[2].start}"
    assert short(rows_of(folder_of(tmp_path, first, second))) == [
        ("insert", 1, "before", f"7:{one.entries[1].start}", 0, None),
        ("insert", 3, "between", f"7:{two.entries[2].start}", 0, None),
        ("insert", 2, "in", at, 0, f"{NAME}-5"),
        ("insert", 4, "in too", at, 1, f"{NAME}-5"),
        ("insert", 5, "after", f"8:{three.entries[3].start}", 0, None),
    ]


def test_transactions_come_in_the_order_of_their_commits(tmp_path: Path) -> None:
    log = NativeWriter(7)
    opened = (7, log.frame.end)
    log.section([ORDERS.definition, put(1, "a", txn=1), put(2, "b", txn=2), put(3, "a", txn=1)], restart=opened)
    place = log.section([commit(2, opened, 1), commit(1, opened, 2)])
    ends = [f"7:{entry.start}" for entry in place.entries]
    assert short(rows_of(folder_of(tmp_path, log))) == [
        ("insert", 2, "b", ends[0], 0, f"{NAME}-2"),
        ("insert", 1, "a", ends[1], 0, f"{NAME}-1"),
        ("insert", 3, "a", ends[1], 1, f"{NAME}-1"),
    ]


def test_what_was_rolled_back_or_never_committed_gives_no_row(tmp_path: Path) -> None:
    log = NativeWriter(7)
    start = log.frame.end
    log.section([ORDERS.definition, put(1, "gone", txn=1), put(2, "open", txn=2), rollback(1)], restart=(7, start))
    log.section([put(3, "kept")])
    assert [each[2] for each in short(rows_of(folder_of(tmp_path, log)))] == ["kept"]


def test_rollback_to_a_savepoint_takes_back_what_came_after_it(tmp_path: Path) -> None:
    log = NativeWriter(7)
    start = (7, log.frame.end)
    log.section([ORDERS.definition, put(1, "a", txn=1)], restart=start)
    inner = log.section([savepoint(1, "s"), put(2, "b", txn=1), savepoint(1, "t"), put(3, "c", txn=1)], restart=start)
    log.section([rollback_to(1, (7, inner.entries[2].start)), put(4, "d", txn=1)], restart=start)
    log.section([rollback_to(1, (7, inner.entries[0].start)), put(5, "e", txn=1), commit(1, start, 2)])
    assert [each[1:3] + each[4:5] for each in short(rows_of(folder_of(tmp_path, log)))] == [(1, "a", 0), (5, "e", 1)]


def test_a_savepoint_before_the_first_tracked_change_voids_all_of_it(tmp_path: Path) -> None:
    log = NativeWriter(7)
    log.section([NOTES.definition, begin(1), saved := savepoint(1, "s")])
    mark = next(entry for entry in log.frame.entries if entry.payload == saved)
    first = (7, log.frame.end)
    log.section([ORDERS.definition, put(1, "void", txn=1)], restart=first)
    log.section([rollback_to(1, (7, mark.start)), put(2, "kept", txn=1), commit(1, first, 1)])
    assert [each[1:3] + each[4:5] for each in short(rows_of(folder_of(tmp_path, log)))] == [(2, "kept", 0)]


def test_a_first_tracked_change_that_is_taken_back_is_none(tmp_path: Path) -> None:
    """What follows of a table without cdc is not counted then, though it lies behind it in the section of `first`."""
    log = NativeWriter(7)
    start = (7, log.frame.end)
    before = [NOTES.definition, ORDERS.definition, begin(1)]
    saved = (7, log.frame.end + 8 + sum(len(payload) + 12 for payload in before))
    untracked = put(9, "untracked", txn=1, table=NOTES)
    after = [put(1, "void", txn=1), rollback_to(1, saved), untracked, put(2, "kept", txn=1), commit(1, start, 1)]
    place = log.section([*before, savepoint(1, "s"), *after])
    assert place.entries[3].start == saved[1]
    found = short(rows_of(folder_of(tmp_path, log), tables=BOTH))
    assert [each[1:3] + each[4:5] for each in found] == [(2, "kept", 0)]


def test_rows_are_counted_from_the_first_tracked_change_on_through_all_tables(tmp_path: Path) -> None:
    log = NativeWriter(7)
    start = (7, log.frame.end)
    early = put(9, "untracked, before", txn=1, table=NOTES)
    late = put(8, "untracked, between", txn=1, table=NOTES)
    log.section([NOTES.definition, ORDERS.definition, early, put(1, "a", txn=1), late, put(2, "b", txn=1)], start)
    log.section([commit(1, start, 3)])
    folder = folder_of(tmp_path, log)
    assert [each[1:3] + each[4:5] for each in short(rows_of(folder))] == [(1, "a", 0), (2, "b", 2)]
    assert short(rows_of(folder, tables=["shop.*"])) == short(rows_of(folder)), "a glob takes those that capture"
    both = short(rows_of(folder, tables=BOTH))
    assert [each[1:3] + each[4:5] for each in both] == [(1, "a", 0), (8, "untracked, between", 1), (2, "b", 2)]


def test_a_commit_without_tracked_changes_gives_nothing(tmp_path: Path) -> None:
    log = NativeWriter(7)
    start = (7, log.frame.end)
    log.section([NOTES.definition, put(1, "x", txn=1, table=NOTES), commit(1, None, 0, first_any=start)])
    assert rows_of(folder_of(tmp_path, log), tables=["shop.notes"]) == []


def test_the_same_id_of_another_run_of_the_writer_is_another_transaction(tmp_path: Path) -> None:
    dead, alive = NativeWriter(7, boot="f" * 16), NativeWriter(8)
    start = (7, dead.frame.end)
    dead.section([ORDERS.definition, put(1, "of the dead", txn=1)], restart=start)
    begun = (8, alive.frame.end)
    alive.section([ORDERS.definition, put(2, "alive", txn=1), commit(1, begun, 1)])
    assert [each[1:3] for each in short(rows_of(folder_of(tmp_path, dead, alive)))] == [(2, "alive")]


def test_a_wrong_number_of_changes_is_a_loss(tmp_path: Path) -> None:
    log = NativeWriter(7)
    start = (7, log.frame.end)
    place = log.section([ORDERS.definition, put(1, "a", txn=1), commit(1, start, 2), put(2, "after")])
    folder = folder_of(tmp_path, log)
    with pytest.raises(LossError) as caught:
        rows_of(folder)
    assert caught.value.at == (7, place.entries[2].start)
    assert "had 2 changes, and 1 of them are in the log" in str(caught.value)
    assert [each[2] for each in short(rows_of(folder, accept_loss=True))] == ["after"]


@pytest.mark.parametrize("form", ["plain", "lz4", "zstd"])
def test_every_way_of_compressing_gives_the_same_rows(tmp_path: Path, form: str) -> None:
    log = NativeWriter(7, form=FORMATS[form])
    start = (7, log.frame.end)
    log.section([ORDERS.definition, put(1, "a" * 500, txn=1)], restart=start)
    log.section([put(2, "b"), commit(1, start, 1)])
    assert [each[1:3] for each in short(rows_of(folder_of(tmp_path, log)))] == [(2, "b"), (1, "a" * 500)]


def test_a_large_transaction_among_others_is_read_from_its_runs(tmp_path: Path) -> None:
    """More changes than are listed one by one, in sections between those of another transaction."""
    log = NativeWriter(7)
    start = (7, log.frame.end)
    log.section([ORDERS.definition, begin(1), begin(2)], restart=start)
    for part in range(30):
        mine = [put(part * 100 + at, "x" * 2000, txn=1) for at in range(100)]
        log.section([*mine, put(part, "small", txn=2)], restart=start)
    log.section([commit(2, start, 30), commit(1, start, 3000)])
    found = short(rows_of(folder_of(tmp_path, log)))
    assert [each[1] for each in found] == [*range(30), *range(3000)]
    assert [each[4] for each in found] == [*range(30), *range(3000)]


def test_unknown_kinds_from_64_on_and_unknown_elements_are_passed_over(tmp_path: Path) -> None:
    import msgspec

    log = NativeWriter(7)
    change = msgspec.msgpack.decode(put(1, "one"))
    more = msgspec.msgpack.encode([*change, "of a later version"])
    log.section([ORDERS.definition, msgspec.msgpack.encode([64, "anything at all"]), more])
    assert [each[1:3] for each in short(rows_of(folder_of(tmp_path, log)))] == [(1, "one")]


def test_the_builder_knows_the_length_of_a_state_record() -> None:
    assert STATE_BYTES == 12 + 38
