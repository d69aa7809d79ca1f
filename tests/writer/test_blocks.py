"""Blocks that end when their commit is durable, in threads and in tasks; tickets that any task awaits."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError, SystemFailedError
from tests.writer.plain import ORDERS, Blocked, until
from tests.writer.small_log import numbers, order, small
from writer_hooks import SegmentLog, SyncPolicy, batch, group, periodic
from writer_hooks.disk import RealFiles

POLICIES = [batch(), group(5), periodic(5)]


class Broken(RealFiles):
    """The disk, whose fdatasync fails once it is `broken`."""

    broken = False

    def fdatasync(self, fd: int) -> None:
        if self.broken:
            raise OSError(5, "Input/output error")
        super().fdatasync(fd)


def opened(folder: Path, **options: Any) -> SegmentLog:
    return SegmentLog.open(folder, [ORDERS], **{"segment_bytes": 65536, **options})


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
def test_a_block_that_waits_ends_when_its_commit_is_durable(tmp_path: Path, policy: SyncPolicy) -> None:
    with opened(tmp_path, sync=policy) as log:
        with log.begin(wait=True) as transaction:
            transaction.append(order(1))
        assert transaction.ticket is not None
        assert transaction.ticket.done
        assert numbers(log.replay()) == [1]


def test_a_block_that_does_not_wait_ends_at_once(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        with log.begin() as transaction:
            transaction.append(order(1))
        assert transaction.ticket is not None
        assert not transaction.ticket.done


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
def test_an_async_block_ends_when_its_commit_is_durable(tmp_path: Path, policy: SyncPolicy) -> None:
    async def write(log: SegmentLog, number: int) -> None:
        async with log.begin() as transaction:
            transaction.append(order(number))
            await asyncio.sleep(0)
            transaction.append(order(number + 100))
        assert transaction.ticket is not None
        assert transaction.ticket.done

    async def together(log: SegmentLog) -> None:
        await asyncio.gather(*(write(log, number) for number in range(20)))

    with opened(tmp_path, sync=policy) as log:
        asyncio.run(together(log))
        assert sorted(numbers(log.replay())) == [*range(20), *range(100, 120)]


def test_an_async_block_lets_other_tasks_run_while_it_waits(tmp_path: Path) -> None:
    files = Blocked()

    async def run(log: SegmentLog) -> None:
        files.free.clear()
        ended = False

        async def write() -> None:
            nonlocal ended
            async with log.begin() as transaction:
                transaction.append(order(1))
            ended = True

        writing = asyncio.create_task(write())
        for _ in range(50):
            await asyncio.sleep(0.002)
        assert files.entered.is_set()
        assert not ended
        files.free.set()
        await asyncio.wait_for(writing, 20)

    with opened(tmp_path, files=files) as log:
        log.append(order(0)).wait()
        files.entered.clear()
        asyncio.run(run(log))


def test_an_async_block_that_raises_is_rolled_back(tmp_path: Path) -> None:
    async def run(log: SegmentLog) -> None:
        async with log.begin() as transaction:
            transaction.append(order(1))
            raise KeyError

    with opened(tmp_path) as log:
        with pytest.raises(KeyError):
            asyncio.run(run(log))
        assert log.stats().open_transactions == 0
        log.sync()
        assert numbers(log.replay()) == []


def test_a_task_that_is_cancelled_in_its_block_rolls_back_and_behind_it_has_committed(tmp_path: Path) -> None:
    files = Blocked()

    async def run(log: SegmentLog) -> None:
        reached = asyncio.Event()

        async def write(number: int, inside: bool) -> None:
            async with log.begin() as transaction:
                transaction.append(order(number))
                if inside:
                    reached.set()
                    await asyncio.sleep(60)

        within = asyncio.create_task(write(1, inside=True))
        await reached.wait()
        within.cancel()
        files.free.clear()
        files.entered.clear()
        behind = asyncio.create_task(write(2, inside=False))
        while not files.entered.is_set():
            await asyncio.sleep(0.002)
        behind.cancel()
        results = await asyncio.gather(within, behind, return_exceptions=True)
        assert [type(each) for each in results] == [asyncio.CancelledError] * 2
        files.free.set()

    with opened(tmp_path, files=files) as log:
        asyncio.run(run(log))
        log.sync()
        assert numbers(log.replay()) == [2]


@pytest.mark.parametrize("as_task", [True, False])
def test_a_block_that_rolled_back_by_itself_waits_for_nothing(tmp_path: Path, as_task: bool) -> None:
    async def run(log: SegmentLog) -> None:
        async with log.begin() as transaction:
            transaction.append(order(1))
            transaction.rollback()

    with opened(tmp_path) as log:
        if as_task:
            asyncio.run(run(log))
        else:
            with log.begin(wait=True) as transaction:
                transaction.append(order(1))
                transaction.rollback()
        log.sync()
        assert numbers(log.replay()) == []


def test_a_block_that_committed_by_itself_is_waited_for(tmp_path: Path) -> None:
    with small(tmp_path) as log:
        with log.begin(wait=True) as transaction:
            transaction.append(order(1))
            ticket = transaction.commit()
        assert ticket.done


@pytest.mark.parametrize("as_task", [True, False])
def test_a_disk_that_fails_is_raised_at_the_end_of_the_block(tmp_path: Path, as_task: bool) -> None:
    files = Broken()

    async def in_task(log: SegmentLog) -> None:
        async with log.begin() as transaction:
            transaction.append(order(1))

    def in_thread(log: SegmentLog) -> None:
        with log.begin(wait=True) as transaction:
            transaction.append(order(1))

    log = opened(tmp_path, files=files)
    files.broken = True
    with pytest.raises(SystemFailedError):
        asyncio.run(in_task(log)) if as_task else in_thread(log)
    files.broken = False
    log.close()
    with opened(tmp_path) as again:
        assert numbers(again.replay()) == []


def test_a_closed_log_is_raised_at_the_end_of_an_async_block(tmp_path: Path) -> None:
    async def run(log: SegmentLog) -> None:
        async with log.begin():
            log.close()

    with pytest.raises(RefusedError, match="closed"):
        asyncio.run(run(opened(tmp_path)))


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
def test_any_task_of_any_loop_awaits_the_same_ticket(tmp_path: Path, policy: SyncPolicy) -> None:
    files = Blocked()
    done: list[int] = []

    async def wait(ticket: Any, number: int) -> None:
        await ticket
        assert ticket.done
        done.append(number)

    async def together(ticket: Any, first: int) -> None:
        await asyncio.gather(*(wait(ticket, first + number) for number in range(5)), asyncio.wait_for(ticket, 20))

    with opened(tmp_path, files=files, sync=policy) as log:
        files.free.clear()
        ticket = log.append(order(1))
        loops = [threading.Thread(target=asyncio.run, args=(together(ticket, first),)) for first in (0, 5, 10)]
        for each in loops:
            each.start()
        loops[0].join(0.1)
        assert done == []
        files.free.set()
        for each in loops:
            each.join(20)
        assert sorted(done) == list(range(15))
        # One that is done may be awaited again.
        asyncio.run(wait(ticket, 15))


def test_a_task_that_gives_up_takes_the_ticket_from_nobody(tmp_path: Path) -> None:
    files = Blocked()

    async def run(log: SegmentLog) -> None:
        files.free.clear()
        ticket = log.append(order(1))
        other = asyncio.ensure_future(ticket)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ticket, 0.05)
        assert not ticket.done
        files.free.set()
        await asyncio.wait_for(other, 20)
        await asyncio.wait_for(ticket, 20)

    with opened(tmp_path, files=files) as log:
        asyncio.run(run(log))


def test_room_is_awaited_where_an_append_would_block(tmp_path: Path) -> None:
    files = Blocked()

    async def run(log: SegmentLog) -> None:
        await log.room()
        files.free.clear()
        while not log.appender.full:
            log.append(order(1, 1000))
        waiting = asyncio.ensure_future(log.room())
        for _ in range(20):
            await asyncio.sleep(0.002)
        assert not waiting.done()
        files.free.set()
        await asyncio.wait_for(waiting, 20)
        assert not log.appender.full

    with opened(tmp_path, files=files, max_unsynced=16384) as log:
        asyncio.run(run(log))
        until(lambda: log.stats().unsynced_bytes == 0)
