"""The next segment made ahead of its use, as a log with threads makes it, but at calls that a seed chooses: a thread's
work, at any place between the log's own calls, and the same in every run."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

from tailer.errors import CdcError
from writer_hooks import SegmentLog
from writer_hooks.open_segment import Segment

SHARE = 0.2
"""How often a call finds the thread at work, where a segment is wanted."""


class Ahead:
    """In the place of a log's `Spares`. `between` is called before each call of the log to the disk."""

    def __init__(self, log: SegmentLog, seed: int) -> None:
        self.ready: Segment | None = None
        self._spares: Any = log.appender.spares
        self._rng = random.Random(seed)
        self._busy = False
        log.appender.supply(self)  # type: ignore[arg-type]

    def between(self) -> None:
        """Makes the next segment now, or later. A failure is told when the segment is taken."""
        if self._busy or self.ready is not None or self._rng.random() >= SHARE:
            return
        with suppress(CdcError):
            self._make()

    def take(self, waited: bool) -> Segment | None:
        if self.ready is None:
            self._make()
        spare, self.ready = self.ready, None
        return spare

    def stop(self) -> None:
        self._busy = True
        self._spares.stop()

    def _make(self) -> None:
        self._busy = True
        try:
            self.ready = self._spares.take(waited=True)
        finally:
            self._busy = False
