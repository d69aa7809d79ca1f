"""Rows on their way into one outlet: when they are to be committed, and commits that are tried until they are there.

Whether a commit whose answer was lost is there is read from the target, never guessed. Knows no log and no target.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from tailer.errors import RefusedError
from tailer.sinks.base import Rows
from tailer.sinks.outlet import Outlet, Place, TargetAwayError
from tailer.tail.patience import Patience

_BACKLOG_SECONDS: Final = 1.0
"""Rows of a backlog wait so long at least for more, as far as the bounds allow."""


class Outgoing:
    """Of one outlet, to be opened and closed. `stands`: the place that its target keeps. `waiting`: rows that are not
    committed."""

    def __init__(self, outlet: Outlet, patience: Patience, clock: Callable[[], float] = time.monotonic) -> None:
        self.outlet = outlet
        self.stands: Place | None = None
        self.waiting = 0
        self._bytes = 0
        self._patience = patience
        self._clock = clock
        self._since = clock()

    def open(self) -> None:
        """What the outlet says where it opens, as soon as its target can be reached."""
        self.stands = self._reach()

    def close(self) -> None:
        """What is not committed comes again in a later run."""
        self.outlet.close()

    def write(self, batch: Rows) -> None:
        """Take rows; see `Outlet.write`."""
        if not len(batch):
            return
        if not self.waiting:
            self._since = self._clock()
        self._bytes = self.outlet.write(batch)
        self.waiting += len(batch)

    @property
    def full(self) -> bool:
        """Whether rows must be committed though more are at hand."""
        bounds = self.outlet.bounds
        full = (bounds.rows is not None and self.waiting >= bounds.rows) or (
            bounds.bytes is not None and self._bytes >= bounds.bytes
        )
        return full or (self.waiting > 0 and self._waited >= max(bounds.seconds, _BACKLOG_SECONDS))

    @property
    def due(self) -> bool:
        """Whether rows have waited long enough, where nothing more is at hand."""
        return self.waiting > 0 and self._waited >= self.outlet.bounds.seconds

    @property
    def patience_seconds(self) -> float | None:
        """How long rows may wait from now on; None where none do."""
        return max(0.0, self.outlet.bounds.seconds - self._waited) if self.waiting else None

    def commit(self, behind: Place) -> int:
        """All that was written is durable, and the place behind it; how many rows. Raises the errors of `Outlet`."""
        self._durably(behind)
        self.stands = behind
        rows, self.waiting, self._bytes = self.waiting, 0, 0
        return rows

    @property
    def _waited(self) -> float:
        return self._clock() - self._since

    def _durably(self, behind: Place) -> None:
        while True:
            try:
                self.outlet.commit(self.stands, behind)
                break
            except TargetAwayError as error:
                self._patience.wait(error)
                if self._was_committed(behind):
                    self.outlet.settled()
                    break
        self._patience.over()

    def _was_committed(self, behind: Place) -> bool:
        """Whether a commit whose answer was lost is there; what is there tells."""
        place = self._reach()
        if not self.outlet.keeps_place or place == self.stands:
            return False
        if place == behind:
            return True
        raise RefusedError(
            f"{self.outlet.name} was moved by somebody else",
            expected="this run's place or the one before it",
            found="none" if place is None else place.offset,
            remedy="Is another run feeding it under the same consumer and node? Let one go on.",
        )

    def _reach(self) -> Place | None:
        while True:
            try:
                return self.outlet.open()
            except TargetAwayError as error:
                self._patience.wait(error)
