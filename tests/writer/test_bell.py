"""The bell of the sync thread, and signal handlers that raise at any moment."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType

from writer_hooks.bell import Bell


def test_it_rings_until_it_was_heard_once() -> None:
    bell = Bell()
    assert not bell.hear(0.0)
    bell.ring()
    bell.ring()
    assert bell.hear(0.0)
    assert not bell.hear(-1.0)


def test_it_wakes_who_waits() -> None:
    bell, heard = Bell(), []
    thread = threading.Thread(target=lambda: heard.append(bell.hear(20)))
    thread.start()
    bell.ring()
    thread.join(20)
    assert heard == [True]


def test_a_handler_that_raises_never_leaves_it_locked() -> None:
    """An Event is, after some thousand of them: it waits for its own lock for ever."""
    bell = Bell()

    def struck(number: int, frame: FrameType | None) -> None:
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, struck)
    interrupted, begun = 0, time.monotonic()
    try:
        # A second of it on a machine that has time for it; at least a hundred on any.
        while (waited := time.monotonic() - begun) < 1 or (interrupted <= 100 and waited < 60):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00002)
                for _ in range(20):
                    bell.ring()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except InterruptedError:
                interrupted += 1
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 100
    bell.ring()
    assert bell.hear(0.0)
    assert not bell.hear(0.0)
