"""Partitions of a table as raw rows of its server, range of tokens by range. Knows no value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from tailer.rebuild.changes import token_part
from tailer.rebuild.table import Plan
from tailer.schema.server import Session
from tailer.schema.server_rows import PAGE_ROWS, Consistency, Row, quoted_names, read_pages, read_pages_by
from tailer.snapshot.raw_rows import NO_ROWS, RawRows
from tailer.snapshot.sent_types import AskedTypes
from tailer.types.parts import framed, parts_of

_TOKEN_BYTES: Final = 8

Taken = Callable[[int], None]
"""Told how many rows came, before the next ones are asked for; may wait."""


class RawPartition(NamedTuple):
    """`name`: as the state has it. `rows`: each what was asked for of it, behind the key."""

    name: bytes
    rows: list[Row]


class Piece(NamedTuple):
    """All rows with tokens above `low` and up to `high`, in the order of tokens, and of one token by partition."""

    low: int
    high: int
    rows: RawRows


class AskedTable:
    """One table, over a `raw` session. `wanted`: what to ask for of each row, as CQL, behind the columns of the key.

    All that reads raises OtherTypeError where the server has another type of a column.
    """

    def __init__(
        self,
        session: Session,
        plan: Plan,
        wanted: Sequence[str],
        consistency: Consistency,
        page_rows: int = PAGE_ROWS,
        taken: Taken = lambda rows: None,
    ) -> None:
        self._session = session
        self._consistency = consistency
        self._page_rows = page_rows
        self._taken = taken
        key = [column.name for column in plan.key]
        self.key_count: Final = len(key)
        self._where_row = [f"{quoted_names([column.name])} = ?" for column in (*plan.key, *plan.clustering)]
        keyspace, _, table = plan.table.name.partition(".")
        self._token = f"token({quoted_names(key)})"
        texts = [self._token, *(quoted_names([name]) for name in key), *wanted]
        self._types = AskedTypes(plan, texts)
        self._select = f"SELECT {', '.join(texts)} FROM {quoted_names([keyspace])}.{quoted_names([table])}"

    def pieces(self, low: int, high: int, most: int) -> Iterator[Piece]:
        """Of a range of tokens, each of so many rows at most unless one token has more."""
        query = f"{self._select} WHERE {self._token} > {low} AND {self._token} <= {high}"
        held = NO_ROWS
        for page in read_pages(self._session, query, self._consistency, self._page_rows):
            self._types.check(page.types)
            self._taken(page.size)
            held = held.and_page(page)
            tokens = held.tokens()
            begin, starts = 0, np.flatnonzero(tokens[1:] != tokens[:-1]) + 1
            while (at := int(np.searchsorted(starts, begin + most))) < len(starts):
                end = int(starts[at])
                cut = int(tokens[end - 1])
                yield Piece(low, cut, held.slice(begin, end))
                low, begin = cut, end
            held = held.slice(begin)
        yield Piece(low, high, held)

    def partition(self, name: bytes) -> RawPartition | None:
        """One partition as it is now; None where it has no row."""
        token = int.from_bytes(name[:_TOKEN_BYTES], "big") - 2**63
        found = (each for piece in self.pieces(token - 1, token, PAGE_ROWS) for each in self.partitions(piece.rows))
        return next((each for each in found if each.name == name), None)

    def row(self, name: bytes, clustering: Sequence[bytes | None] | None) -> RawPartition | None:
        """One row of a partition by its clustering; without that any one of its rows, or what only has static columns.
        None where there is none."""
        key = parts_of(name[_TOKEN_BYTES:], 0, self.key_count)
        where = self._where_row if clustering is not None else self._where_row[: self.key_count]
        query = f"{self._select} WHERE {' AND '.join(where)} LIMIT 1"
        values = [*key, *(clustering or ())]
        found: list[Row] = []
        for page in read_pages_by(self._session, query, values, self._consistency):
            self._types.check(page.types)
            found += [tuple(row[1 + self.key_count :]) for row in page.rows()]
        return RawPartition(name, found) if found else None

    def partitions(self, rows: RawRows) -> Iterator[RawPartition]:
        """The partitions of whole ones' rows."""
        name, key, held, behind = b"", Row(), list[Row](), 1 + self.key_count
        for row in rows.tuples():
            if row[:behind] != key:
                if held:
                    yield RawPartition(name, held)
                key, held = row[:behind], []
                assert row[0] is not None, "a row has a token"
                name = token_part(int.from_bytes(row[0], "big", signed=True)) + framed(row[1:behind])
            held.append(row[behind:])
        if held:
            yield RawPartition(name, held)
