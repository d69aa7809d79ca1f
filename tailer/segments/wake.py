"""Waiting for "look again", and which names were heard of meanwhile: inotify as a hint, a timer as the truth.

Nothing depends on the hint: where inotify is absent, exhausted, overflowing or blind (network folders), a wait ends
after `poll_seconds`, and who looks lists the folder himself. Reads no file.
"""

from __future__ import annotations

import select
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final, Protocol

POLL_SECONDS: Final = 0.25
"""How long a change may stay unnoticed when the hint is lost."""


class Waker(Protocol):
    """Something that waits until it may be worth looking again."""

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds`; True when something hints at a change, False when the time is over."""
        ...

    def names(self) -> Collection[str] | None:
        """Names in the folder that changed since the last call; None where it must be listed to know."""
        ...

    def descriptor(self) -> int | None:
        """What is readable while there is a hint that `names` has not taken: for who waits at many folders at once.

        None where there are no hints.
        """
        ...

    def close(self) -> None: ...


class PollWaker:
    """No hints: the whole wait is the poll."""

    def __init__(self, poll_seconds: float = POLL_SECONDS) -> None:
        self._poll_seconds = poll_seconds

    def wait(self, seconds: float) -> bool:
        time.sleep(max(0.0, min(seconds, self._poll_seconds)))
        return False

    def names(self) -> Collection[str] | None:
        return None

    def descriptor(self) -> int | None:
        return None

    def close(self) -> None:
        return None


class InotifyWaker:
    """Ends a wait when a sidecar is written or a name in the folder changes.

    What it hears of are single names until the queue overflows, or the folder itself goes another way.
    """

    def __init__(self, folder: Path, poll_seconds: float = POLL_SECONDS) -> None:
        import inotify_simple

        flags = inotify_simple.flags
        self._poll_seconds = poll_seconds
        self._inotify = inotify_simple.INotify(nonblocking=True)
        # CLOSE_WRITE, not MODIFY: a sidecar is truncated and then written, and a mapped log gives no event at all.
        mask = flags.CLOSE_WRITE | flags.CREATE | flags.DELETE | flags.MOVED_TO | flags.MOVED_FROM
        self._gone = flags.MOVE_SELF | flags.DELETE_SELF | flags.IGNORED | flags.UNMOUNT
        self._missed = flags.Q_OVERFLOW | self._gone
        self._names: set[str] | None = set()
        self._blind = False
        try:
            self._inotify.add_watch(str(folder), mask | flags.MOVE_SELF | flags.DELETE_SELF)
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
        self._hear()
        return True

    def names(self) -> Collection[str] | None:
        if self._poll.poll(0):
            self._hear()
        heard, self._names = self._names, set()
        return None if self._blind else heard

    def descriptor(self) -> int | None:
        return int(self._inotify.fileno())

    def _hear(self) -> None:
        for event in self._inotify.read(timeout=0):
            # The path may be another folder's from now on, of which this watch tells nothing.
            self._blind = self._blind or bool(event.mask & self._gone)
            if event.mask & self._missed:
                self._names = None
            elif self._names is not None:
                self._names.add(event.name)

    def close(self) -> None:
        self._inotify.close()


def open_waker(folder: Path, poll_seconds: float = POLL_SECONDS) -> Waker:
    """The best waker there is for this folder on this machine; never fails."""
    try:
        return InotifyWaker(folder, poll_seconds)
    except (ImportError, OSError):
        return PollWaker(poll_seconds)
