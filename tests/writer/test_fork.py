"""A child that is forked from a process with a log: it has none, and never waits for a thread that is not there."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError
from tests.writer.plain import ORDERS, PLAIN
from tests.writer.small_log import order
from writer_hooks import SegmentLog

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

FORKS = 60
SECONDS = 30.0


def refused(do: Callable[[], object]) -> bool:
    """Whether it is refused as documented."""
    try:
        do()
    except RefusedError as error:
        return "forked" in str(error)
    return False


def exit_code(in_child: Callable[[], int]) -> int | None:
    """What a forked child came to; None where it never came to an end."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = in_child()
        finally:
            os._exit(code)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return None


def uses(log: SegmentLog, subscription: Any = None) -> list[Callable[[], object]]:
    """Everything that a child may try, each of which is refused."""
    ticket = log.append(order(0))
    transaction = log.begin()
    transaction.append(order(0))
    tried: list[Callable[[], object]] = [
        lambda: log.append(order(1)),
        lambda: log.append_many([order(1)]),
        log.begin,
        log.sync,
        log.replay,
        lambda: log.discard_before(log.end),
        log.subscribe,
        lambda: transaction.append(order(1)),
        lambda: transaction.savepoint("s"),
        transaction.commit,
    ]
    if subscription is not None:
        tried += [lambda: subscription.take(0.0), subscription.commit]
    return [*tried, lambda: None if ticket.done else ticket.wait()]


def try_all(log: SegmentLog, tried: list[Callable[[], object]]) -> int:
    """0 where all are refused but the last, which may be done already, and the log ends without a word."""
    for number, use in enumerate(tried[:-1], 1):
        if not refused(use):
            return number
    refused(tried[-1])
    log.stats()
    log.close()
    return 0


@pytest.mark.parametrize("threads", [True, False])
def test_a_forked_child_is_refused_whoever_held_a_lock(tmp_path: Path, threads: bool) -> None:
    log = SegmentLog.open(tmp_path, [ORDERS, PLAIN], segment_bytes=65536, threads=threads)
    with log.subscribe() as subscription:
        log.append(order(1)).wait()
        assert subscription.take(20) is not None
        tried = uses(log, subscription)
        buffer = subscription._steps._buffer
        locks = [
            log.appender.lock,
            log._ending._guard,
            log._durable._guard,
            log._syncer._mutex,
            log._publisher._busy,
            log._publisher._news,
            log._subscribers._lock,
            buffer._changed,
        ]
        held, free = threading.Event(), threading.Event()

        def hold() -> None:
            with ExitStack() as stack:
                for lock in locks:
                    stack.enter_context(lock)  # type: ignore[arg-type]
                held.set()
                assert free.wait(60)

        holder = threading.Thread(target=hold)
        holder.start()
        assert held.wait(20)
        code = exit_code(lambda: try_all(log, tried))
        free.set()
        holder.join(20)
        assert code == 0
    log.append(order(2)).wait()
    log.close()


def test_children_forked_while_threads_append_are_refused(tmp_path: Path) -> None:
    stop = threading.Event()
    with SegmentLog.open(tmp_path, [ORDERS, PLAIN], segment_bytes=1 << 20) as log:

        def write() -> None:
            while not stop.is_set():
                log.append(order(1, size=50)).wait()

        writers = [threading.Thread(target=write) for _ in range(4)]
        for writer in writers:
            writer.start()
        tried = uses(log)
        codes = [exit_code(lambda: try_all(log, tried)) for _ in range(FORKS)]
        stop.set()
        for writer in writers:
            writer.join(20)
        assert codes == [0] * FORKS
        assert log.stats().dead is None


def test_a_child_keeps_no_descriptor_of_the_log(tmp_path: Path) -> None:
    # What a thread has open at the very moment of the fork is known to nobody else: without threads.
    log = SegmentLog.open(tmp_path, [ORDERS], segment_bytes=65536, threads=False)
    log.append(order(1)).wait()

    def count_open() -> int:
        held = [str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
        return sum(path.startswith(str(tmp_path)) for path in held)

    assert exit_code(count_open) == 0
    # The segment, LOCK, and the folder that is locked.
    assert count_open() == 3
    log.close()
