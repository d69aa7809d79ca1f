"""A log's subscribers: made when the first one comes, so that a log without any pays nothing. Knows no row."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tailer.errors import CdcError, RefusedError, UsageError
from tailer.position import Position
from writer_hooks.buffer import SectionBuffer, SyncedSection
from writer_hooks.places import Places

if TYPE_CHECKING:
    from tailer.metrics.passage import Passage
    from tailer.tail.follow import Say
    from writer_hooks.own_steps import OwnSteps
    from writer_hooks.subscription import Subscription

Attach = Callable[[Callable[[SyncedSection], None]], Position]
"""Adds a hook for durable sections; gives the position behind which they come."""


class Subscribers:
    """All of them share one buffer, whose bound is the largest that one asked for."""

    def __init__(self, places: Places, attach: Attach) -> None:
        self._places = places
        self._attach = attach
        self._lock = threading.Lock()
        self._buffer: SectionBuffer | None = None
        self._living: weakref.WeakSet[OwnSteps] = weakref.WeakSet()
        self._closed = False
        self._measured = False

    def subscribe(
        self, start: str, consumer: str | None, buffer_bytes: int, options: Mapping[str, Any]
    ) -> Subscription:
        """See `SegmentLog.subscribe`."""
        from writer_hooks.subscription import Subscription

        return Subscription(self.steps(start, consumer, buffer_bytes, options))

    def steps(
        self,
        start: str,
        consumer: str | None,
        buffer_bytes: int,
        options: Mapping[str, Any],
        say: Say = lambda line: None,
    ) -> OwnSteps:
        """What one more reader reads."""
        # Only who reads in this process pays for what reads.
        from tailer.api import open_log
        from tailer.state.node_log import folder_log
        from tailer.tail.open import open_tail
        from writer_hooks.own_steps import OwnSteps

        if buffer_bytes < 0:
            raise UsageError("buffer_bytes", expected="0 or more", found=buffer_bytes)
        # The log's own program makes its tables: one that was not written to yet is in the log with its first change.
        given = {"tables_may_come": True, **options}
        tables = given.pop("tables", ())
        settings = open_log(self._places.cdc_raw, tables, {**given, "consumer": consumer}).options
        buffer = self._shared()
        tail = open_tail(
            folder_log(self._places.cdc_raw, settings.state), replace(settings, start=start, program="writer_hooks")
        )
        made = OwnSteps(tail, buffer, buffer_bytes, self._places.own, say, self._passage())
        with self._lock:
            self._living.add(made)
        return made

    def measure(self) -> None:
        """Somebody watches: each reader that comes is measured."""
        self._measured = True

    def living(self) -> list[OwnSteps]:
        """Those that are not closed."""
        with self._lock:
            return [each for each in self._living if each.open]

    def close(self) -> None:
        """The log is closed: subscriptions end behind its last section."""
        with self._lock:
            self._closed = True
            if self._buffer is not None:
                self._buffer.close()

    def forget(self, error: CdcError) -> None:
        """This is a forked child: subscriptions are the parent's."""
        self._lock = threading.Lock()
        if self._buffer is not None:
            self._buffer.forget(error)

    def _passage(self) -> Passage | None:
        if not self._measured:
            return None
        from tailer.metrics.passage import Passage

        return Passage()

    def _shared(self) -> SectionBuffer:
        with self._lock:
            if self._closed:
                raise RefusedError("the log is closed", remedy="Read its files: tailer.open(folder).")
            if self._buffer is None:
                self._buffer = SectionBuffer()
                self._buffer.begin(self._attach(self._buffer.feed))
            return self._buffer
