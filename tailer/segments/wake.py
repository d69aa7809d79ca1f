"""Waiting for "look again": inotify as a hint, a timer as the truth.

Nothing depends on the hint: where inotify is absent, exhausted, overflowing or blind (network folders), a wait ends
after `poll_seconds`. Reads nothing and says nothing about what has changed.
"""

from __future__ import annotations

import select
import time
from pathlib import Path
from typing import Final, Protocol

POLL_SECONDS: Final = 0.25
"""How long a change may stay unnoticed when the hint is lost."""


class Waker(Protocol):
    """Something that waits until it may be worth looking again."""

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds`; True when something hints at a change, False when the time is over."""
        ...

    def close(self) -> None: ...


class PollWaker:
    """No hints: the whole wait is the poll."""

    def __init__(self, poll_seconds: float = POLL_SECONDS) -> None:
        self._poll_seconds = poll_seconds

    def wait(self, seconds: float) -> bool:
        time.sleep(max(0.0, min(seconds, self._poll_seconds)))
        return False

    def close(self) -> None:
        return None


class InotifyWaker:
    """Ends a wait when a sidecar is written or a name in the folder changes."""

    def __init__(self, folder: Path, poll_seconds: float = POLL_SECONDS) -> None:
        import inotify_simple

        flags = inotify_simple.flags
        self._poll_seconds = poll_seconds
        self._inotify = inotify_simple.INotify(nonblocking=True)
        # CLOSE_WRITE, not MODIFY: a sidecar is truncated and then written, and a mapped log gives no event at all.
        mask = flags.CLOSE_WRITE | flags.CREATE | flags.DELETE | flags.MOVED_TO | flags.MOVED_FROM
        try:
            self._inotify.add_watch(str(folder), mask)
        except OSError:
            self._inotify.close()
            raise
        # Not select(): it knows no descriptor above 1023, and a Spark worker has many.
        self._poll = select.poll()
        self._poll.register(self._inotify.fileno(), select.POLLIN)

    def wait(self, seconds: float) -> bool:
        limit = max(0.0, min(seconds, self._poll_seconds))
        if not self._poll.poll(limit * 1000):
            return False
        # What the events say does not matter, an overflow included: the folder is listed anew in any case.
        self._inotify.read(timeout=0)
        return True

    def close(self) -> None:
        self._inotify.close()


def open_waker(folder: Path, poll_seconds: float = POLL_SECONDS) -> Waker:
    """The best waker there is for this folder on this machine; never fails."""
    try:
        return InotifyWaker(folder, poll_seconds)
    except (ImportError, OSError):
        return PollWaker(poll_seconds)
