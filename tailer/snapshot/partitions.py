"""Partitions of a table as raw rows of its server, range of tokens by range. Knows no value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from tailer.rebuild.changes import token_of, token_part
from tailer.rebuild.table import Plan
from tailer.schema.server import Session
from tailer.schema.server_rows import PAGE_ROWS, Consistency, Row, quoted_names, read_rows, read_rows_by
from tailer.types.parts import framed, parts_of

_TOKEN_BYTES: Final = 8

Taken = Callable[[int], None]
"""Told of each row how many bytes its values have, before the next one is asked for; may wait."""


class RawPartition(NamedTuple):
    """`name`: as the state has it. `rows`: each what was asked for of it, behind the key."""

    name: bytes
    rows: list[Row]


class Piece(NamedTuple):
    """All partitions with tokens above `low` and up to `high`, in the order of tokens."""

    low: int
    high: int
    partitions: list[RawPartition]


class AskedTable:
    """One table, over a `raw` session. `wanted`: what to ask for of each row, as CQL, behind the columns of the key."""

    def __init__(
        self,
        session: Session,
        plan: Plan,
        wanted: Sequence[str],
        consistency: Consistency,
        page_rows: int = PAGE_ROWS,
        taken: Taken = lambda size: None,
    ) -> None:
        self._session = session
        self._consistency = consistency
        self._page_rows = page_rows
        self._taken = taken
        key = [column.name for column in plan.key]
        self._key_count: Final = len(key)
        self._where_row = [f"{quoted_names([column.name])} = ?" for column in (*plan.key, *plan.clustering)]
        keyspace, _, table = plan.table.name.partition(".")
        self._token = f"token({quoted_names(key)})"
        columns = ", ".join([self._token, quoted_names(key), *wanted])
        self._select = f"SELECT {columns} FROM {quoted_names([keyspace])}.{quoted_names([table])}"

    def pieces(self, low: int, high: int, most: int) -> Iterator[Piece]:
        """Of a range of tokens, each of so many rows at most unless one token has more."""
        held: list[RawPartition] = []
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

    def partition(self, name: bytes) -> RawPartition | None:
        """One partition as it is now; None where it has no row."""
        token = token_of(name)
        return next((each for each in self.partitions(token - 1, token) if each.name == name), None)

    def row(self, name: bytes, clustering: Sequence[bytes | None] | None) -> RawPartition | None:
        """One row of a partition by its clustering; without that any one of its rows, or what only has static columns.
        None where there is none."""
        key = parts_of(name[_TOKEN_BYTES:], 0, self._key_count)
        where = self._where_row if clustering is not None else self._where_row[: self._key_count]
        query = f"{self._select} WHERE {' AND '.join(where)} LIMIT 1"
        values = [*key, *(clustering or ())]
        rows = read_rows_by(self._session, query, values, self._consistency)
        found = [tuple(row[1 + self._key_count :]) for row in rows]
        return RawPartition(name, found) if found else None

    def partitions(self, low: int, high: int) -> Iterator[RawPartition]:
        """Those with tokens above `low` and up to `high`, in the order of tokens."""
        query = f"{self._select} WHERE {self._token} > {low} AND {self._token} <= {high}"
        name, rows = b"", list[Row]()
        for token, *values in read_rows(self._session, query, self._consistency, self._page_rows):
            assert token is not None, "a row has a token"
            self._taken(sum([len(value) for value in values if value is not None]))
            key = token_part(int.from_bytes(token, "big", signed=True)) + framed(values[: self._key_count])
            if key != name and name:
                yield RawPartition(name, rows)
                rows = []
            name = key
            rows.append(tuple(values[self._key_count :]))
        if name:
            yield RawPartition(name, rows)
