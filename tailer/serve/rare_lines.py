"""Lines for the operator, one now and then: whatever happens a thousand times a second fills no disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

SILENT_SECONDS: Final = 5.0

Say = Callable[[str], None]


class RareLines:
    """One kind of lines. `say` takes the line. `clock`: in seconds."""

    def __init__(self, say: Say, clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._said = -SILENT_SECONDS
        self._unsaid = 0

    def warn(self, line: str, more: str) -> None:
        """A warning, unless there was one a moment ago. `more`: what the lines that were left out are called."""
        now = self._clock()
        if now - self._said < SILENT_SECONDS:
            self._unsaid += 1
            return
        left_out = f" (and {self._unsaid} more {more})" if self._unsaid else ""
        self._said, self._unsaid = now, 0
        self._say(f"warning: {line}{left_out}")
