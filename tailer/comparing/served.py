"""Partitions of a table as its server has them, range by range of its ring. Knows no state of images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from tailer.comparing.partition import Clustering, Columns, ServedPartition
from tailer.rebuild.table import Plan
from tailer.schema.server import Session
from tailer.schema.server_rows import Consistency, Row, quoted_names
from tailer.snapshot.partitions import AskedTable, RawPartition
from tailer.types import Shape
from tailer.types.parts import framed, parts_of

PIECE_ROWS: Final = 20_000
"""Rows that are in memory at once, but for a partition that has more."""


class Piece(NamedTuple):
    """All partitions with tokens above `low` and up to `high`, in the order of tokens."""

    low: int
    high: int
    partitions: list[ServedPartition]


class ServedTable:
    """One table, over a session for raw rows."""

    def __init__(self, session: Session, plan: Plan, consistency: Consistency) -> None:
        clustering = [column.name for column in plan.clustering]
        self._clustering_count = len(clustering)
        self._data = [column.name for column in plan.shown]
        self._fields = {column.name for column in plan.shown if column.type.shape is Shape.UDT}
        names = [*clustering, *self._data]
        self._asked = AskedTable(session, plan, [quoted_names([name]) for name in names], consistency)

    def pieces(self, low: int, high: int, most: int = PIECE_ROWS) -> Iterator[Piece]:
        """Of a range of tokens, each of so many rows at most unless one token has more."""
        for piece in self._asked.pieces(low, high, most):
            yield Piece(piece.low, piece.high, [self._partition(each) for each in self._asked.partitions(piece.rows)])

    def partition(self, name: bytes) -> ServedPartition | None:
        """One partition as it is now; None where it has no row."""
        found = self._asked.partition(name)
        return None if found is None else self._partition(found)

    def _partition(self, found: RawPartition) -> ServedPartition:
        return ServedPartition(found.name, dict(map(self._row, found.rows)))

    def _row(self, values: Row) -> tuple[Clustering, Columns]:
        clustering, data = values[: self._clustering_count], values[self._clustering_count :]
        columns = dict(zip(self._data, data, strict=True))
        for name in self._fields:
            columns[name] = _whole(columns[name])
        if clustering and clustering[0] is None:
            return None, columns
        return framed(clustering), columns


def _whole(value: bytes | None) -> bytes | None:
    """A value of a type with fields, without the nulls at its end: whether they are sent is up to the server."""
    if value is None:
        return None
    parts = parts_of(value, 0, len(value))
    while parts and parts[-1] is None:
        parts.pop()
    return framed(parts) if parts else None
