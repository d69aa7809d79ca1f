"""Many changes appended at once: what one append after the other would have left, and what an error leaves."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.errors import RefusedError, UsageError
from tailer.scan.record.record import Change
from tests.helpers.amount import examples
from tests.writer.plain import ORDERS, Blocked, check_waits, kinds, segments
from tests.writer.small_log import note, numbers, order, small
from writer_hooks import SegmentLog
from writer_hooks.append_all import RUN_MAX


class Counted:
    """A clock that gives times in order, whoever asks how often."""

    def __init__(self) -> None:
        self._times = itertools.count(1_000_000_000, 1000)

    def __call__(self) -> int:
        return next(self._times)


@st.composite
def changes(draw: Any) -> list[Any]:
    """Rows of both tables, small ones and large ones, some with a time of their own."""
    made = []
    for number in range(draw(st.integers(0, 60))):
        make, size = draw(st.sampled_from([order, note])), draw(st.sampled_from([0, 0, 10, 300, 1500]))
        each = make(number, size)
        each.write_ts = draw(st.none() | st.integers(1, 2**40))
        made.append(each)
    return made


@settings(max_examples=examples(90), deadline=None)
@given(changes(), st.integers(4096, 9000), st.sampled_from([4096, 1 << 20]))
def test_the_log_is_that_of_one_append_after_the_other(
    tmp_path_factory: pytest.TempPathFactory, given: list[Any], segment_bytes: int, max_unsynced: int
) -> None:
    logs = []
    for many in (False, True):
        folder = tmp_path_factory.mktemp("log")
        options = {"segment_bytes": segment_bytes, "max_unsynced": max_unsynced, "wall": lambda: 5_000_000_000}
        with small(folder, token=lambda: "0123456789abcdef", **options) as log:
            log.append(order(-1)).wait()
            if many:
                ticket = log.append_many(iter(given))
            else:
                for each in given:
                    ticket = log.append(each)
            if given:
                ticket.wait()
                position = ticket.position
            assert numbers(log.replay())[1:] == list(range(len(given)))
        records = [each for segment in segments(folder / "commitlog") for each in segment.records]
        written = [record for _, record in records if isinstance(record, Change)]
        # Where a sync may come in between, its `state` stands at another place.
        places = [(at.offset, record) for at, record in records] if max_unsynced > 4096 else []
        logs.append((written, places, position.offset if given and places else 0))
    assert logs[0] == logs[1]


def test_more_than_one_run(tmp_path: Path) -> None:
    with SegmentLog.open(tmp_path, [ORDERS], wall=Counted()) as log:
        log.append_many(order(number) for number in range(3 * RUN_MAX + 7)).wait()
        assert numbers(log.replay()) == list(range(3 * RUN_MAX + 7))
        assert log.stats().appended_entries == 3 * RUN_MAX + 7
    records = [record for each in segments(tmp_path / "commitlog") for _, record in each.records]
    times = [record.write_ts for record in records if isinstance(record, Change)]
    assert len(times) == len(set(times)) == 3 * RUN_MAX + 7
    assert times == sorted(times)


def test_of_none_the_ticket_is_that_of_what_the_log_has(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        assert log.append_many([]).done
        first = log.append(order(1))
        ticket = log.append_many([])
        assert ticket.position == first.position
        assert not ticket.done
        ticket.wait()
        assert first.done


def test_what_is_refused_tells_how_many_are_appended(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        given = [order(1), order(2), order(3, size=4000), order(4)]
        with pytest.raises(UsageError, match="bytes") as caught:
            log.append_many(given)
        assert caught.value.__notes__ == ["append_many: 2 changes before it were appended"]
        many = [order(number) for number in range(RUN_MAX + 5)]
        many[-1].write_ts = 2**63
        with pytest.raises(UsageError, match="write_ts") as caught:
            log.append_many(many)
        assert caught.value.__notes__ == [f"append_many: {RUN_MAX + 4} changes before it were appended"]
        log.sync()
        assert numbers(log.replay()) == [1, 2, *range(RUN_MAX + 4)]


@pytest.mark.parametrize("before", [0, 1, RUN_MAX + 1])
def test_what_is_no_change_tells_how_many_are_appended(tmp_path: Path, before: int) -> None:
    with small(tmp_path, segment_bytes=1 << 20) as log:
        given: list[Any] = [*(order(number) for number in range(before)), None, order(9999)]
        with pytest.raises(AttributeError) as caught:
            log.append_many(given)
        assert caught.value.__notes__ == [f"append_many: {before} changes before it were appended"]
        log.sync()
        assert numbers(log.replay()) == list(range(before))


def test_a_closed_log_notes_nothing_on_the_error_of_others(tmp_path: Path) -> None:
    log = small(tmp_path)
    log.close()
    for _ in range(2):
        with pytest.raises(RefusedError) as caught:
            log.append_many([order(1)])
        assert caught.value.__notes__ == ["append_many: 0 changes before it were appended"]
    with pytest.raises(RefusedError) as other:
        log.append(order(1))
    assert not hasattr(other.value, "__notes__")


def test_what_the_iterable_gave_before_it_raised_is_appended(tmp_path: Path) -> None:
    def given() -> Iterator[Any]:
        yield from (order(number) for number in range(RUN_MAX + 3))
        raise KeyError("no more")

    with small(tmp_path, segment_bytes=1 << 20) as log:
        with pytest.raises(KeyError):
            log.append_many(given())
        log.sync()
        assert numbers(log.replay()) == list(range(RUN_MAX + 3))


def test_it_waits_while_too_much_is_not_durable(tmp_path: Path) -> None:
    files = Blocked()
    with SegmentLog.open(tmp_path, [ORDERS], files=files, segment_bytes=1 << 20, max_unsynced=32768) as log:
        files.free.clear()
        thread = threading.Thread(target=log.append_many, args=([order(number, 1000) for number in range(500)],))
        thread.start()
        check_waits(thread, log, files, 32768)
        log.sync()
        assert numbers(log.replay()) == list(range(500))


def test_a_definition_stands_before_the_first_row_of_its_table(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        log.append_many([order(1), order(2), note(3), order(4)])
    (segment,) = segments(tmp_path / "commitlog")
    assert kinds(segment) == ["Definition", "Change", "Change", "Definition", "Change", "Change", "State"]
