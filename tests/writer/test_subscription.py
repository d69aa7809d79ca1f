"""The fast path against the file path: a subscriber gets each row once and in order, wherever it gets it from."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import tailer
from tailer.errors import RefusedError, UsageError
from tests.helpers.amount import examples
from writer_hooks import SegmentLog, Table
from writer_hooks.subscription import Subscription


class Row(msgspec.Struct):
    id: int
    text: str = ""


TABLE = Table.of(Row, "shop.rows", key=["id"])
QUIET = Table.of(Row, "shop.quiet", key=["id"], cdc=False)
SEGMENT_BYTES = 3000


def ids(batch: Any) -> list[int]:
    return [int(text[6:-1]) for text in batch.column("partition_key").to_pylist()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "log"
    made.mkdir()
    return made


@pytest.fixture
def log(folder: Path) -> Iterator[SegmentLog]:
    with SegmentLog.open(folder, [TABLE, QUIET], segment_bytes=SEGMENT_BYTES) as made:
        yield made


def write(log: SegmentLog, *numbers: int, size: int = 40) -> None:
    for number in numbers:
        log.append(TABLE.insert(Row(number, "x" * size))).wait()


def test_a_thread_gets_what_is_written_while_it_waits(log: SegmentLog) -> None:
    got: list[int] = []
    with log.subscribe() as subscription:
        thread = threading.Thread(target=lambda: [got.extend(ids(batch)) for batch in subscription])
        thread.start()
        write(log, *range(200))
        log.close()
        thread.join(20)
        assert got == list(range(200))


def test_a_task_gets_what_is_written_while_it_waits(folder: Path) -> None:
    async def run() -> list[int]:
        got: list[int] = []
        with SegmentLog.open(folder, [TABLE], segment_bytes=SEGMENT_BYTES) as log, log.subscribe() as subscription:

            async def read() -> None:
                async for batch in subscription:
                    got.extend(ids(batch))

            reading = asyncio.create_task(read())
            for number in range(100):
                await log.append(TABLE.insert(Row(number)))
            await asyncio.to_thread(log.close)
            await asyncio.wait_for(reading, 20)
        return got

    assert asyncio.run(run()) == list(range(100))


def test_it_falls_behind_and_catches_up(log: SegmentLog, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "writer_hooks"), log.subscribe(buffer_bytes=500) as subscription:
        write(log, 1)
        got = ids(subscription.take(10))
        write(log, 2)
        got += ids(subscription.take(10))
        assert subscription.stats().mode == "buffer"
        write(log, *range(3, 100))
        before = subscription.stats()
        assert before.lag_segments > 1
        assert before.lag_bytes > 0
        assert before.buffer_used <= 500
        while got[-1] < 99:
            got += ids(subscription.take(10))
        write(log, 100)
        got += ids(subscription.take(10))
        stats = subscription.stats()
        assert got == list(range(1, 101))
        assert (stats.mode, stats.rows, stats.lag_segments, stats.lag_bytes) == ("buffer", 100, 0, 0)
        assert stats.switches >= 2
        assert stats.segments > 2
        assert stats.entries > 100
    said = [record.getMessage() for record in caplog.records]
    assert "starts at" in said[0]
    assert sum("reads from segments" in line for line in said) >= 1
    assert sum("reads from buffer" in line for line in said) >= 1


def test_it_goes_on_behind_its_last_commit(log: SegmentLog) -> None:
    with log.subscribe(consumer="one") as subscription:
        write(log, 1)
        assert ids(subscription.take(10)) == [1]
        subscription.commit()
        write(log, 2)
        assert ids(subscription.take(10)) == [2]
        stats = subscription.stats()
        assert stats.committed < stats.position
    with log.subscribe(consumer="one") as subscription:
        assert ids(subscription.take(10)) == [2]
        subscription.commit()
    with log.subscribe(consumer="one") as subscription:
        assert subscription.take(0.05) is None


def test_changes_that_nobody_captures_do_not_hold_it_up(log: SegmentLog) -> None:
    with log.subscribe(buffer_bytes=100_000) as subscription:
        write(log, 1)
        assert ids(subscription.take(10)) == [1]
        for number in range(150):
            log.append(QUIET.insert(Row(number, "x" * 40))).wait()
        write(log, 2)
        assert ids(subscription.take(10)) == [2]
        assert subscription.stats().mode == "buffer"


def test_only_the_newest(folder: Path, log: SegmentLog) -> None:
    write(log, 1)
    until = time.monotonic() + 10
    while not list(tailer.open(folder / "cdc_raw").read()):
        assert time.monotonic() < until
    with log.subscribe("latest") as subscription:
        write(log, 2)
        assert ids(subscription.take(10)) == [2]


def test_the_typed_form(log: SegmentLog) -> None:
    write(log, 1, size=3)
    with log.subscribe(table="shop.rows") as subscription:
        batch = subscription.take(10)
        assert batch is not None
        assert batch.select(["id", "text", "_op"]).to_pylist() == [{"id": 1, "text": "xxx", "_op": "insert"}]


def test_a_table_that_was_not_written_to_yet_may_be_named(log: SegmentLog) -> None:
    with log.subscribe(tables=["shop.rows"]) as subscription:
        write(log, 1)
        assert ids(subscription.take(10)) == [1]


def test_a_consumer_has_one_subscription(log: SegmentLog) -> None:
    with log.subscribe(consumer="one"), pytest.raises(RefusedError, match="one"):
        log.subscribe(consumer="one")


def test_what_cannot_be_subscribed_to(log: SegmentLog) -> None:
    with pytest.raises(UsageError, match="unknown option 'colour'"):
        log.subscribe(colour="red")
    with pytest.raises(UsageError, match="buffer_bytes"):
        log.subscribe(buffer_bytes=-1)
    log.close()
    with pytest.raises(RefusedError, match="the log is closed"):
        log.subscribe()


def place(event: str) -> tuple[int, int]:
    _, segment, offset, _ = event.split(":")
    return int(segment), int(offset)


class Interleavings(RuleBasedStateMachine):
    """One thread writes, syncs, reads, commits, restarts both; what was read is what the files hold, each row once."""

    def __init__(self) -> None:
        super().__init__()
        self.parent = TemporaryDirectory()
        self.log: SegmentLog | None = None
        self.subscription: Subscription | None = None
        self.number = 0
        self.room = 0
        self.got: list[str] = []
        self.committed = 0
        self.transactions: list[Any] = []

    @initialize(room=st.sampled_from([0, 200, 600, 3000, 100_000]))
    def begin(self, room: int) -> None:
        self.room = room
        self.open()

    def open(self) -> None:
        self.log = SegmentLog.open(self.parent.name, [TABLE, QUIET], segment_bytes=SEGMENT_BYTES, threads=False)
        self.subscribe()

    def subscribe(self) -> None:
        assert self.log is not None
        self.subscription = self.log.subscribe(consumer="one", buffer_bytes=self.room)
        del self.got[self.committed :]

    @rule(count=st.integers(1, 8), size=st.integers(0, 300))
    def append(self, count: int, size: int) -> None:
        assert self.log is not None
        for _ in range(count):
            self.number += 1
            self.log.append(TABLE.insert(Row(self.number, "x" * size)))

    @rule(count=st.integers(1, 20))
    def append_quietly(self, count: int) -> None:
        assert self.log is not None
        for _ in range(count):
            self.number += 1
            self.log.append(QUIET.insert(Row(self.number, "x" * 100)))

    @rule()
    def begin_transaction(self) -> None:
        assert self.log is not None
        self.transactions.append(self.log.begin())

    @precondition(lambda self: self.transactions)
    @rule(data=st.data(), count=st.integers(0, 3), table=st.sampled_from([TABLE, QUIET]))
    def in_transaction(self, data: st.DataObject, count: int, table: Table) -> None:
        which = data.draw(st.sampled_from(self.transactions))
        for _ in range(count):
            self.number += 1
            which.append(table.insert(Row(self.number, "x" * 50)))

    @precondition(lambda self: self.transactions)
    @rule(data=st.data(), commits=st.booleans())
    def end_transaction(self, data: st.DataObject, commits: bool) -> None:
        which = data.draw(st.sampled_from(self.transactions))
        self.transactions.remove(which)
        if commits:
            which.commit()
        else:
            which.rollback()

    @rule()
    def sync(self) -> None:
        assert self.log is not None
        self.log.sync()

    def read(self, most: int | None) -> None:
        assert self.subscription is not None
        for batch in islice(iter(lambda: self.subscription.take(0), None), most):  # type: ignore[union-attr]
            self.got += batch.column("event_id").to_pylist()

    @rule(most=st.integers(1, 3))
    def take(self, most: int) -> None:
        self.read(most)

    @rule()
    def commit(self) -> None:
        assert self.subscription is not None
        self.subscription.commit()
        # In the middle of a step's batches a commit stands before the step.
        committed = self.subscription.stats().committed
        self.committed = sum(place(event) < committed for event in self.got)

    @rule()
    def restart_reader(self) -> None:
        assert self.subscription is not None
        self.subscription.close()
        self.subscribe()

    @rule()
    def restart_both(self) -> None:
        assert self.log is not None
        assert self.subscription is not None
        self.subscription.close()
        self.log.close()
        self.transactions.clear()
        self.open()

    @invariant()
    def the_buffer_is_bounded(self) -> None:
        if self.subscription is not None:
            assert self.subscription.stats().buffer_used <= self.room

    def teardown(self) -> None:
        try:
            self.check()
        finally:
            self.parent.cleanup()

    def check(self) -> None:
        if self.log is not None and self.subscription is not None:
            self.log.close()
            self.read(None)
            files = tailer.open(Path(self.parent.name) / "cdc_raw").read()
            expected = [event for batch in files for event in batch.column("event_id").to_pylist()]
            self.subscription.close()
            assert self.got == expected


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=examples(25), stateful_step_count=25, deadline=None)


# What it leaves out


class WiderRow(msgspec.Struct):
    id: int
    text: str = ""
    more: int | None = None


WIDER = Table.of(WiderRow, "shop.rows", key=["id"])


def test_what_is_left_out_is_told_and_how_much_it_was_in_all(log: SegmentLog, caplog: pytest.LogCaptureFixture) -> None:
    """Also of rows that come from memory, and of the last ones, behind which no other step comes."""

    def told() -> list[str]:
        found = (re.search(r'warning: (\d+) values of column "more" were left out', each) for each in caplog.messages)
        return [each[1] for each in found if each is not None]

    write(log, 1)
    with (
        caplog.at_level(logging.INFO, "writer_hooks"),
        log.subscribe(table="shop.rows", on_schema_change="ignore") as subscription,
    ):
        assert subscription.take(10) is not None
        for number in range(4):
            log.append(WIDER.insert(WiderRow(number, more=number))).wait()
            assert subscription.take(10) is not None
        assert subscription.stats().mode == "buffer"
        assert told() == ["1"]
    assert told() == ["1", "4"]


class Taking:
    """A consumer object that has had what it waits for."""

    def __init__(self, count: int) -> None:
        self.left = count

    def start(self, state: object) -> None: ...

    def on_definitions(self, changes: object) -> None: ...

    def on_changes(self, batch: Any) -> bool:
        self.left -= batch.num_rows
        return True

    def stop(self) -> None: ...


def test_a_consumer_in_a_thread_is_told_so_too(log: SegmentLog) -> None:
    said: list[str] = []
    write(log, 1)
    taking = Taking(4)
    with log.run_in_thread(taking, table="shop.rows", on_schema_change="ignore", say=said.append) as running:
        for number in range(3):
            log.append(WIDER.insert(WiderRow(number, more=number))).wait()
        until = time.monotonic() + 10
        while taking.left and time.monotonic() < until:
            time.sleep(0.01)
        running.stop()
    assert said[-1].startswith('warning: 3 values of column "more" were left out')
