"""A consumer object on a log of its own process: what it is handed in which order, and what is saved when."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tailer.errors import LossError, RefusedError
from tailer.tail.run import ConsumerState
from writer_hooks import SegmentLog, Table
from writer_hooks.ahead import AHEAD
from writer_hooks.own_steps import SubscriptionStats


class Row(msgspec.Struct):
    id: int
    text: str = ""


class Wider(msgspec.Struct):
    id: int
    text: str = ""
    more: int | None = None


TABLE = Table.of(Row, "shop.rows", key=["id"])
WIDER = Table.of(Wider, "shop.rows", key=["id"])
SEGMENT_BYTES = 3000
UNTIL_SECONDS = 20.0


def ids(batch: Any) -> list[int]:
    return [int(text[6:-1]) for text in batch.column("partition_key").to_pylist()]


class Noting:
    """A consumer that notes its calls, and answers what it is told to."""

    def __init__(self, answer: Callable[[Any], bool] = lambda batch: True) -> None:
        self.calls: list[tuple[str, Any]] = []
        self._answer = answer

    def start(self, state: ConsumerState) -> None:
        self.calls.append(("start", state))

    def on_definitions(self, changes: Sequence[Any]) -> None:
        self.calls.append(("definitions", [[column.name for column in each.columns] for each in changes]))

    def on_changes(self, batch: Any) -> bool:
        self.calls.append(("rows", batch))
        return self._answer(batch)

    def stop(self) -> None:
        self.calls.append(("stop", None))

    @property
    def rows(self) -> list[int]:
        return [number for name, batch in self.calls if name == "rows" for number in ids(batch)]

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "log"
    made.mkdir()
    return made


@pytest.fixture
def log(folder: Path) -> Iterator[SegmentLog]:
    with SegmentLog.open(folder, [TABLE], segment_bytes=SEGMENT_BYTES) as made:
        yield made


def write(log: SegmentLog, *numbers: int, size: int = 40) -> None:
    for number in numbers:
        log.append(TABLE.insert(Row(number, "x" * size))).wait()


def until(said: Callable[[], bool]) -> None:
    end = time.monotonic() + UNTIL_SECONDS
    while not said():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


def numbers(log: SegmentLog) -> SubscriptionStats:
    (one,) = log._subscribers.living()
    return one.stats()


def test_it_is_told_of_definitions_first_and_stopped_last(log: SegmentLog) -> None:
    consumer = Noting()
    with log.run_in_thread(consumer, name="one") as running:
        write(log, *range(50))
        until(lambda: consumer.rows == list(range(50)))
        assert numbers(log).mode == "buffer"
        running.stop()
        assert running.join(UNTIL_SECONDS)
    assert consumer.names()[:3] == ["start", "definitions", "rows"]
    assert consumer.names()[-1] == "stop"
    assert consumer.names().count("definitions") == 1
    assert consumer.calls[0][1].name == "one"
    assert not consumer.calls[0][1].resumed
    assert log._subscribers.living() == []


def test_it_ends_behind_the_last_section_when_the_log_is_closed(log: SegmentLog) -> None:
    consumer = Noting()
    running = log.run_in_thread(consumer)
    write(log, *range(100))
    log.close()
    assert running.join(UNTIL_SECONDS)
    assert consumer.rows == list(range(100))


def test_what_was_said_to_be_safe_does_not_come_again(log: SegmentLog) -> None:
    first = Noting(lambda batch: ids(batch)[-1] < 5)
    running = log.run_in_thread(first, name="one")
    write(log, 1, 2, 3)
    until(lambda: first.rows == [1, 2, 3])
    write(log, 7, 8)
    until(lambda: first.rows == [1, 2, 3, 7, 8])
    running.stop()
    running.join()
    second = Noting()
    with log.run_in_thread(second, name="one"):
        until(lambda: second.rows == [7, 8])
    assert second.calls[0][1].resumed
    unsaved = [event for name, batch in first.calls if name == "rows" for event in batch.column("event_id").to_pylist()]
    again = [event for name, batch in second.calls if name == "rows" for event in batch.column("event_id").to_pylist()]
    assert again == unsaved[3:]


def test_true_is_durable_before_the_next_rows(log: SegmentLog) -> None:
    """A second look at the position from within the consumer, at rows that were decoded long before."""
    committed: list[Any] = []

    def answer(batch: Any) -> bool:
        committed.append(numbers(log).committed)
        return True

    consumer = Noting(answer)
    write(log, 1, 2, 3, 4, size=1000)
    with log.run_in_thread(consumer, name="one"):
        until(lambda: consumer.rows == [1, 2, 3, 4])
        write(log, 5)
        write(log, 6)
        until(lambda: consumer.rows == [1, 2, 3, 4, 5, 6])
    places = [batch for name, batch in consumer.calls if name == "rows"]
    for before, seen in zip(places, committed[1:], strict=False):
        last = (before.column("segment")[-1].as_py(), before.column("offset")[-1].as_py())
        assert (seen.segment, seen.offset) > last


def test_a_definition_that_changes_comes_before_its_rows(log: SegmentLog) -> None:
    consumer = Noting()
    with log.run_in_thread(consumer):
        write(log, 1)
        until(lambda: consumer.rows == [1])
        log.append(WIDER.insert(Wider(2, "x", 3))).wait()
        until(lambda: consumer.rows == [1, 2])
    said = [(name, what) for name, what in consumer.calls if name in ("definitions", "rows")]
    assert [name for name, _ in said] == ["definitions", "rows", "definitions", "rows"]
    assert "more" not in said[0][1][0]
    assert "more" in said[2][1][0]


def test_its_exception_ends_the_run_and_its_rows_come_again(log: SegmentLog) -> None:
    def answer(batch: Any) -> bool:
        if 3 in ids(batch):
            raise RuntimeError("the mail server is away")
        return True

    consumer = Noting(answer)
    running = log.run_in_thread(consumer, name="one")
    write(log, 1, 2, 3)
    with pytest.raises(RuntimeError, match="mail server"):
        running.join(UNTIL_SECONDS)
    assert consumer.names()[-1] == "stop"
    again = Noting()
    with log.run_in_thread(again, name="one"):
        until(lambda: 3 in again.rows)
    assert set(again.rows) | set(consumer.rows) == {1, 2, 3}


def test_a_name_is_taken_once(log: SegmentLog) -> None:
    one, two = Noting(), Noting()
    with log.run_in_thread(one, name="one"):
        until(lambda: bool(one.calls))
        with pytest.raises(RefusedError) as refused:
            log.run(Noting(), name="one")
        assert refused.value.code == 6
        with log.run_in_thread(two, name="two"):
            write(log, 1, 2)
            until(lambda: one.rows == [1, 2] == two.rows)


def test_a_slow_one_holds_a_few_batches_and_the_writer_not_at_all(log: SegmentLog) -> None:
    free = threading.Event()

    def answer(batch: Any) -> bool:
        assert free.wait(UNTIL_SECONDS)
        return True

    consumer = Noting(answer)
    with log.run_in_thread(consumer, buffer_bytes=500):
        write(log, 0)
        until(lambda: consumer.rows == [0])
        write(log, *range(1, 200))
        time.sleep(0.1)
        stats = numbers(log)
        assert consumer.rows == [0]
        assert stats.buffer_used <= 500
        assert stats.segments <= AHEAD + 3
        assert stats.lag_segments > AHEAD + 3
        free.set()
        until(lambda: len(consumer.rows) == 200)
        write(log, 200)
        until(lambda: len(consumer.rows) == 201)
        until(lambda: numbers(log).mode == "buffer")
        assert numbers(log).switches >= 2
        assert numbers(log).lag_bytes == 0
    assert consumer.rows == list(range(201))


def test_an_error_of_the_log_comes_behind_the_rows_before_it(folder: Path, log: SegmentLog) -> None:
    free = threading.Event()

    def answer(batch: Any) -> bool:
        return free.wait(UNTIL_SECONDS)

    consumer = Noting(answer)
    running = log.run_in_thread(consumer, name="one", buffer_bytes=0)
    write(log, 0)
    until(lambda: consumer.rows == [0])
    write(log, *range(1, 400))
    until(lambda: numbers(log).lag_segments > 10)
    gone = sorted(folder.glob("cdc_raw/*.log"), key=lambda path: int(path.stem.split("-")[-1]))
    gone[-5].unlink()
    free.set()
    with pytest.raises(LossError):
        running.join(UNTIL_SECONDS)
    assert consumer.rows == list(range(len(consumer.rows)))
    assert len(consumer.rows) > AHEAD


def test_it_stands_before_a_transaction_that_goes_on_in_the_next_batch(folder: Path) -> None:
    """Of rows of one transaction in several batches none is saved before all are safe."""
    with SegmentLog.open(folder, [TABLE]) as log:
        write(log, 1)
        with log.begin(wait=True) as transaction:
            for number in range(100_000, 120_000):
                transaction.append(TABLE.insert(Row(number)))
        committed: list[Any] = []

        def answer(batch: Any) -> bool:
            committed.append(numbers(log).committed)
            return True

        first = Noting(answer)
        with log.run_in_thread(first, name="one"):
            until(lambda: len(first.rows) == 20_001)
        batches = [batch for name, batch in first.calls if name == "rows"]
        at = batches[-1].column("offset")[-1].as_py()
        within = [
            place for batch, place in zip(batches, committed, strict=True) if batch.column("offset")[0].as_py() == at
        ]
        assert len(within) > 1, "the transaction has several batches"
        assert all(place.offset <= at for place in within)
        second = Noting()
        with log.run_in_thread(second, name="one"):
            write(log, 2)
            until(lambda: second.rows == [2])
