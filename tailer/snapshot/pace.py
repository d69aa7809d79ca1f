"""How fast rows are taken from a server: so many a second at most. Knows no server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

_AHEAD_SECONDS: Final = 0.05
"""What may come at once, where rows are taken one by one."""

_AT_ONCE_SECONDS: Final = 0.25
"""So long what is taken at once may take."""


class Pace:
    """Of all readers together; any thread may take. `rows_per_second`: None for no limit."""

    def __init__(
        self,
        rows_per_second: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._seconds = 0.0 if rows_per_second is None else 1 / rows_per_second
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = clock()

    def at_once(self, most: int) -> int:
        """How many rows may be asked for at once."""
        return most if not self._seconds else max(1, min(most, int(_AT_ONCE_SECONDS / self._seconds)))

    def take(self, rows: int = 1) -> None:
        """So many rows; returns when they may be taken."""
        if not self._seconds:
            return
        with self._lock:
            now = self._clock()
            self._next = max(self._next, now - _AHEAD_SECONDS) + rows * self._seconds
            wait = self._next - now
        if wait > _AHEAD_SECONDS:
            self._sleep(wait - _AHEAD_SECONDS / 2)
