"""A consumer object on an event loop: coroutines are awaited, the loop stays free, cancellation ends it in order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.writer.test_run import TABLE, UNTIL_SECONDS, Noting, Row, ids
from writer_hooks import SegmentLog


class Awaiting:
    """All of its methods are coroutines; at row `HANG` it never answers."""

    HANG = 99

    def __init__(self) -> None:
        self.names: list[str] = []
        self.rows: list[int] = []

    async def start(self, state: Any) -> None:
        await asyncio.sleep(0)
        self.names.append("start")

    async def on_definitions(self, changes: Sequence[Any]) -> None:
        await asyncio.sleep(0)
        self.names.append("definitions")

    async def on_changes(self, batch: Any) -> bool:
        await asyncio.sleep(0)
        self.names.append("rows")
        self.rows += ids(batch)
        if self.HANG in self.rows:
            await asyncio.sleep(3600)
        return True

    async def stop(self) -> None:
        await asyncio.sleep(0)
        self.names.append("stop")


async def until(said: Any) -> None:
    end = time.monotonic() + UNTIL_SECONDS
    while not said():
        assert time.monotonic() < end, "it never came"
        await asyncio.sleep(0.005)


def test_coroutines_are_awaited_until_the_log_is_closed(tmp_path: Path) -> None:
    consumer = Awaiting()

    async def serve() -> None:
        log = SegmentLog.open(tmp_path, [TABLE])
        running = asyncio.create_task(log.run_async(consumer, name="one"))
        for number in range(30):
            await log.append(TABLE.insert(Row(number)))
        await asyncio.to_thread(log.close)
        await asyncio.wait_for(running, UNTIL_SECONDS)

    asyncio.run(serve())
    assert consumer.rows == list(range(30))
    assert consumer.names[:3] == ["start", "definitions", "rows"]
    assert consumer.names[-1] == "stop"


def test_cancelled_it_stops_and_saves_nothing_that_was_not_said_to_be_safe(tmp_path: Path) -> None:
    consumer, again = Awaiting(), Noting()

    async def serve() -> None:
        with SegmentLog.open(tmp_path, [TABLE]) as log:
            running = asyncio.create_task(log.run_async(consumer, name="one"))
            for number in (1, 2, Awaiting.HANG, 100):
                await log.append(TABLE.insert(Row(number)))
                if number < Awaiting.HANG:
                    await until(lambda number=number: number in consumer.rows)
            await until(lambda: Awaiting.HANG in consumer.rows)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert consumer.names[-1] == "stop"
            assert log._subscribers.living() == []
            # Methods that are no coroutines do as well.
            second = asyncio.create_task(log.run_async(again, name="one"))
            await until(lambda: 100 in again.rows)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second

    asyncio.run(serve())
    assert again.rows == [Awaiting.HANG, 100]


def test_the_loop_turns_while_a_backlog_is_decoded(tmp_path: Path) -> None:
    consumer, turns = Noting(), 0

    async def serve() -> None:
        nonlocal turns
        with SegmentLog.open(tmp_path, [TABLE], segment_bytes=1 << 20) as log:
            log.append_many(TABLE.insert(Row(number, "x" * 100)) for number in range(20_000)).wait()
            running = asyncio.create_task(log.run_async(consumer, stopping=lambda: len(consumer.rows) == 20_000))
            while not running.done():
                await asyncio.sleep(0.001)
                turns += 1
            await running

    asyncio.run(serve())
    assert consumer.rows == list(range(20_000))
    assert turns > 20
