"""One node's tail and the outlet that its rows go to: when to commit, and where both stand. Target first, state after.

What an outlet that keeps its place has committed it never gets again; `planning/two_positions.py` says where a run
begins. Knows no target.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from tailer.errors import CdcError, RefusedError
from tailer.planning.two_positions import Target, offset_of_text, offset_text
from tailer.reading.task import ReadTask
from tailer.rows.choice import AnyBatch
from tailer.sinks.outlet import Outlet, OutletContext, OutletKey, Place, TargetAwayError
from tailer.tail.follow import Say, Stalled
from tailer.tail.patience import Patience
from tailer.tail.step import Step
from tailer.tail.tail import Tail
from tailer.tail.watch import NO_WATCH, Watch

PLACE_SECONDS: Final = 10.0
"""A place without rows is committed this often, or where it is in another segment."""

_BACKLOG_SECONDS: Final = 1.0
"""Rows of a backlog wait so long at least for more, as far as the bounds allow."""

Make = Callable[[OutletContext], Outlet]


class Feed:
    """Of one run; to be opened, and closed. `rows`: how many are committed."""

    def __init__(
        self,
        tail: Tail,
        make: Make,
        patience: Patience,
        say: Say,
        watch: Watch = NO_WATCH,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tail, self.watch = tail, watch
        self.rows = 0
        self.stalled = Stalled(say, clock)
        self._make, self._say = make, say
        self._patience = patience
        self._clock = clock
        self._outlet: Outlet | None = None
        self._stands: Place | None = None
        self._waiting, self._bytes = 0, 0
        self._since = self._committed_at = clock()

    def open(self) -> None:
        """Connect the outlet, and stand where it is. Raises the errors of `Outlet.open` and `Tail.stand_at`."""
        self.watch.began(self.tail)
        self._connect()
        typed = self.tail.typed
        if self._at_hand.keeps_place:
            place, name = self._stands, self._at_hand.name
            target = None if place is None else Target(offset_of_text(place.offset, name), place.generation)
            self.tail.stand_at(target, name)
        if self.tail.typed != typed:
            # What it was opened with is not the form that rows have from here on.
            self._connect()

    def close(self) -> None:
        """What is not committed comes again in a later run."""
        if self._outlet is not None:
            self._outlet.close()
            self._outlet = None

    def take(self, step: Step, stopping: Callable[[], bool]) -> None:
        """A step's rows. The tail stands behind it then, unless `stopping` came in between."""
        for task in step.tasks:
            for batch in self._read(task):
                self._commit_full()
                self.watch.read(task, batch)
                self._write(batch)
                self.tail.took(step, task, batch)
                if stopping():
                    return
            self.tail.took(step, task)
            self._commit_full()
        self.tail.advance(step)
        self._commit_full()

    def rest(self) -> None:
        """Nothing more is at hand: commit what has waited long enough."""
        waited = self._clock() - self._since
        if (self._waiting and waited >= self._at_hand.bounds.seconds) or (not self._waiting and self._place_due()):
            self.commit()

    @property
    def patience_seconds(self) -> float | None:
        """How long rows may wait from now on; None where none do."""
        if not self._waiting:
            return None
        return max(0.0, self._since + self._at_hand.bounds.seconds - self._clock())

    def commit(self) -> None:
        """All rows that can be are durable with their place, and the state says so too.

        Rows of a transaction that goes on cannot: they come again if nothing more is committed.
        """
        behind = Place(offset_text(self.tail.taken), self.tail.generation)
        if not self.tail.settled or (behind == self._stands and not self._waiting):
            return
        self.tail.announce()
        self._durably(behind)
        self._stands = behind
        self.tail.save()
        self.watch.delivered(self.tail.taken)
        self.watch.saved()
        self.rows += self._waiting
        self._waiting, self._bytes = 0, 0
        self._committed_at = self._clock()

    @property
    def _at_hand(self) -> Outlet:
        assert self._outlet is not None, "the feed is open"
        return self._outlet

    def _connect(self) -> None:
        self.close()
        tail = self.tail
        key = OutletKey(tail.state_id, tail.options.node, str(tail.options.consumer))
        self._outlet = self._make(self._context(key))
        self._stands = self._reach()

    def _context(self, key: OutletKey) -> OutletContext:
        tail = self.tail
        more = tail.options.extra_columns
        return OutletContext(key, tail.definition, tail.typed, self._refuse, self._say, more)

    def _read(self, task: ReadTask) -> Iterator[AnyBatch]:
        try:
            yield from self.tail.read(task)
        except CdcError:
            # What was taken before it is not given again.
            self.commit()
            raise

    def _refuse(self, batch: AnyBatch, row: int, error: CdcError) -> None:
        self.tail.refuse_row(batch, row, error)
        self.watch.left_out(1)

    def _write(self, batch: AnyBatch) -> None:
        if not len(batch):
            return
        if not self._waiting:
            self._since = self._clock()
        self._bytes = self._at_hand.write(batch)
        self._waiting += len(batch)

    def _commit_full(self) -> None:
        bounds = self._at_hand.bounds
        full = (bounds.rows is not None and self._waiting >= bounds.rows) or (
            bounds.bytes is not None and self._bytes >= bounds.bytes
        )
        late = self._waiting and self._clock() - self._since >= max(bounds.seconds, _BACKLOG_SECONDS)
        if full or late:
            self.commit()

    def _place_due(self) -> bool:
        if self._stands is None:
            return True
        elsewhere = offset_of_text(self._stands.offset, self._at_hand.name).s != self.tail.taken.s
        return elsewhere or self._clock() - self._committed_at >= PLACE_SECONDS

    def _durably(self, behind: Place) -> None:
        while True:
            try:
                self._at_hand.commit(self._stands, behind)
                break
            except TargetAwayError as error:
                self._patience.wait(error)
                if self._was_committed(behind):
                    self._at_hand.settled()
                    break
        self._patience.over()

    def _was_committed(self, behind: Place) -> bool:
        """Whether a commit whose answer was lost is there; what is there tells."""
        place = self._reach()
        if not self._at_hand.keeps_place or place == self._stands:
            return False
        if place == behind:
            return True
        raise RefusedError(
            f"{self._at_hand.name} was moved by somebody else",
            expected="this run's place or the one before it",
            found="none" if place is None else place.offset,
            remedy="Is another run feeding it under the same consumer and node? Let one go on.",
        )

    def _reach(self) -> Place | None:
        """What the outlet says where it opens, as soon as its target can be reached."""
        while True:
            try:
                return self._at_hand.open()
            except TargetAwayError as error:
                self._patience.wait(error)
