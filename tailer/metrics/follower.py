"""The figures of a node's loop, as it tells of itself, and what is made of them. Knows no monitoring system."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from tailer.errors import CdcError
from tailer.metrics import declared as m
from tailer.metrics.folder import FolderFigures, FolderLook
from tailer.metrics.health import not_turned
from tailer.metrics.passage import Passage
from tailer.metrics.samples import Sample
from tailer.metrics.vouched import Vouched
from tailer.reading.task import ReadTask
from tailer.rows.choice import AnyBatch
from tailer.segments.source import Source
from tailer.state.offset import NodeOffset
from tailer.tail.step import Step
from tailer.tail.tail import Tail


class Follower:
    """A `Watch`. `samples` and what is asked of its health are for any thread.

    `cap`: what the server lets the folder take, as the user gave it. `clock`: seconds of any origin, `wall`: since the
    epoch.
    """

    def __init__(
        self,
        source: Source,
        node: str,
        consumer: str | None,
        cap: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] | None = None,
    ) -> None:
        self._labels = (consumer or m.NO_CONSUMER, node)
        self._clock = clock
        self._look = FolderLook(source, cap, wall)
        self._lock = threading.Lock()
        self._tail: Tail | None = None
        self._behind: NodeOffset | None = None
        self._vouched = Vouched()
        self._passage = Passage(clock, wall or source.now)
        self._turned = self._moved = clock()
        self._refused = self._retries = 0
        self._away: tuple[float, str] | None = None
        self._held = False

    # What the loop tells.

    def began(self, tail: Tail) -> None:
        with self._lock:
            self._tail = tail
            self._stand(tail.taken)
            self._turned = self._clock()

    def looked(self, step: Step) -> None:
        with self._lock:
            self._turned, self._held = self._clock(), step.held is not None
            if (tail := self._tail) is not None:
                if not self._passage.waits:
                    # Also where it was stood elsewhere, or moved over what has no rows.
                    self._stand(tail.taken)
                for segment in tail.parts.log_ends.judged:
                    self._vouched.note(segment, tail.parts.survey.sighting(segment))

    def read(self, task: ReadTask, batch: AnyBatch, durable: float | None = None) -> None:
        self._turned = self._clock()
        if not len(batch):
            return
        rows = batch.kinds()
        with self._lock:
            if (since := durable) is None:
                since = self._vouched.since(task.span.segment, lambda: int(batch.slice(0, 1).column("offset")[0]))
            self._passage.read(rows, since)

    def delivered(self, behind: NodeOffset) -> None:
        self._turned = self._clock()
        with self._lock:
            self._passage.delivered()
            self._stand(behind)

    def saved(self) -> None:
        self._turned = self._clock()
        self._passage.saved()

    def away(self, error: CdcError | None) -> None:
        self._turned = now = self._clock()
        with self._lock:
            if error is None:
                self._away = None
            else:
                self._retries += 1
                self._away = (now if self._away is None else self._away[0]), error.sentence()

    def left_out(self, rows: int) -> None:
        self._turned = self._clock()
        self._refused += rows

    # What others ask.

    def stuck(self) -> list[str]:
        return not_turned(f"the loop of node {self._labels[1]}", self._age()) if self._tail is not None else []

    def unready(self) -> list[str]:
        if self._tail is None:
            return [f"node {self._labels[1]} has no place in its log yet"]
        with self._lock:
            away = [] if self._away is None else [f"the target is away: {self._away[1]}"]
        return [*self.stuck(), *away]

    def samples(self) -> Iterator[Sample]:
        """All of now."""
        with self._lock:
            behind, oldest, held = self._behind, self._vouched.oldest(), self._held
            away = None if self._away is None else self._away[0]
        tail, seen, now = self._tail, self._look.look(behind, oldest), self._clock()
        yield Sample(m.READY, self._labels, not self.unready())
        yield from self._passage.samples(self._labels)
        yield Sample(m.LOSSES, self._labels, 0 if tail is None else tail.parts.journal.losses)
        yield Sample(m.QUARANTINED, self._labels, 0 if tail is None else tail.quarantined)
        yield Sample(m.REFUSED_ROWS, self._labels, self._refused)
        yield Sample(m.RETRIES, self._labels, self._retries)
        yield Sample(m.AWAY, self._labels, 0 if away is None else now - away)
        waiting = 0 if tail is None else sum(table.images for table in tail.waiting)
        yield Sample(m.WAITING, self._labels, waiting)
        yield Sample(m.HELD, self._labels, held)
        yield Sample(m.TURNED, self._labels, self._age())
        yield from folder_samples(self._labels, seen, behind, now - self._moved)

    def _stand(self, behind: NodeOffset) -> None:
        """All before that is delivered. Called under the lock."""
        if self._behind is None or behind.places != self._behind.places:
            self._moved, self._behind = self._clock(), behind
            self._vouched.passed(behind)

    def _age(self) -> float:
        return max(self._clock() - self._turned, 0.0)


def folder_samples(
    labels: tuple[str, str], seen: FolderFigures | None, behind: NodeOffset | None, still: float
) -> Iterator[Sample]:
    """What a look at the folder shows. `labels`: consumer and node. `still`: for how long the position has stood."""
    node = labels[1:]
    yield Sample(m.FOLDER_READABLE, node, seen is not None)
    if seen is None:
        return
    yield Sample(m.FOLDER_BYTES, node, seen.bytes)
    yield Sample(m.FOLDER_SEGMENTS, node, seen.segments)
    if seen.cap is not None:
        yield Sample(m.FOLDER_CAP, node, seen.cap)
    if behind is not None:
        waiting = seen.waiting
        yield Sample(m.LAG_SECONDS, labels, waiting.seconds)
        yield Sample(m.LAG_BYTES, labels, waiting.bytes)
        yield Sample(m.LAG_SEGMENTS, labels, waiting.segments)
        yield Sample(m.STALLED, labels, min(still, waiting.seconds))
