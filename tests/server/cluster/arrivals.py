"""When each row came out of a reader, and so how long after its acknowledgement each node's copy of a write did."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.helpers.again import again
from tests.server.cluster.check import Found
from tests.server.cluster.ledger import Entry
from tests.server.cluster.readers import Reader

LOOK_SECONDS = 0.01


class Delay(NamedTuple):
    """Seconds from acknowledged to in the rows, over so many `writes`."""

    writes: int
    median: float
    p95: float


class Arrivals:
    """What `look` has found at the reader."""

    def __init__(self, reader: Reader) -> None:
        self.rows: list[str] = []
        self.came: list[float] = []
        self._reader = reader
        self._found = Found()
        self._indexed = 0

    def look(self) -> None:
        rows = self._reader.rows_so_far(len(self.rows))
        # The times first: who sees a row finds when it came.
        self.came += [time.time()] * len(rows)
        self.rows += rows

    def found(self) -> Found:
        """The rows so far, by what writes are told by. For one thread."""
        rows = self.rows[self._indexed :]
        self._indexed += len(rows)
        self._found.add(rows)
        return self._found

    def nodes(self) -> set[str]:
        """Those whose rows came by now."""
        return self.found().nodes

    def delays(self, entries: Iterable[Entry]) -> dict[str, Delay]:
        """By node. Of a copy that came more than once (hints, repair) the first counts."""
        found, seconds = self.found(), defaultdict(list)
        for entry in entries:
            if entry.acknowledged is None:
                continue
            first: dict[str, float] = {}
            for number, row in found.of(entry.write):
                first.setdefault(row["node"], self.came[number])
            for node, came in first.items():
                seconds[node].append(came - entry.acknowledged)
        return {node: _delay(held) for node, held in sorted(seconds.items())}


@contextmanager
def arrivals(reader: Reader) -> Iterator[Arrivals]:
    """It looks at the reader as long as the block lasts."""
    made = Arrivals(reader)
    with again(made.look, LOOK_SECONDS, "arrivals"):
        yield made


def _delay(seconds: list[float]) -> Delay:
    ordered = sorted(seconds)
    return Delay(len(ordered), statistics.median(ordered), ordered[int(0.95 * (len(ordered) - 1))])
