"""Pieces of a spool on their way to where rows go: printed, or in an outlet, which keeps the number of the last one.

An outlet has rows and number in one transaction; the spool has a piece until then, so it is there once, whatever is
killed. Reads no server, and knows no target.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NoReturn, Protocol

import msgspec

from tailer.errors import CdcError
from tailer.rows.batch import ChangeBatch
from tailer.sinks.base import Rows
from tailer.sinks.outlet import OutletContext, OutletKey, Place
from tailer.snapshot.spool import Spool
from tailer.tail.feed import Make
from tailer.tail.follow import Say
from tailer.tail.numbered import VERSION, Failures, Numbers, place_in
from tailer.tail.outgoing import Outgoing
from tailer.tail.patience import Patience
from tailer.tail.tail import Tail

NODE: Final = "snapshot"
"""What a target knows rows of a snapshot by, where it has others by their node."""

ROWS: Final = 2000
"""So many rows at most are one batch to an outlet."""


class PiecePlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far a target is: it has the pieces of a spool, by its id, up to this number."""

    snapshot: str
    pieces: int
    v: int = VERSION

    @property
    def place(self) -> Place:
        return Place(msgspec.json.encode(self).decode())


class TakesPieces(Protocol):
    """Takes the pieces of one spool, in order of their numbers. `given`: up to which they are there for good."""

    given: int

    def open(self, tail: Tail, spool: Spool) -> None:
        """Before the first one: `given` says where to go on. `tail`: of the node in whose state the spool is."""

    def give(self, number: int, rows: ChangeBatch) -> None:
        """One piece."""

    def rest(self) -> None:
        """No more is at hand now."""

    def finish(self) -> None:
        """No more come in this run."""

    def close(self) -> None:
        """Let go."""


class PrintedPieces:
    """Written to what the nodes' rows go to as well. `write`: a batch, as if a node's tail had read it."""

    def __init__(self, write: Callable[[Tail, ChangeBatch], None]) -> None:
        self.given = 0
        self._write = write
        self._tail: Tail | None = None

    def open(self, tail: Tail, spool: Spool) -> None:
        self._tail, self.given = tail, spool.known.given

    def give(self, number: int, rows: ChangeBatch) -> None:
        assert self._tail is not None, "it is open"
        self._write(self._tail, rows)
        self.given = number

    def rest(self) -> None: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


class DeliveredPieces:
    """Into an outlet of their own, which `make` makes."""

    def __init__(
        self,
        make: Make,
        consumer: str,
        patience: Patience,
        say: Say,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.given = 0
        self._make, self._consumer, self._patience, self._say = make, consumer, patience, say
        self._clock = clock
        self._outgoing: Outgoing | None = None
        self._id, self._number = "", 0
        """Of the last piece that was written."""
        self._failures = Failures()

    def open(self, tail: Tail, spool: Spool) -> None:
        """RefusedError, LossError where the target is not the one that has what the spool has no more."""
        key = OutletKey(tail.state_id, NODE, self._consumer)
        outlet = self._make(OutletContext(key, tail.definition, None, _refuse, self._say))
        self._outgoing = Outgoing(outlet, self._patience, self._clock)
        self._outgoing.open()
        self.given = spool.known.given
        if outlet.keeps_place:
            self.given = _standing(self._outgoing.stands, spool, outlet.name)
        self._number, self._id = self.given, spool.known.id

    def give(self, number: int, rows: ChangeBatch) -> None:
        with self._failures.noted():
            for start in range(0, len(rows), ROWS):
                self._at_hand.write(rows.slice(start, start + ROWS))
            self._number = number
            if self._at_hand.full:
                self._commit()

    def rest(self) -> None:
        # A piece may have no rows: its number is kept all the same.
        if self._at_hand.due or (not self._at_hand.waiting and self._number > self.given):
            self._settle()

    def finish(self) -> None:
        if self._number > self.given and not self._failures.any:
            self._settle()

    def close(self) -> None:
        if self._outgoing is not None:
            self._outgoing.close()
            self._outgoing = None

    @property
    def _at_hand(self) -> Outgoing:
        assert self._outgoing is not None, "the outlet is open"
        return self._outgoing

    def _settle(self) -> None:
        with self._failures.noted():
            self._commit()

    def _commit(self) -> None:
        self._at_hand.commit(PiecePlace(self._id, self._number).place)
        self.given = self._number


def _standing(place: Place | None, spool: Spool, name: str) -> int:
    """Up to which piece a target has a spool. Raises where it cannot be the one that has them."""
    now = spool.known
    found = None if place is None else place_in(place, PiecePlace, name, "a snapshot")
    # Another one's: of a consumer of this name that was dropped.
    number = found.pieces if found is not None and found.snapshot == now.id else 0
    return Numbers(
        "the spool of the snapshot",
        str(spool.folder),
        "piece",
        now.given,
        now.last,
        behind="Was it emptied, or restored from a backup? What it lacks is not in the spool any more: begin anew, "
        "with another consumer.",
        ahead="Restore spool and target of one time, or begin anew with another consumer.",
    ).check(number, name)


def _refuse(batch: Rows, row: int, error: CdcError) -> NoReturn:
    """No row of a table is left out: nothing would tell that it is missing."""
    raise error
