"""Values of metrics at one moment, and what they are summed up in. Knows no monitoring system."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Final, NamedTuple

from tailer.metrics.declared import Metric
from tailer.rows.batch import RowKind

BOUNDS: Final = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    300.0, 3600.0,
)  # fmt: skip
"""Upper bounds of the buckets of every histogram, in seconds: from a fast fsync to a backlog of hours."""

TABLES_MAX: Final = 200
"""Tables that are told apart; each new pair of labels is kept by the monitoring system for ever."""

OTHER: Final = "other"


class Counted(NamedTuple):
    """A histogram at one moment. `counts`: of each bucket alone, one more than there are bounds."""

    counts: tuple[int, ...]
    total: float

    @property
    def upto(self) -> list[int]:
        """How many there are up to each bound, and in all."""
        return list(accumulate(self.counts))


class Sample(NamedTuple):
    """The value of a metric under the values of its labels."""

    metric: Metric
    labels: tuple[str, ...]
    value: float | Counted


Source = Callable[[], Iterable[Sample]]
"""Asked by any thread, for all that is known now."""


class Durations:
    """How long something took, of many. One thread adds at a time."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._total = 0.0

    def add(self, seconds: float, times: int = 1) -> None:
        """So often, so long; a clock that was set back makes it nothing."""
        seconds = max(seconds, 0.0)
        self._counts[bisect_left(BOUNDS, seconds)] += times
        self._total += seconds * times

    def counted(self) -> Counted:
        return Counted(tuple(self._counts), self._total)


class TableRows:
    """Rows by table and operation, of so many tables at most: those that come later are all of `other`."""

    def __init__(self, tables_max: int = TABLES_MAX) -> None:
        self._tables_max = tables_max
        self._tables: set[tuple[str, str]] = set()
        self._rows: dict[RowKind, int] = {}

    def add(self, rows: Mapping[RowKind, int]) -> None:
        for (keyspace, table, op), count in rows.items():
            if (keyspace, table) not in self._tables:
                if len(self._tables) >= self._tables_max:
                    keyspace = table = OTHER
                else:
                    self._tables.add((keyspace, table))
            kind = keyspace, table, op
            self._rows[kind] = self._rows.get(kind, 0) + count

    def counted(self) -> dict[RowKind, int]:
        return dict(self._rows)
