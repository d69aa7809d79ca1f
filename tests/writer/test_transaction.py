"""Transactions: the records that they leave, counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError, UsageError
from tailer.position import Position
from tailer.scan.record.record import Change, Commit, Rollback, RollbackTo, Savepoint, State, decode_position
from tests.writer.plain import ORDERS, PLAIN, Segment, kinds, segments, sidecars
from writer_hooks import SegmentLog


def small(folder: Path, **options: Any) -> SegmentLog:
    return SegmentLog.open(folder, tables=[ORDERS, PLAIN], **{"segment_bytes": 4096, "threads": False, **options})


def order(number: int, size: int = 0) -> Any:
    return ORDERS.insert({"id": number, "note": "n" * size})


def note(number: int, size: int = 0) -> Any:
    return PLAIN.insert({"id": number, "note": "n" * size})


def of(segment: Segment, kind: type[Any]) -> list[tuple[Position, Any]]:
    return [(at, record) for at, record in segment.records if isinstance(record, kind)]


def place(data: bytes | None) -> Position | None:
    return None if data is None else decode_position(data)


def test_the_commit_names_where_its_changes_begin(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        transaction = log.begin()
        log.sync()
        transaction.append(note(1))
        log.sync()
        transaction.append(order(2))
        transaction.append(note(3))
        log.sync()
        transaction.commit().wait()
    (segment,) = segments(tmp_path / "cdc_raw")
    number, edges = segment.header.segment, segment.edges
    ((_, commit),) = of(segment, Commit)
    assert (place(commit.first), commit.n) == (Position(number, edges[2]), 2)
    assert (place(commit.first_any), commit.n_any) == (Position(number, edges[1]), 3)
    restarts = [(place(state.restart), place(state.restart_any)) for _, state in of(segment, State)]
    assert restarts == [
        (Position(number, edges[1]), Position(number, edges[1])),
        (Position(number, edges[2]), Position(number, edges[1])),
        (Position(number, edges[2]), Position(number, edges[1])),
        (Position(number, edges[4]), Position(number, edges[4])),
    ]


def test_a_transaction_without_tracked_changes_is_nothing_to_readers(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        with log.begin() as transaction:
            transaction.append(note(1))
        log.sync()
    assert sidecars(tmp_path / "cdc_raw") == {}
    (segment,) = segments(tmp_path / "commitlog")
    ((_, commit),) = of(segment, Commit)
    assert (commit.first, commit.n, commit.n_any) == (None, 0, 1)


def test_an_empty_commit_is_long_enough_for_an_entry(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        log.begin().commit().wait()
    (segment,) = segments(tmp_path / "commitlog")
    assert kinds(segment) == ["Begin", "Commit", "State"]


def test_going_back_brings_the_counts_of_the_savepoint(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        transaction = log.begin()
        transaction.append(note(1))
        transaction.savepoint("a")
        transaction.append(order(2))
        transaction.rollback_to("a")
        log.sync()
        transaction.append(note(3))
        transaction.append(order(4))
        transaction.append(order(5))
        transaction.commit()
    (segment,) = segments(tmp_path / "cdc_raw")
    ((_, commit),) = of(segment, Commit)
    ((saved, _),) = of(segment, Savepoint)
    ((_, back),) = of(segment, RollbackTo)
    assert place(back.position) == saved
    assert (place(commit.first), commit.n) == (Position(segment.header.segment, segment.edges[1]), 2)
    assert (place(commit.first_any), commit.n_any) == (Position(segment.header.segment, segment.edges[0]), 4)


def test_later_savepoints_are_gone_and_the_named_one_stays(tmp_path: Path) -> None:
    with small(tmp_path) as log, log.begin() as transaction:
        transaction.savepoint("a")
        transaction.savepoint("b")
        transaction.rollback_to("a")
        transaction.rollback_to("a")
        with pytest.raises(UsageError, match="no such savepoint"):
            transaction.rollback_to("b")


def test_many_at_once_and_the_restart_of_the_oldest(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        old, new = log.begin(), log.begin()
        old.append(order(1))
        log.sync()
        new.append(order(2))
        for number in range(4):
            log.append(order(10 + number, size=1500))
        log.sync()
        first = min(sidecars(tmp_path / "cdc_raw"))
        live = [sidecar for sidecar in sidecars(tmp_path / "cdc_raw").values() if sidecar]
        assert {sidecar.restart and sidecar.restart.segment for sidecar in live} == {first}
        old.commit()
        new.rollback()
        log.sync()
        (last,) = [each for each in sidecars(tmp_path / "cdc_raw").values() if each and not each.completed]
        assert last.restart == log.end
    changes = [(record.txn, at) for segment in segments(tmp_path / "cdc_raw") for at, record in of(segment, Change)]
    assert [txn for txn, _ in changes] == [1, 2, None, None, None, None]


def test_a_block_that_raises_rolls_back(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        transaction = log.begin()
        transaction.append(order(1))
        with pytest.raises(UsageError), transaction:
            transaction.append(order(1, size=5000))
        assert not transaction.open
        with pytest.raises(RefusedError, match="not open any more: rolled back"):
            transaction.commit()
        transaction.rollback()
    (segment,) = segments(tmp_path / "cdc_raw")
    assert kinds(segment)[-2:] == ["Rollback", "State"]


def test_close_rolls_back_what_is_open(tmp_path: Path) -> None:
    log = small(tmp_path)
    transaction = log.begin()
    transaction.append(order(1))
    log.sync()
    log.close()
    (sidecar,) = sidecars(tmp_path / "cdc_raw").values()
    (segment,) = segments(tmp_path / "cdc_raw")
    assert of(segment, Rollback)
    assert sidecar is not None
    assert sidecar.restart == Position(segment.header.segment, sidecar.end)
    with pytest.raises(RefusedError, match="closed"):
        transaction.commit()
