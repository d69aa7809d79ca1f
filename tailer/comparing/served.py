"""Partitions of a table as its server has them, range by range of its ring. Knows no state of images."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from tailer.comparing.partition import Clustering, Columns, ServedPartition
from tailer.rebuild.changes import token_of, token_part
from tailer.rebuild.table import Plan
from tailer.schema.ring import TOKEN_MAX, TOKEN_MIN
from tailer.schema.server import Session
from tailer.schema.server_place import ServerPlace
from tailer.schema.server_rows import Consistency, quoted_names, read_rows
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
        self._session = session
        self._consistency = consistency
        self._key = [column.name for column in plan.key]
        self._clustering = [column.name for column in plan.clustering]
        self._data = [column.name for column in plan.shown]
        self._fields = {column.name for column in plan.shown if column.type.shape is Shape.UDT}
        keyspace, _, table = plan.table.name.partition(".")
        self._token = f"token({quoted_names(self._key)})"
        columns = quoted_names([*self._key, *self._clustering, *self._data])
        self._select = f"SELECT {self._token}, {columns} FROM {quoted_names([keyspace])}.{quoted_names([table])}"

    def pieces(self, low: int, high: int, most: int = PIECE_ROWS) -> Iterator[Piece]:
        """Of a range of tokens, each of so many rows at most unless one token has more."""
        held: list[ServedPartition] = []
        begin, rows = low, 0
        for partition in self.partitions(low, high):
            token = token_of(partition.name)
            if rows >= most and token != token_of(held[-1].name):
                cut = token_of(held[-1].name)
                yield Piece(begin, cut, held)
                begin, held, rows = cut, [], 0
            held.append(partition)
            rows += len(partition.rows)
        yield Piece(begin, high, held)

    def partition(self, name: bytes) -> ServedPartition | None:
        """One partition as it is now; None where it has no row."""
        token = token_of(name)
        return next((each for each in self.partitions(token - 1, token) if each.name == name), None)

    def partitions(self, low: int, high: int) -> Iterator[ServedPartition]:
        """Those with tokens above `low` and up to `high`, in the order of tokens."""
        query = f"{self._select} WHERE {self._token} > {low} AND {self._token} <= {high}"
        name, rows = b"", dict[Clustering, Columns]()
        for token, *values in read_rows(self._session, query, self._consistency):
            assert token is not None, "a row has a token"
            key = token_part(int.from_bytes(token, "big", signed=True)) + framed(values[: len(self._key)])
            if key != name and name:
                yield ServedPartition(name, rows)
                rows = {}
            name = key
            row, columns = self._row(values[len(self._key) :])
            rows[row] = columns
        if name:
            yield ServedPartition(name, rows)

    def _row(self, values: list[bytes | None]) -> tuple[Clustering, Columns]:
        clustering, data = values[: len(self._clustering)], values[len(self._clustering) :]
        columns = dict(zip(self._data, data, strict=True))
        for name in self._fields:
            columns[name] = _whole(columns[name])
        if clustering and clustering[0] is None:
            return None, columns
        return framed(clustering), columns


def ring_ranges(place: ServerPlace) -> list[tuple[int, int]]:
    """The ring cut at every token that a node has: what is between has the same replicas."""
    tokens = sorted({token for host in (place.own, *place.others) for token in host.tokens} - {TOKEN_MIN, TOKEN_MAX})
    edges = [TOKEN_MIN, *tokens, TOKEN_MAX]
    return list(pairwise(edges))


def _whole(value: bytes | None) -> bytes | None:
    """A value of a type with fields, without the nulls at its end: whether they are sent is up to the server."""
    if value is None:
        return None
    parts = parts_of(value, 0, len(value))
    while parts and parts[-1] is None:
        parts.pop()
    return framed(parts) if parts else None
