"""A log with threads that dies, or is interrupted, while others wait."""

from __future__ import annotations

import asyncio
import errno
import threading
from pathlib import Path

import pytest

from tailer.errors import RefusedError, SystemFailedError
from tailer.position import Position
from tests.writer.plain import ORDERS, Blocked, until
from tests.writer.small_log import numbers, order
from writer_hooks import SegmentLog, periodic
from writer_hooks.disk import RealFiles


class Failing(RealFiles):
    """The disk, until `error` is set: then the next fdatasync raises it, once."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def fdatasync(self, fd: int) -> None:
        error, self.error = self.error, None
        if error is not None:
            raise error
        super().fdatasync(fd)


def test_everybody_who_waits_hears_of_a_failed_fsync(tmp_path: Path) -> None:
    files = Failing()
    log = SegmentLog.open(tmp_path, [ORDERS], files=files, segment_bytes=65536, sync=periodic(50))
    log.append(order(1)).wait()
    files.error = OSError(errno.EIO, "Input/output error")
    tickets = [log.append(order(number)) for number in range(2, 8)]
    failures: list[Exception] = []

    def wait(index: int) -> None:
        try:
            tickets[index].wait()
        except SystemFailedError as error:
            failures.append(error)

    async def wait_all() -> None:
        for result in await asyncio.gather(*tickets[3:], return_exceptions=True):
            assert isinstance(result, SystemFailedError)

    threads = [threading.Thread(target=wait, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    asyncio.run(wait_all())
    for thread in threads:
        thread.join(20)
    assert len(failures) == 3
    with pytest.raises(RefusedError, match="dead since a failure"):
        log.append(order(8))
    assert not any(ticket.done for ticket in tickets)
    log.close()
    assert not (tmp_path / "commitlog" / "FAILED").read_text().isspace()
    with SegmentLog.open(tmp_path, [ORDERS], segment_bytes=65536) as again:
        assert numbers(again.replay()) == [1]


def test_an_interrupted_sync_is_not_gone_on_with(tmp_path: Path) -> None:
    """Without threads the caller syncs, and an exception of a signal handler may come up in the middle of it."""
    files = Failing()
    log = SegmentLog.open(tmp_path, [ORDERS], files=files, segment_bytes=65536, threads=False)
    log.append(order(1)).wait()
    files.error = KeyboardInterrupt()
    ticket = log.append(order(2))
    with pytest.raises(KeyboardInterrupt):
        ticket.wait()
    assert not ticket.done
    with pytest.raises(SystemFailedError, match="KeyboardInterrupt"):
        ticket.wait()
    log.close()
    with SegmentLog.open(tmp_path, [ORDERS], segment_bytes=65536) as again:
        again.append(order(3)).wait()
        assert numbers(again.replay()) == [1, 3]


def test_a_hook_that_raises_is_logged_and_counted_and_the_log_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Position] = []
    with SegmentLog.open(tmp_path, [ORDERS], segment_bytes=65536, sync=periodic(1)) as log:
        log.hooks.append(_fail)
        log.hooks.append(lambda section: heard.append(section.end))
        log.append(order(1)).wait()
        until(lambda: log.stats().hook_failures == 1)
        log.append(order(2)).wait()
        until(lambda: log.stats().hook_failures == 2)
        assert log.stats().dead is None
        until(lambda: heard[-1:] == [log.end])
    assert len(heard) >= 2
    assert "a hook failed" in caplog.text
    assert "ZeroDivisionError: a hook" in caplog.text


def _fail(section: object) -> None:
    raise ZeroDivisionError("a hook")


def test_an_event_loop_that_is_closed_while_it_is_told_is_no_matter_of_the_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Blocked()
    with SegmentLog.open(tmp_path, [ORDERS], files=files, segment_bytes=65536, sync=periodic(1)) as log:
        loop = asyncio.new_event_loop()
        files.free.clear()
        ticket = log.append(order(1))

        async def wait() -> None:
            await ticket

        waiting = loop.create_task(wait())
        loop.run_until_complete(asyncio.sleep(0.05))
        loop.close()
        # As it looks to who asked a moment before.
        monkeypatch.setattr(loop, "is_closed", lambda: False)
        files.free.set()
        ticket.wait(20)
        assert log.stats().dead is None
        log.append(order(2)).wait(20)
        monkeypatch.undo()
        # Its task is never run again, which asyncio would tell.
        loop.set_exception_handler(lambda *_: None)
        del waiting


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_ends_a_thread_of_the_log_ends_the_log(tmp_path: Path) -> None:
    """Nobody is left waiting for a thread that is gone."""
    files = Failing()
    log = SegmentLog.open(tmp_path, [ORDERS], files=files, segment_bytes=65536, sync=periodic(1))
    log.append(order(1)).wait()
    files.error = MemoryError()
    with pytest.raises(SystemFailedError, match="MemoryError"):
        log.append(order(2)).wait()
    with pytest.raises(RefusedError, match="dead"):
        log.append(order(3))
    log.close()
