"""The way of rows through a reader: how long from durable to read, and from there to their target; and which.

What is done for each batch costs as much however many rows it has. Any thread may call it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping

from tailer.metrics import declared as m
from tailer.metrics.samples import Durations, Sample, TableRows
from tailer.rows.batch import RowKind


class Passage:
    """Of one reader. `clock`: seconds of any origin, `wall`: since the epoch."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._wall = wall
        self._lock = threading.Lock()
        self._pending: list[tuple[float, int]] = []
        self._rows = TableRows()
        self._to_read, self._to_delivered = Durations(), Durations()
        self._delivered = self._commits = 0

    @property
    def waits(self) -> bool:
        """Whether rows were read that are not delivered."""
        return bool(self._pending)

    def read(self, rows: Mapping[RowKind, int], durable: float | None) -> None:
        """Rows of a batch. `durable`: since when the oldest is, in seconds since the epoch; None where nothing told."""
        count = sum(rows.values())
        with self._lock:
            if durable is not None:
                self._to_read.add(self._wall() - durable, count)
            self._rows.add(rows)
            self._pending.append((self._clock(), count))

    def delivered(self) -> None:
        """All that was read has come to where it goes."""
        now = self._clock()
        with self._lock:
            for at, rows in self._pending:
                self._to_delivered.add(now - at, rows)
                self._delivered += rows
            self._pending.clear()

    def saved(self) -> None:
        """A position was made durable."""
        self._commits += 1

    def samples(self, labels: tuple[str, str]) -> Iterator[Sample]:
        """All of now. `labels`: consumer and node."""
        with self._lock:
            to_read, to_delivered, rows = self._to_read.counted(), self._to_delivered.counted(), self._rows.counted()
            delivered = self._delivered
        yield Sample(m.TO_READ, labels, to_read)
        yield Sample(m.TO_DELIVERED, labels, to_delivered)
        for kind, count in sorted(rows.items()):
            yield Sample(m.ROWS, (*labels, *kind), count)
        yield Sample(m.DELIVERED_ROWS, labels, delivered)
        yield Sample(m.COMMITS, labels, self._commits)
