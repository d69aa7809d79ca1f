"""One table read from a server: pieces of whole partitions, and single rows, as facts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tailer.images.served import ServedRange, ServedRows
from tailer.rebuild.table import Plan
from tailer.schema.server import Session
from tailer.schema.server_rows import Consistency
from tailer.snapshot.partitions import AskedTable, RawPartition
from tailer.snapshot.row import RowReader
from tailer.snapshot.wanted import wanted_of


class ReadPiece(NamedTuple):
    """`rows`, `bytes`: how many there are, static ones aside, and of how many bytes their values and times are."""

    found: ServedRange
    rows: int
    bytes: int


class TableReading:
    """`session`: a `raw` one. `take`: called for each row, may wait. `until`: everywhere the floor of what is read, in
    µs."""

    def __init__(
        self,
        session: Session,
        plan: Plan,
        release: str,
        consistency: Consistency,
        take: Callable[[], None] = lambda: None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._bytes = 0
        self._wall = wall
        self._take = take
        wanted = wanted_of(plan, release)
        self._rows = RowReader(plan, wanted)
        self._asked = AskedTable(session, plan, wanted.texts, consistency, taken=self._taken)

    def pieces(self, low: int, high: int, until: int, most: int) -> Iterator[ReadPiece]:
        """Of a range of tokens, each of so many rows at most unless one token has more."""
        for piece in self._asked.pieces(low, high, most):
            size, self._bytes = self._bytes, 0
            partitions = {each.name: self._served(each, until) for each in piece.partitions}
            rows = sum(len(each.rows) for each in piece.partitions)
            yield ReadPiece(ServedRange(piece.low, piece.high, partitions), rows, size)

    def partition(self, name: bytes, until: int) -> ServedRows:
        """All rows of one partition; none where it has none."""
        found = self._asked.partition(name)
        return {} if found is None else self._served(found, until)

    def row(self, name: bytes, clustering: Sequence[bytes | None] | None, until: int) -> ServedRows:
        """One row of a partition with its static row; without `clustering` the static row, with any other one."""
        found = self._asked.row(name, clustering)
        return {} if found is None else self._served(found, until)

    def _served(self, found: RawPartition, until: int) -> ServedRows:
        return {row.key: row for row in self._rows.rows(found.rows, int(self._wall()), until)}

    def _taken(self, size: int) -> None:
        self._bytes += size
        self._take()
