"""Hooks that would wait for their own log: refused, where each of them hung, and the log with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError
from tests.writer.plain import ORDERS
from tests.writer.small_log import numbers, order
from writer_hooks import SegmentLog, SyncPolicy, batch, group, periodic


def wait(log: SegmentLog) -> None:
    log.append(order(2)).wait()


def wait_with_a_timeout(log: SegmentLog) -> None:
    log.append(order(2)).wait(3)


def wait_in_a_block(log: SegmentLog) -> None:
    with log.begin(wait=True) as transaction:
        transaction.append(order(2))


def wait_in_a_loop(log: SegmentLog) -> None:
    async def waiting() -> None:
        await log.append(order(2))

    asyncio.run(waiting())


def sync(log: SegmentLog) -> None:
    log.append(order(2))
    log.sync()


def close(log: SegmentLog) -> None:
    log.append(order(2))
    log.close()


def fill(log: SegmentLog) -> None:
    log.append(order(2))
    for _ in range(100):
        log.append(order(3, 2000))


def subscribe(log: SegmentLog) -> None:
    log.append(order(2))
    log.subscribe()


WAYS = [wait, wait_with_a_timeout, wait_in_a_block, wait_in_a_loop, sync, close, fill, subscribe]


@pytest.mark.parametrize("policy", [batch(), group(1), periodic(1), None], ids=["batch", "group", "periodic", "alone"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_hook_that_waits_for_its_log_is_refused(
    tmp_path: Path, way: Callable[[SegmentLog], None], policy: SyncPolicy | None
) -> None:
    raised: list[BaseException] = []
    found: list[int] = []

    def serve() -> None:
        options: dict[str, Any] = {"threads": False} if policy is None else {"sync": policy}
        with SegmentLog.open(tmp_path, [ORDERS], segment_bytes=1 << 20, max_unsynced=65536, **options) as log:
            log.hooks.append(lambda section: hook(log))
            log.append(order(1)).wait()
            log.append(order(4)).wait()
            log.sync()
            assert log.stats().dead is None
            found.extend(numbers(log.replay()))

    def hook(log: SegmentLog) -> None:
        if not raised:
            try:
                way(log)
            except BaseException as error:
                raised.append(error)
                raise

    service = threading.Thread(target=serve, daemon=True)
    service.start()
    service.join(30)
    assert not service.is_alive()
    (error,) = raised
    assert isinstance(error, RefusedError)
    assert "a hook waits for its own log" in str(error)
    assert "Hand it to another thread" in str(error)
    # What the hook had appended before stays, and the log goes on.
    assert {1, 2, 4} <= set(found)
    again = SegmentLog.open(tmp_path, [ORDERS])
    again.close()


def test_a_hook_may_append_and_look_at_what_is_done(tmp_path: Path) -> None:
    done: list[bool] = []
    with SegmentLog.open(tmp_path, [ORDERS], segment_bytes=4096, threads=False) as log:

        def hook(section: Any) -> None:
            if len(done) < 20:
                # Over the ends of segments too, which are synced behind the hook.
                log.append_many([order(len(done) + 2, 900)])
                done.append(ticket.done)
                ticket.wait()

        log.hooks.append(hook)
        ticket = log.append(order(1))
        for _ in range(25):
            log.append(order(0, 900))
            log.sync()
        assert done == [True] * 20
        assert log.stats().hook_failures == 0
        assert set(numbers(log.replay())) == {0, 1, *range(2, 22)}
