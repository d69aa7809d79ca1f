"""Threads of many nodes take turns: what each does is short, and side by side they would only wait for each other.

Python runs one thread at a time; sixty that call the file system at once spend more on handing it about than on their
work. So one at a time has a turn, and the last of many wakes whoever waits for what comes of it. A turn that lasts
passes on to the next: a file system that hangs holds nobody up for longer. Knows no node.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

PASS_SECONDS: Final = 0.02
"""A turn that lasts longer is no hindrance for others any more."""

TELL_SECONDS: Final = 0.01
"""Whoever waits for what came of many turns hears of it so often, and at the last."""


class Turns:
    """Of one query's nodes. `answered` is called in a node's thread: something has come of its work."""

    def __init__(self, answered: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._answered = answered
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._turn: threading.Lock | None = None
        self._free = False
        self._since = self._told = clock()

    @property
    def waiting(self) -> int:
        """How many wait for a turn."""
        return len(self._waiting)

    def take(self) -> threading.Lock:
        """Wait for a turn, in a node's thread. To be given back as it came."""
        mine = threading.Lock()
        with self._lock:
            if self._turn is None or self._free:
                self._turn, self._since = mine, self._clock()
                return mine
            mine.acquire()
            self._waiting.append(mine)
        # Released by who passes the turn on.
        mine.acquire()
        return mine

    def give(self, mine: threading.Lock) -> None:
        """The turn is over, unless it was passed on already; what came of it may be taken."""
        with self._lock:
            if self._turn is mine:
                self._pass_on()
            now = self._clock()
            tell = self._turn is None or now - self._told >= TELL_SECONDS
            if tell:
                self._told = now
        if tell:
            self._answered()

    def pass_over(self) -> None:
        """To be called while somebody waits: who has had the turn for too long goes on without it."""
        with self._lock:
            if self._turn is not None and self._clock() - self._since >= PASS_SECONDS:
                self._pass_on()

    def free(self) -> None:
        """Everybody has a turn from now on: nothing that comes of it is waited for any more."""
        with self._lock:
            self._free = True
            while self._waiting:
                self._pass_on()

    def _pass_on(self) -> None:
        self._turn, self._since = (self._waiting.popleft() if self._waiting else None), self._clock()
        if self._turn is not None:
            self._turn.release()
