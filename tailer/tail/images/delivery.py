"""Images on their way from the outbox of one state into an outlet: each batch is there once, whatever is killed.

The outlet keeps the number of the last batch as its place, in the same transaction as the images. The state says so
later: a batch that the outlet has is never given again, and one that it has not is in the outbox still.
Knows no target.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

import msgspec

from tailer.errors import CdcError, RefusedError
from tailer.image_state.one_transaction import ImageBatch
from tailer.images.image import arrow_schema
from tailer.options.images import ImageOptions
from tailer.sinks.base import Rows
from tailer.sinks.image_node import image_node
from tailer.sinks.in_force import versions_of_images
from tailer.sinks.outlet import ImagesForm, OutletContext, OutletKey, Place, ReportsEnd, ReportsWaiting, TableWaits
from tailer.tail.feed import Make
from tailer.tail.follow import Say
from tailer.tail.images.stream import ImageStream, Outbox
from tailer.tail.numbered import VERSION, Failures, Numbers, place_in
from tailer.tail.outgoing import Outgoing
from tailer.tail.patience import Patience

ROWS: Final = 2000
"""So many images at most are one batch to an outlet."""


class ImagePlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far a target is: it has the images up to this number of the outbox."""

    images: int
    v: int = VERSION

    @property
    def place(self) -> Place:
        return Place(msgspec.json.encode(self).decode())


class ImageDelivery:
    """Of one run; whoever calls it holds what the state is guarded by.

    `make`: of the outlet. `patience`: with a target that is away.
    """

    def __init__(
        self,
        make: Make,
        consumer: str,
        images: ImageOptions,
        patience: Patience,
        say: Say,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make, self._say = make, say
        self._consumer, self._images = consumer, images
        self._patience = patience
        self._clock = clock
        self._stream: ImageStream | None = None
        self._outgoing: Outgoing | None = None
        self._number = 0
        self._failures = Failures()

    def reach(self, stream: ImageStream) -> int:
        """Connect the outlet: up to which number it has the batches. See Reach; RefusedError, LossError."""
        self._stream = stream
        tokens = self._images.tokens
        key = OutletKey(stream.identity, image_node(tokens and (tokens.first, tokens.last)), self._consumer)
        form = ImagesForm(self._images.before, arrow_schema)
        context = OutletContext(
            key,
            stream.definition,
            None,
            _refuse,
            self._say,
            images=form,
            history=stream.definitions,
            versions=lambda id: versions_of_images(stream.definitions(id)),
        )
        outlet = self._make(context)
        self._outgoing = Outgoing(outlet, self._patience, self._clock)
        self._outgoing.open()
        self._number = stream.outbox.given
        if outlet.keeps_place:
            self._number = _standing(self._outgoing.stands, stream.outbox, outlet.name, stream.where)
        return self._number

    def give(self, batch: ImageBatch) -> bool:
        """A batch; whether all up to it is in the target by now. See Give."""
        if self._failures.any:
            # The run ends, and a batch before this one is not in hand: both stand in the outbox.
            return False
        with self._failures.noted():
            rows = batch.rows(before=self._images.before)
            for begin in range(0, len(rows), ROWS):
                self._at_hand.write(rows.slice(begin, begin + ROWS))
            self._number = batch.number
            if self._at_hand.full:
                self._commit()
        return not self._at_hand.waiting

    def rest(self) -> None:
        """Nothing more is at hand: commit what has waited long enough."""
        if self._at_hand.due and not self._failures.any:
            self._settle()

    def finish(self) -> None:
        """No more images come: those that were given are in the target when this returns, unless it failed before."""
        if self._at_hand.waiting and not self._failures.any:
            self._settle()

    def report_end(self) -> None:
        """Raise what the outlet has to report when a run ends in which nothing failed."""
        outlet = self._at_hand.outlet
        if isinstance(outlet, ReportsEnd):
            outlet.report_end()

    def waiting(self) -> Sequence[TableWaits]:
        """Which tables' images wait in the target for a person."""
        outlet = None if self._outgoing is None else self._outgoing.outlet
        return outlet.waiting() if isinstance(outlet, ReportsWaiting) else ()

    def close(self) -> None:
        """Let go. What is not committed stands in the outbox."""
        if self._outgoing is not None:
            self._outgoing.close()
            self._outgoing = None

    @property
    def patience_seconds(self) -> float | None:
        """How long images may wait from now on; None where none do."""
        return self._at_hand.patience_seconds

    @property
    def _at_hand(self) -> Outgoing:
        assert self._outgoing is not None, "the outlet is open"
        return self._outgoing

    def _settle(self) -> None:
        assert self._stream is not None, "the outlet is open"
        with self._failures.noted():
            self._commit()
        self._stream.taken(self._number)

    def _commit(self) -> None:
        self._at_hand.commit(ImagePlace(self._number).place)


def _standing(place: Place | None, outbox: Outbox, name: str, state: str) -> int:
    """Up to which number a target has the batches of an outbox. Raises where it cannot be the one that has them."""
    if place is None:
        if outbox.given:
            raise RefusedError(
                f"{name} keeps no position of this consumer, whose images were given elsewhere already",
                file=state,
                expected=f"number {outbox.given} of the outbox",
                found="none",
                remedy="Was it emptied, or is it another target? Give another consumer, and a state of its own.",
            )
        return 0
    number = place_in(place, ImagePlace, name, "images").images
    return Numbers(
        "the state of images",
        state,
        "number",
        outbox.given,
        outbox.last,
        behind="Was it restored from a backup? What it lacks is not in the state any more: restore the state of the "
        "same time, or begin anew with another consumer and target.",
        ahead="Restore state and target of one time, or begin anew with another consumer and target.",
    ).check(number, name)


def _refuse(batch: Rows, row: int, error: CdcError) -> NoReturn:
    """No image is left out: those behind it would build on it."""
    raise error
