"""How far a query has come, out of Spark's own progress: rows, batches, their pace, and what of the log waits.

Asks the JVM for what is new since it asked last; nothing is registered there, and nothing runs in between.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailer.spark.backlog import BACKLOG, GIVEN_UP, LOST

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(slots=True)
class Figures:
    """Sums since the query began, and the newest micro-batch's own. `backlog_*`: None where Spark does not tell (before
    4.2). `losses`, `quarantined`: what the consumer's journal says was given up by choice, in all its runs. `lost`:
    nodes that are away."""

    rows: int = 0
    batches: int = 0
    batch_ms: int = 0
    backlog_bytes: int | None = None
    backlog_segments: int | None = None
    losses: int = 0
    quarantined: int = 0
    lost: tuple[str, ...] = ()

    def take(self, progress: Mapping[str, Any]) -> None:
        """One micro-batch's progress, in Spark's own words."""
        self.rows += int(progress["numInputRows"])
        self.batches += 1
        self.batch_ms = int(progress["durationMs"].get("triggerExecution", 0))
        (source, *_) = progress["sources"]
        # A JSON text in 4.x's own form: an object, or one in quotes; "null" where there is none.
        told = source.get("latestOffset")
        told = json.loads(told) if isinstance(told, str) else told
        if isinstance(told, dict) and BACKLOG in told:
            waits = told[BACKLOG].values()
            self.backlog_bytes = sum(each["bytes"] for each in waits)
            self.backlog_segments = sum(each["segments"] for each in waits)
            self.lost = tuple(told.get(LOST, ()))
            self.losses = sum(each["losses"] for each in told[GIVEN_UP].values())
            self.quarantined = sum(each["quarantined"] for each in told[GIVEN_UP].values())


Told = Callable[[Mapping[str, Any]], None]
"""Takes one micro-batch's progress, in Spark's own words."""


def nobody(progress: Mapping[str, Any]) -> None:
    """Nobody wants more than the sums."""


class ProgressReader:
    """Sums a query's progress up, and tells `told` of each micro-batch. To be asked more often than every hundred
    batches: Spark keeps no more. `figures`: sums of runs before it."""

    def __init__(self, query: StreamingQuery, told: Told = nobody, figures: Figures | None = None) -> None:
        self._query: Any = query._jsq
        self._told = told
        self._figures = figures or Figures()
        self._last = -1

    def read(self) -> Figures:
        """All that is known now."""
        recent = self._query.recentProgress()
        fresh = []
        for at in range(len(recent) - 1, -1, -1):
            if recent[at].batchId() <= self._last:
                break
            fresh.append(json.loads(recent[at].json()))
        for progress in reversed(fresh):
            self._last = progress["batchId"]
            self._figures.take(progress)
            self._told(progress)
        return self._figures
