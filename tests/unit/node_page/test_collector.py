"""The collector: how often it looks, what it does about a look that fails or hangs, that it ends."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tailer.errors import UsageError
from tailer.node_page import collector as module
from tailer.node_page.collector import Collector
from tailer.node_page.look import Look
from tests.unit.node_page.test_history import status


class Node:
    """Counts looks, and fails, hangs or costs as it is told."""

    def __init__(self) -> None:
        self.looks = 0
        self.cost = 0.0
        self.error: Exception | None = None
        self.hangs = threading.Event()
        self.hangs.set()
        self.hint = threading.Event()

    def look(self) -> Look:
        self.looks += 1
        self.hangs.wait(20)
        if self.error is not None:
            raise self.error
        seen: Any = type("Seen", (), {"consumers": [status("c", float(self.looks))]})
        return Look(time.time(), self.cost, seen, {}, [], 0)

    def wait(self, seconds: float) -> bool:
        found = self.hint.wait(seconds)
        self.hint.clear()
        return found


def ran(what: Callable[[Node, Collector], Awaitable[None]]) -> Node:
    node = Node()

    async def run() -> None:
        collector = Collector(node.look, node.wait)
        collector.start()
        try:
            await what(node, collector)
        finally:
            node.hangs.set()
            await collector.stop()

    asyncio.run(asyncio.wait_for(run(), 30))
    return node


async def until(what: Callable[[], bool]) -> None:
    while not what():
        await asyncio.sleep(0.005)


def test_nobody_watches_one_look() -> None:
    async def what(node: Node, collector: Collector) -> None:
        await asyncio.sleep(0.6)

    assert ran(what).looks == 1


def test_whoever_watches_sees_what_is_hinted_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HINTED_SECONDS", 0.02)

    async def what(node: Node, collector: Collector) -> None:
        await collector.fresh(0.0)
        with collector.watching():
            for _ in range(3):
                await asyncio.sleep(0.3)
                before, began = collector.version, time.monotonic()
                node.hint.set()
                assert await collector.news(before, 30.0)
                assert time.monotonic() - began < 15.0

    ran(what)


def test_without_any_hint_it_looks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HINTED_SECONDS", 0.01)
    monkeypatch.setattr(module, "WATCHED_SECONDS", 0.1)

    async def what(node: Node, collector: Collector) -> None:
        with collector.watching():
            await until(lambda: node.looks >= 4)

    ran(what)


def test_a_look_that_costs_much_is_seldom_taken() -> None:
    async def what(node: Node, collector: Collector) -> None:
        node.cost = 1.0
        with collector.watching():
            await until(lambda: collector.now is not None)
            for _ in range(6):
                node.hint.set()
                await collector.fresh(0.0)
                await asyncio.sleep(0.1)
            # The first one, and perhaps one that was begun before it was known what it costs.
            assert node.looks <= 2

    ran(what)


def test_many_who_ask_at_once_share_a_look() -> None:
    async def what(node: Node, collector: Collector) -> None:
        await until(lambda: collector.now is not None)
        before = node.looks
        node.hangs.clear()
        asked = [asyncio.create_task(collector.fresh(0.0)) for _ in range(20)]
        await asyncio.sleep(0.1)
        node.hangs.set()
        await asyncio.gather(*asked)
        assert node.looks == before + 1

    ran(what)


def test_a_look_that_hangs_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.1)

    async def what(node: Node, collector: Collector) -> None:
        await until(lambda: collector.now is not None)
        first = collector.now
        node.hangs.clear()
        began = time.monotonic()
        await collector.fresh(0.0)
        assert 0.05 < time.monotonic() - began < 5
        assert collector.now is first
        assert await collector.in_thread(lambda: "answered") == "answered"

    ran(what)


def test_what_fails_is_told_and_tried_again() -> None:
    async def what(node: Node, collector: Collector) -> None:
        await until(lambda: collector.now is not None)
        told = []
        for error in (
            UsageError("no folder", file="cdc_raw"),
            OSError(5, "Input/output error", "x"),
            KeyError("bug"),
            None,
        ):
            node.error = error
            await collector.fresh(-1.0)
            told.append(collector.trouble)
        assert told == [
            "no folder (cdc_raw).",
            "Input/output error: x",
            "this is a bug in cdc-tail: KeyError: 'bug'",
            None,
        ]
        assert collector.version >= 5

    ran(what)


def test_its_end_wakes_whoever_waits() -> None:
    async def run() -> float:
        node = Node()
        collector = Collector(node.look, node.wait)
        collector.start()
        await collector.fresh(0.0)
        waits = asyncio.create_task(collector.news(collector.version, 20))
        await asyncio.sleep(0.05)
        began = time.monotonic()
        await collector.stop()
        await waits
        await collector.stop()
        return time.monotonic() - began

    assert asyncio.run(run()) < 1


def test_every_look_is_in_the_history() -> None:
    async def what(node: Node, collector: Collector) -> None:
        await until(lambda: collector.now is not None)
        for _ in range(3):
            await collector.fresh(-1.0)
        (past,) = collector.past()
        assert max(each for each in past.seconds if each is not None) == float(node.looks)

    ran(what)
