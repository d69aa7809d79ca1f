"""A task whose node is away waits for it: a batch that left once is read whole, or not at all. Reads nothing itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tailer.errors import CdcError, SystemFailedError
from tailer.options.log_place import LogPlace
from tailer.tail.away import AGAIN_SECONDS, RETRY_SECONDS, documented, lost_by, reason


class TaskWait:
    """Of one task. `seconds` that it waits in all; 0: it fails at once, with the error as it is."""

    def __init__(
        self,
        node: str,
        place: LogPlace,
        seconds: float,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._node = node
        self._place = place
        self._seconds = seconds
        self._say = say
        self._clock = clock
        self._sleep = sleep
        self._since: float | None = None
        self._told = 0.0

    def wait(self, error: CdcError | OSError) -> None:
        """Wait before the next try. Raises the error where that is no use, SystemFailedError where it took too long."""
        # The state is seen by the driver alone: here an empty folder is one that is not mounted.
        if not (self._seconds and lost_by(error, self._place, self._place if isinstance(self._place, Path) else None)):
            raise error
        away, now = documented(error), self._clock()
        if self._since is None:
            self._since = now
        elif now - self._since >= self._seconds:
            raise SystemFailedError(
                f"node {self._node} was away for {self._seconds:g} s, and this task is to read it: {reason(away)}",
                remedy="Start the query again when the node is back: it waits longer with option nodeWait.",
            ) from error
        if now == self._since or now - self._told >= AGAIN_SECONDS:
            self._told = now
            self._say(f"warning: node {self._node} is away: {away.sentence()} This task waits for {self._seconds:g} s.")
        self._sleep(RETRY_SECONDS)
