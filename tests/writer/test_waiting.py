"""Waiting for the disk: in time, interrupted by a signal, and while too much is not durable."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tailer.errors import UsageError
from tests.writer.plain import ORDERS, Blocked, check_waits, until
from tests.writer.small_log import order
from writer_hooks import SegmentLog, SyncPolicy, batch, group, periodic
from writer_hooks.durable import Group


class InterruptedError(Exception):
    """What a handler of a signal raises."""


def _raise(number: int, frame: FrameType | None) -> None:
    raise InterruptedError


@pytest.mark.parametrize("policy", [batch(), group(500), periodic(500)], ids=lambda policy: policy.kind)
def test_wait_keeps_its_time_in_every_policy(tmp_path: Path, policy: SyncPolicy) -> None:
    files = Blocked()
    took: list[float] = []
    with SegmentLog.open(tmp_path, [ORDERS], files=files, segment_bytes=65536, sync=policy) as log:
        files.free.clear()
        ticket = log.append(order(1))

        def wait() -> None:
            begun = time.monotonic()
            with pytest.raises(TimeoutError):
                ticket.wait(0.1)
            took.append(time.monotonic() - begun)

        # Of any thread: the main one has reasons of its own not to sync.
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join(10)
        files.free.set()
        thread.join(20)
        ticket.wait(1e12)
    assert took
    assert took[0] < 5


def test_a_signal_that_interrupts_who_waits_does_not_kill_the_log(tmp_path: Path) -> None:
    files = Blocked()
    with SegmentLog.open(tmp_path, [ORDERS], files=files, segment_bytes=65536) as log:
        files.free.clear()
        files.entered.clear()
        ticket = log.append(order(1))
        other = threading.Thread(target=ticket.wait)
        before = signal.signal(signal.SIGUSR1, _raise)
        try:
            threading.Thread(target=_interrupt, args=(files, threading.main_thread())).start()
            with pytest.raises(InterruptedError):
                ticket.wait()
            other.start()
        finally:
            signal.signal(signal.SIGUSR1, before)
            files.free.set()
        ticket.wait()
        other.join(20)
        assert not other.is_alive()
        assert log.stats().dead is None
        log.append(order(2)).wait()


def _interrupt(files: Blocked, thread: threading.Thread) -> None:
    """In the middle of the sync; it goes on a moment later."""
    assert files.entered.wait(20)
    assert thread.ident is not None
    signal.pthread_kill(thread.ident, signal.SIGUSR1)
    time.sleep(0.2)
    files.free.set()


# It may strike in a callback of the interpreter's own, which swallows what is raised there.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_signals_at_any_moment_do_not_kill_the_log(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGALRM, _raise)
    interrupted = 0
    end = time.monotonic() + 2
    try:
        with SegmentLog.open(tmp_path, [ORDERS], segment_bytes=65536) as log:
            while time.monotonic() < end:
                ticket = log.append(order(1))
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0005)
                    ticket.wait()
                    log.sync()
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except InterruptedError:
                    interrupted += 1
            assert log.stats().dead is None
            log.append(order(2)).wait()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 0


class _Struck:
    """A gate whose first passage is interrupted when it is through."""

    def __init__(self, gate: Any) -> None:
        self._gate = gate
        self._armed = True

    def acquire(self, timeout: float) -> bool:
        passed: bool = self._gate.acquire(timeout=timeout)
        if self._armed:
            self._armed = False
            raise InterruptedError
        return passed

    def release(self) -> None:
        self._gate.release()


def test_who_is_interrupted_at_the_gate_does_not_close_it_behind_him() -> None:
    waiting = Group()
    waiting._gate = _Struck(waiting._gate)  # type: ignore[assignment]
    waiting.open()
    with pytest.raises(InterruptedError):
        waiting.wait(1.0)
    assert waiting.wait(1.0)
    assert waiting.wait(1.0)


@pytest.mark.parametrize("segment_bytes", [1 << 20, 8192], ids=["one segment", "many segments"])
@pytest.mark.parametrize("in_transaction", [True, False], ids=["transaction", "by itself"])
def test_what_is_not_durable_is_bounded(tmp_path: Path, segment_bytes: int, in_transaction: bool) -> None:
    files = Blocked()
    options = {"segment_bytes": segment_bytes, "max_unsynced": 32768}
    with SegmentLog.open(tmp_path, [ORDERS], files=files, **options) as log:
        transaction = log.begin()
        log.sync()
        files.free.clear()

        def write() -> None:
            for number in range(200):
                if in_transaction:
                    transaction.append(order(number, size=1000))
                else:
                    log.append(order(number, size=1000))

        thread = threading.Thread(target=write)
        thread.start()
        until(lambda: log.stats().unsynced_bytes > 16384)
        check_waits(thread, log, files, 32768)
        transaction.commit().wait()
        assert sum(len(each.change.rows) for each in log.replay()) == 200


@pytest.mark.parametrize(
    "given",
    ["batch", batch, None, SyncPolicy("often", 0.0), SyncPolicy("group", -1.0)],  # type: ignore[arg-type]
    ids=["a name", "a function", "nothing", "an unknown kind", "a negative time"],
)
def test_a_policy_that_is_none_is_refused_with_the_right_words(tmp_path: Path, given: Any) -> None:
    with pytest.raises(UsageError) as caught:
        SegmentLog.open(tmp_path, [ORDERS], sync=given)
    assert caught.value.code == 2
    assert "sync" in str(caught.value) or "time of group" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", ["2", -1, float("nan"), float("inf"), True])
def test_a_time_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(UsageError, match="milliseconds, 0 or more"):
        group(given)
    with pytest.raises(UsageError, match="milliseconds, 0 or more"):
        periodic(given)
