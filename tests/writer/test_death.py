"""A log with threads that dies, or is interrupted, while others wait."""

from __future__ import annotations

import asyncio
import errno
import threading
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError, SystemFailedError
from tests.writer.plain import ORDERS, until
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


def order(number: int) -> Any:
    return ORDERS.insert({"id": number, "note": ""})


def numbers(log: SegmentLog) -> list[int]:
    return [int.from_bytes(row.partition_key[0], "big") for each in log.replay() for row in each.change.rows]


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
        assert numbers(again) == [1]


def test_an_interrupted_sync_is_not_gone_on_with(tmp_path: Path) -> None:
    files = Failing()
    log = SegmentLog.open(tmp_path, [ORDERS], files=files, segment_bytes=65536)
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
        assert numbers(again) == [1, 3]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_hook_that_fails_kills_the_log_and_leaves_nobody_waiting(tmp_path: Path) -> None:
    log = SegmentLog.open(tmp_path, [ORDERS], segment_bytes=65536, sync=periodic(1))
    log.hooks.append(_fail)
    log.append(order(1))
    until(lambda: log.stats().dead is not None)
    with pytest.raises(RefusedError, match="dead"):
        log.append(order(2))
    log.close()


def _fail(section: object) -> None:
    raise ZeroDivisionError("a hook")
