"""One table read from a server: pieces of whole partitions, and single rows, as facts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tailer.images.served import ServedRange, ServedRows
from tailer.rebuild.table import Plan
from tailer.schema.server import Session
from tailer.schema.server_rows import PAGE_ROWS, Consistency
from tailer.snapshot.pace import Pace
from tailer.snapshot.partitions import AskedTable, RawPartition
from tailer.snapshot.raw_rows import RawRows
from tailer.snapshot.row import RowReader
from tailer.snapshot.wanted import Wanted, wanted_of


@dataclass(frozen=True)
class ReadPiece:
    """Of the tokens above `low` and up to `high`. `second`: when the server answered. `until`: everywhere the floor of
    what is read, in µs."""

    low: int
    high: int
    raw: RawRows
    second: int
    until: int
    reading: TableReading

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.raw)

    @property
    def size(self) -> int:
        """How many their values and times have."""
        return self.raw.bytes_behind(1)

    def found(self, rows: RawRows | None = None) -> ServedRange:
        """All of it, or `rows` of some partitions, as facts."""
        partitions = {
            each.name: self.reading.served(each, self.second, self.until)
            for each in self.reading.asked.partitions(self.raw if rows is None else rows)
        }
        return ServedRange(self.low, self.high, partitions)


class TableReading:
    """`session`: a `raw` one. `until`: everywhere the floor of what is read, in µs."""

    def __init__(
        self,
        session: Session,
        plan: Plan,
        release: str,
        consistency: Consistency,
        pace: Pace | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._wall = wall
        self.wanted: Wanted = wanted_of(plan, release)
        self._rows = RowReader(plan, self.wanted)
        at_once, taken = (PAGE_ROWS, _freely) if pace is None else (pace.at_once(PAGE_ROWS), pace.take)
        self.asked = AskedTable(session, plan, self.wanted.texts, consistency, at_once, taken)

    @property
    def replaced(self) -> Counter[tuple[str, str]]:
        """Values with a U+FFFD in place of what is no character, by table and column, in the rows given so far."""
        return self._rows.replaced

    def pieces(self, low: int, high: int, until: int, most: int) -> Iterator[ReadPiece]:
        """Of a range of tokens, each of so many rows at most unless one token has more."""
        for piece in self.asked.pieces(low, high, most):
            yield ReadPiece(piece.low, piece.high, piece.rows, int(self._wall()), until, self)

    def partition(self, name: bytes, until: int) -> ServedRows:
        """All rows of one partition; none where it has none."""
        found = self.asked.partition(name)
        return {} if found is None else self.served(found, int(self._wall()), until)

    def row(self, name: bytes, clustering: Sequence[bytes | None] | None, until: int) -> ServedRows:
        """One row of a partition with its static row; without `clustering` the static row, with any other one."""
        found = self.asked.row(name, clustering)
        return {} if found is None else self.served(found, int(self._wall()), until)

    def served(self, found: RawPartition, second: int, until: int) -> ServedRows:
        """The rows of a partition as facts."""
        return {row.key: row for row in self._rows.rows(found.rows, second, until)}


def _freely(rows: int) -> None:
    """Nothing holds it up."""
