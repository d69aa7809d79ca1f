"""Transactions: the records that they leave, counted by hand."""

from __future__ import annotations

import errno
import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError, SystemFailedError, UsageError
from tailer.position import Position
from tailer.scan.record.record import Change, Commit, Rollback, RollbackTo, Savepoint, State, decode_position
from tests.writer.plain import Segment, kinds, segments, sidecars
from tests.writer.small_log import note, order, small
from writer_hooks import Cap, SegmentLog, Transaction
from writer_hooks.disk import RealFiles


class Full(RealFiles):
    """The disk, which makes no new segment while it is `full`."""

    full = False

    def open(self, path: Path, *, create: bool = False, exclusive: bool = False, write: bool = True) -> int:
        if self.full and exclusive:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return super().open(path, create=create, exclusive=exclusive, write=write)


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


def in_block(log: SegmentLog, do: Callable[[Transaction], None]) -> None:
    with log.begin() as transaction:
        do(transaction)


def test_a_block_that_was_aborted_by_the_cap_raises_at_its_end(tmp_path: Path) -> None:
    with small(tmp_path, cap=Cap(12000, "drop_oldest")) as log:

        def lose(transaction: Transaction) -> None:
            transaction.append(order(1))
            for number in range(10, 20):
                log.append(order(number, size=1500))

        with pytest.raises(RefusedError, match="dropped from cdc_raw"):
            in_block(log, lose)


def test_a_block_whose_log_was_closed_raises_at_its_end(tmp_path: Path) -> None:
    log = small(tmp_path)

    def closed_by_another(transaction: Transaction) -> None:
        transaction.append(order(1))
        closing = threading.Thread(target=log.close)
        closing.start()
        closing.join()

    with pytest.raises(RefusedError, match="closed"):
        in_block(log, closed_by_another)


def test_a_refusal_that_was_caught_inside_a_block_is_raised_at_its_end(tmp_path: Path) -> None:
    with small(tmp_path, cap=Cap(8192)) as log:
        for number in range(4):
            log.append(order(number, size=1500))

        def catch(transaction: Transaction) -> None:
            transaction.append(note(1))
            with pytest.raises(RefusedError, match="at its cap"):
                transaction.append(order(9, size=1500))

        with pytest.raises(RefusedError, match="a change of it did not go into the log"):
            in_block(log, catch)
        assert log.stats().open_transactions == 0


def test_a_commit_that_fails_at_the_end_of_a_block_leaves_nothing_open(tmp_path: Path) -> None:
    files = Full()
    with small(tmp_path, files=files) as log:

        def fill(transaction: Transaction) -> None:
            transaction.append(note(1))
            while log.appender.segment.fits(1200):
                log.append(note(2, size=1000))
            # No room for a commit, and none for another segment.
            log.append(note(3, size=log.appender.segment.limit - len(log.appender.segment.plain) - 100))
            files.full = True

        with pytest.raises(SystemFailedError, match="disk is full"):
            in_block(log, fill)
        files.full = False
        assert log.stats().open_transactions == 0


def test_a_block_that_ended_by_its_own_doing_raises_nothing(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        with log.begin() as first:
            first.append(order(1))
            first.commit()
        with log.begin() as second:
            second.append(order(2))
            second.rollback()
        log.sync()
        assert [each.change.rows[0].partition_key for each in log.replay()] == [(b"\0" * 7 + b"\1",)]


@pytest.mark.parametrize("name", [5, None, b"s", "\ud800"])
def test_the_name_of_a_savepoint_is_text(tmp_path: Path, name: Any) -> None:
    with small(tmp_path) as log, log.begin() as transaction:
        transaction.append(order(1))
        with pytest.raises(UsageError, match="the name of a savepoint: expected a str"):
            transaction.savepoint(name)


@pytest.mark.parametrize("threads", [False, True])
def test_a_forgotten_transaction_is_rolled_back_and_holds_nothing(
    tmp_path: Path, threads: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with small(tmp_path, threads=threads) as log:
        log.append(order(1)).wait()
        transaction = log.begin()
        transaction.append(order(2))
        log.sync()
        held = log.stats()
        assert (held.open_transactions, held.restart < log.end) == (1, True)
        with pytest.warns(ResourceWarning, match="transaction 1 was forgotten while it was open"):
            del transaction
        log.sync()
        free = log.stats()
        assert (free.open_transactions, free.restart, free.oldest_transaction) == (0, log.end, 0.0)
    (segment,) = segments(tmp_path / "cdc_raw")
    assert [record.txn for _, record in of(segment, Rollback)] == [1]
    assert decode_position(of(segment, State)[-1][1].restart_any).offset == segment.edges[-1]
    assert "transaction 1 was forgotten while it was open, and is rolled back" in caplog.text


def test_a_transaction_forgotten_in_a_cycle_lets_the_readers_files_go(tmp_path: Path) -> None:
    """As the sidecar says, by which `clean` decides."""
    with small(tmp_path) as log:
        holder: dict[str, Any] = {"txn": log.begin()}
        holder["txn"].append(order(1))
        holder["self"] = holder
        log.append(order(2)).wait()
        (before,) = sidecars(tmp_path / "cdc_raw").values()
        del holder
        with pytest.warns(ResourceWarning, match="transaction 1 was forgotten"):
            gc.collect()
        log.append(order(3)).wait()
        (behind,) = sidecars(tmp_path / "cdc_raw").values()
        assert before is not None
        assert before.restart is not None
        assert behind is not None
        assert (before.restart < log.end, behind.restart) == (True, log.end)


def test_a_forgotten_transaction_is_rolled_back_by_the_thread_that_holds_the_append_lock(tmp_path: Path) -> None:
    """The collector may run anywhere."""
    with small(tmp_path) as log:
        transaction = log.begin()
        with log.appender.lock, pytest.warns(ResourceWarning, match="forgotten"):
            del transaction
        assert log.stats().open_transactions == 0


def test_a_transaction_that_came_to_its_end_warns_of_nothing(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        log.begin().commit()
        log.begin().rollback()
        left = log.begin()
    del left


def test_the_age_of_the_oldest_transaction_is_told(tmp_path: Path) -> None:
    now = [100.0]
    with small(tmp_path, clock=lambda: now[0]) as log:
        older, younger = log.begin(), log.begin()
        assert (older.open, younger.open) == (True, True)
        now[0] = 107.0
        younger.rollback()
        assert log.stats().oldest_transaction == 7.0
        older.rollback()
        assert log.stats().oldest_transaction == 0.0
