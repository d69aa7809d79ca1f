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
from tailer.tail.images.outlet import ImageOutlet
from tailer.tail.images.stream import ImageStream
from tailer.tail.images.timers import Timers
from tailer.tail.patience import Patience
from tailer.tail.tail import Tail
from tailer.tail.watch import NO_WATCH, Watch

Guard = Callable[[], AbstractContextManager[None]]


class ImageFeed(Feed):
    """Of one node. `guard`: held while the state is worked on, and images are handed over."""

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
    ) -> None:
        super().__init__(
            tail,
            lambda context: GuardedOutlet(ImageOutlet(stream, tail, context, tokens), guard),
            Patience(0.0, say),
            say,
            watch,
        )
        self._stream, self._timers = stream, timers
        self._guard = guard
        self._looked = stream.wall()

    def _read(self, task: ReadTask) -> Iterator[AnyBatch]:
        # They are merged by their cells.
        return super()._read(replace(task, keeps_source=True))

    def rest(self) -> None:
        super().rest()
        looked, self._looked = self._looked, self._stream.wall()
        if self.patience_seconds is None:
            # What came since the look before this one may not have been there for this one.
            self._timers.read_past(self.tail.options.node, looked)
        with self._guard():
            self._timers.look()
