"""The figures of a Spark query, out of its own progress and a look at its folders. Knows no PySpark."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tailer.metrics import declared as m
from tailer.metrics.folder import FolderLook
from tailer.metrics.follower import folder_samples
from tailer.metrics.health import not_turned
from tailer.metrics.samples import Durations, Sample
from tailer.segments.source import Source
from tailer.state.offset import REMOVED, NodeOffset, decode_node_offset


class GivenUp(NamedTuple):
    """What a consumer's journal says was left out by choice."""

    losses: int = 0
    quarantined: int = 0


class Stream:
    """Of one query. The thread that waits for it tells `turned` and `take`; any other may ask.

    `logs`: by node. `before`: what earlier runs gave up, by node; only what comes is counted.
    """

    def __init__(
        self,
        logs: Mapping[str, Source],
        consumer: str | None,
        cap: int | None = None,
        before: Mapping[str, GivenUp] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] | None = None,
    ) -> None:
        self._consumer = consumer or m.NO_CONSUMER
        self._clock = clock
        self._looks = {node: FolderLook(source, cap, wall) for node, source in logs.items()}
        self._before = before or {}
        self._lock = threading.Lock()
        self._turned: float | None = None
        self._rows = 0
        self._batches = Durations()
        self._behind: dict[str, NodeOffset] = {}
        self._moved: dict[str, float] = {}
        self._given_up: dict[str, GivenUp] = {}

    def turned(self) -> None:
        """The query runs, for all that can be seen."""
        self._turned = self._clock()

    def take(self, progress: Mapping[str, Any]) -> None:
        """One micro-batch's progress, in Spark's own words."""
        (source, *_) = progress["sources"]
        ends, told = _object(source.get("endOffset")), _object(source.get("latestOffset"))
        with self._lock:
            self._rows += int(progress["numInputRows"])
            self._batches.add(progress["durationMs"].get("triggerExecution", 0) / 1000)
            for node, held in ends.get("nodes", {}).items():
                if REMOVED in held:
                    self._looks.pop(node, None)
                    continue
                behind = decode_node_offset(held)
                if node not in self._behind or self._behind[node].places != behind.places:
                    self._behind[node], self._moved[node] = behind, self._clock()
            # Told from Spark 4.2 on.
            for node, count in told.get("givenUp", {}).items():
                before = self._before.get(node, GivenUp())
                self._given_up[node] = GivenUp(
                    max(count["losses"] - before.losses, 0), max(count["quarantined"] - before.quarantined, 0)
                )

    def stuck(self) -> list[str]:
        return [] if self._turned is None else not_turned("the query", self._clock() - self._turned)

    def unready(self) -> list[str]:
        return ["the query has not begun"] if self._turned is None else self.stuck()

    def samples(self) -> Iterator[Sample]:
        """All of now."""
        with self._lock:
            rows, batches = self._rows, self._batches.counted()
            behind, moved, given_up = dict(self._behind), dict(self._moved), dict(self._given_up)
            looks = dict(self._looks)
        yield Sample(m.STREAM_ROWS, (self._consumer,), rows)
        yield Sample(m.STREAM_BATCH, (self._consumer,), batches)
        now, ready = self._clock(), not self.unready()
        for node, look in looks.items():
            labels = self._consumer, node
            yield Sample(m.READY, labels, ready)
            if self._turned is not None:
                yield Sample(m.TURNED, labels, max(now - self._turned, 0.0))
            if node in given_up:
                yield Sample(m.LOSSES, labels, given_up[node].losses)
                yield Sample(m.QUARANTINED, labels, given_up[node].quarantined)
            at = behind.get(node)
            yield from folder_samples(labels, look.look(at), at, now - moved.get(node, now))


def _object(told: object) -> dict[str, Any]:
    """An offset in progress: an object, or, in some of 4.x, its text; of one that is not there nothing."""
    found = json.loads(told) if isinstance(told, str) else told
    return found if isinstance(found, dict) else {}
