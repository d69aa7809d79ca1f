"""What a service does with its own log: replay, discard, the cap; and a child that is forked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailer.errors import LossError, RefusedError, UsageError
from tailer.position import Position
from tests.writer.plain import Clock, segments, sidecars, until
from tests.writer.small_log import note, numbers, order, own, small
from writer_hooks import Cap
from writer_hooks.own_replay import replay
from writer_hooks.places import Places


def test_replay_gives_all_tables_in_the_order_in_which_they_count(tmp_path: Path) -> None:
    with small(tmp_path, token=lambda: "00000000000000aa") as log:
        transaction = log.begin()
        transaction.append(note(1, size=1500))
        transaction.savepoint("s")
        transaction.append(order(2))
        transaction.rollback_to("s")
        log.append(order(3, size=1500))
        transaction.append(order(4))
        open_at_the_end = log.begin()
        open_at_the_end.append(order(5))
        transaction.commit()
        last = log.append(note(6))
        assert numbers(log.replay()) == []
        log.sync()
        found = list(log.replay("earliest"))
        assert numbers(found) == [3, 1, 4, 6]
        assert [each.txn for each in found] == [None, "00000000000000aa-1", "00000000000000aa-1", None]
        assert [each.definition.table for each in found] == ["orders", "notes", "orders", "notes"]
        assert found[1].position == found[2].position > found[0].position
        assert [numbers(log.replay(each.end)) for each in found] == [[1, 4, 6], [6], [6], []]
        assert numbers(log.replay(found[1].position)) == [1, 4, 6]
        assert numbers(log.replay(last.position)) == []
    with small(tmp_path) as log:
        assert numbers(log.replay()) == [3, 1, 4, 6]


def test_a_transaction_that_is_larger_than_memory_is_read_again(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        large, other = log.begin(), log.begin()
        other.append(order(100))
        for number in range(12):
            if number == 8:
                large.savepoint("s")
            large.append(order(number, size=1000))
        large.rollback_to("s")
        large.append(note(20))
        large.commit()
        other.commit().wait()
        expected = [*range(8), 20, 100]
        for bound in (1, 2500, 10**9):
            found = replay(log._files, Places(tmp_path), Position(0, 0), log.end, bound)
            assert numbers(found) == expected


def test_discard_keeps_what_replay_needs(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        transaction = log.begin()
        transaction.append(note(1, size=1500))
        log.append(order(2, size=1500))
        log.append(order(3, size=1500))
        log.sync()
        stored = log.end
        transaction.append(note(4))
        transaction.commit()
        for number in range(5, 9):
            log.append(order(number, size=1500))
        log.sync()
        assert len(own(tmp_path)) > 3
        log.discard_before(stored)
        assert numbers(log.replay(stored)) == [1, 4, 5, 6, 7, 8]
        log.discard_before(log.end)
        assert own(tmp_path) == [log.end.segment]
        assert numbers(log.replay(log.end)) == []
        with pytest.raises(LossError, match="discarded"):
            list(log.replay(stored))
        with pytest.raises(UsageError, match="behind the log's durable end"):
            log.discard_before(log.end._replace(offset=log.end.offset + 1))
    assert len(segments(tmp_path / "cdc_raw")) > 3


def test_an_open_transaction_keeps_its_segments(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        with log.begin() as transaction:
            transaction.append(note(1))
            for number in range(4):
                log.append(order(number + 2, size=1500))
            log.sync()
            first = own(tmp_path)
            assert log.discard_before(log.end) == 0
        log.sync()
        assert log.discard_before(log.end) == len(first) - 1


def test_block_refuses_changes_of_cdc_tables_alone(tmp_path: Path) -> None:
    clock = Clock()
    with small(tmp_path, cap=Cap(12000), clock=clock) as log:
        open_one = log.begin()
        for number in range(6):
            log.append(order(number, size=1500))
        log.sync()
        with pytest.raises(RefusedError, match="at its cap"):
            log.append(order(6, size=1500))
        with pytest.raises(RefusedError, match="at its cap"):
            open_one.append(order(7))
        with pytest.raises(RefusedError, match="refused"):
            open_one.commit()
        open_one.rollback()
        log.append(note(8)).wait()
        for segment, sidecar in sidecars(tmp_path / "cdc_raw").items():
            assert sidecar is not None
            assert sidecar.completed
            Places(tmp_path).raw(segment).unlink()
            Places(tmp_path).sidecar(segment).unlink()
        with pytest.raises(RefusedError, match="at its cap"):
            log.append(order(9))
        clock.now += 1
        log.append(order(9)).wait()
        assert numbers(log.replay()) == [0, 1, 2, 3, 4, 5, 8, 9]


@pytest.mark.parametrize("threads", [False, True])
def test_drop_oldest_notes_what_it_drops_and_aborts_who_loses(tmp_path: Path, threads: bool) -> None:
    with small(tmp_path, cap=Cap(12000, "drop_oldest"), threads=threads) as log:
        loser, keeper = log.begin(), log.begin()
        loser.append(order(100))
        for number in range(8):
            log.append(order(number, size=1500)).wait()
        keeper.append(order(101))
        places = Places(tmp_path)
        until(lambda: log.stats().dropped > 0 and not loser.open)
        with pytest.raises(RefusedError, match="dropped from cdc_raw"):
            loser.commit()
        keeper.commit().wait()

        def first_captured() -> int:
            return min(segment.header.segment for segment in segments(places.cdc_raw))

        # One more may be dropped between two looks.
        until(lambda: int(places.dropped.read_text()) + 1 == first_captured())
        dropped = int(places.dropped.read_text())
        assert sum(path.stat().st_size for path in places.cdc_raw.glob("*.log")) <= 12000 + 4096
        assert min(own(tmp_path)) < dropped + 1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_no_log(tmp_path: Path) -> None:
    log = small(tmp_path)
    log.append(order(1)).wait()
    child = os.fork()
    if child == 0:
        try:
            log.append(order(2))
        except RefusedError as error:
            os._exit(0 if "forked" in str(error) else 2)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    log.append(order(3)).wait()
    assert numbers(log.replay()) == [1, 3]
    log.close()
