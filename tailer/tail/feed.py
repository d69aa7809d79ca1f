"""One node's tail and the outlet that its rows go to: when to commit, and where both stand. Target first, state after.

What an outlet that keeps its place has committed it never gets again; `planning/two_positions.py` says where a run
begins. Knows no target.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from tailer.errors import CdcError
from tailer.planning.two_positions import Target, offset_of_text, offset_text
from tailer.reading.task import ReadTask
from tailer.rows.choice import AnyBatch
from tailer.sinks.outlet import Outlet, OutletContext, OutletKey, Place
from tailer.tail.follow import Say, Stalled
from tailer.tail.outgoing import Outgoing
from tailer.tail.patience import Patience
from tailer.tail.step import Step
from tailer.tail.tail import Tail
from tailer.tail.watch import NO_WATCH, Watch

PLACE_SECONDS: Final = 10.0
"""A place without rows is committed this often, or where it is in another segment."""

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
        self._outgoing: Outgoing | None = None
        self._committed_at = clock()

    def open(self) -> None:
        """Connect the outlet, and stand where it is. Raises the errors of `Outlet.open` and `Tail.stand_at`."""
        self.watch.began(self.tail)
        self._connect()
        typed = self.tail.typed
        outlet, place = self._at_hand.outlet, self._at_hand.stands
        if outlet.keeps_place:
            name = outlet.name
            target = None if place is None else Target(offset_of_text(place.offset, name), place.generation)
            self.tail.stand_at(target, name)
        if self.tail.typed != typed:
            # What it was opened with is not the form that rows have from here on.
            self._connect()

    def close(self) -> None:
        """What is not committed comes again in a later run."""
        if self._outgoing is not None:
            self._outgoing.close()
            self._outgoing = None

    def take(self, step: Step, stopping: Callable[[], bool]) -> None:
        """A step's rows. The tail stands behind it then, unless `stopping` came in between."""
        for task in step.tasks:
            for batch in self._read(task):
                self._commit_full()
                self.watch.read(task, batch)
                self._at_hand.write(batch)
                self.tail.took(step, task, batch)
                if stopping():
                    return
            self.tail.took(step, task)
            self._commit_full()
        self.tail.advance(step)
        self._commit_full()

    def rest(self) -> None:
        """Nothing more is at hand: commit what has waited long enough."""
        if self._at_hand.due or (not self._at_hand.waiting and self._place_due()):
            self.commit()

    @property
    def patience_seconds(self) -> float | None:
        """How long rows may wait from now on; None where none do."""
        return self._at_hand.patience_seconds

    def commit(self) -> None:
        """All rows that can be are durable with their place, and the state says so too.

        Rows of a transaction that goes on cannot: they come again if nothing more is committed.
        """
        behind = Place(offset_text(self.tail.taken), self.tail.generation)
        outgoing = self._at_hand
        if not self.tail.settled or (behind == outgoing.stands and not outgoing.waiting):
            return
        self.tail.announce()
        rows = outgoing.commit(behind)
        self.tail.save()
        self.watch.delivered(self.tail.taken)
        self.watch.saved()
        self.rows += rows
        self._committed_at = self._clock()

    @property
    def _at_hand(self) -> Outgoing:
        assert self._outgoing is not None, "the feed is open"
        return self._outgoing

    def _connect(self) -> None:
        self.close()
        tail = self.tail
        key = OutletKey(tail.state_id, tail.options.node, str(tail.options.consumer))
        self._outgoing = Outgoing(self._make(self._context(key)), self._patience, self._clock)
        self._outgoing.open()

    def _context(self, key: OutletKey) -> OutletContext:
        tail = self.tail
        more = tail.options.extra_columns
        return OutletContext(key, tail.definition, tail.typed, self._refuse, self._say, more, versions=tail.versions)

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

    def _commit_full(self) -> None:
        if self._at_hand.full:
            self.commit()

    def _place_due(self) -> bool:
        stands = self._at_hand.stands
        if stands is None:
            return True
        elsewhere = offset_of_text(stands.offset, self._at_hand.outlet.name).s != self.tail.taken.s
        return elsewhere or self._clock() - self._committed_at >= PLACE_SECONDS
