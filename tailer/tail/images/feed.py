"""The feed of a run of images: as of any outlet, and what time does is looked at while rows are waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from tailer.options.token_range import TokenRange
from tailer.reading.task import ReadTask
from tailer.rows.choice import AnyBatch
from tailer.tail.feed import Feed
from tailer.tail.follow import Say
from tailer.tail.guarded import GuardedOutlet
from tailer.tail.images.delivery import ImageDelivery
from tailer.tail.images.outlet import ImageOutlet
from tailer.tail.images.stream import ImageStream
from tailer.tail.images.timers import Timers
from tailer.tail.patience import Patience
from tailer.tail.tail import Tail
from tailer.tail.watch import NO_WATCH, Watch

Guard = Callable[[], AbstractContextManager[None]]


def look(timers: Timers, delivery: ImageDelivery | None) -> None:
    """What time asks for, whether or not rows come; for who holds the guard."""
    timers.look()
    if delivery is not None:
        delivery.rest()


class ImageFeed(Feed):
    """Of one node. `guard`: held while the state is worked on, and images are handed over. `delivery`: where they go to
    an outlet."""

    def __init__(
        self,
        tail: Tail,
        stream: ImageStream,
        timers: Timers,
        say: Say,
        *,
        tokens: TokenRange | None = None,
        watch: Watch = NO_WATCH,
        guard: Guard = nullcontext,
        delivery: ImageDelivery | None = None,
    ) -> None:
        super().__init__(
            tail,
            lambda context: GuardedOutlet(ImageOutlet(stream, tail, context, tokens), guard),
            Patience(0.0, say),
            say,
            watch,
        )
        self._stream, self._timers = stream, timers
        self._guard, self._delivery = guard, delivery
        self._looked = stream.wall()

    def _read(self, task: ReadTask) -> Iterator[AnyBatch]:
        # They are merged by their cells.
        return super()._read(replace(task, keeps_source=True))

    def rest(self) -> None:
        super().rest()
        looked, self._looked = self._looked, self._stream.wall()
        if super().patience_seconds is None:
            # What came since the look before this one may not have been there for this one.
            self._timers.read_past(self.tail.options.node, looked, self.tail.parts.definitions.history.gc_grace)
        with self._guard():
            look(self._timers, self._delivery)

    @property
    def patience_seconds(self) -> float | None:
        waits = [super().patience_seconds, None if self._delivery is None else self._delivery.patience_seconds]
        return min((each for each in waits if each is not None), default=None)
