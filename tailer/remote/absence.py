"""Whether a node is away, and for how long: said at once, each minute, and when it is back. Asks for nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from tailer.errors import CdcError

SAID_SECONDS: Final = 60.0
"""From one sentence about a node that is away to the next one."""

Say = Callable[[str], None]


class Absence:
    """Of one node, for who waits for it `patience` seconds. Any thread may tell it something.

    `say`: takes one line for the user, from whichever thread.
    """

    def __init__(
        self, where: str, patience: float, say: Say | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._where = where
        self._patience = patience
        self._say = say
        self._clock = clock
        self._lock = threading.Lock()
        self._since: float | None = None
        self._said = 0.0

    def begun(self, error: CdcError) -> None:
        """A request was not answered, and is tried again."""
        with self._lock:
            now = self._clock()
            if self._since is None:
                self._since = now
                self._tell(
                    now, f"warning: {error.sentence()} Waiting for it for {self._patience:g} s; nothing is lost."
                )
            elif now - self._said >= SAID_SECONDS:
                self._tell(now, f"warning: {self._where} is away for {now - self._since:.0f} s; it is waited for")

    def over(self) -> None:
        """A request was answered."""
        with self._lock:
            if self._since is not None:
                now = self._clock()
                self._tell(now, f"{self._where} is there again after {now - self._since:.0f} s")
                self._since = None

    def _tell(self, now: float, line: str) -> None:
        self._said = now
        if self._say is not None:
            self._say(line)
