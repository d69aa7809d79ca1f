"""What the change rows of one partition update share, and the rows themselves but for ranges (architecture 4)."""

from __future__ import annotations

from typing import Final

from tailer.rows.batch import Row
from tailer.rows.generic.columns import column_texts
from tailer.rows.generic.times import CELL_WIDTH, RowTimes, times_of_cells
from tailer.rows.prepared import PreparedColumn, PreparedTable
from tailer.scan.index import HAS_DELETION, HAS_TIMESTAMP, HAS_TTL, ROW_FIELDS

Line = list[int]
"""A line of the index's rows, in the order of ROW_FIELDS."""

ROW_WIDTH: Final = len(ROW_FIELDS)


class UpdateRows:
    """Makes the change rows of one partition update after another, one line of the index after the other.

    `values` and `cells` are the index's, as flat numbers.
    """

    __slots__ = (
        "attrs", "cells", "data", "event", "key", "keyspace", "name", "node", "offset", "segment", "table", "token",
        "txn", "values",
    )  # fmt: skip

    def __init__(self, data: bytes, values: list[int], cells: list[int], node: str, segment: int) -> None:
        self.data = data
        self.values = values
        self.cells = cells
        self.node = node
        self.segment = segment
        self.txn: str | None = None

    def begin(
        self, table: PreparedTable, offset: int, key: str, token: int, attrs: str | None, txn: str | None
    ) -> None:
        """Turns to an update: its table, its entry's offset, its partition key as JSON and token, and what a writer of
        its own said of it."""
        definition = table.definition
        self.table = table
        self.keyspace = definition.keyspace
        self.name = definition.table
        self.offset = offset
        self.event = f"{self.node}:{self.segment}:{offset}:"
        self.key = key
        self.token = token
        self.attrs = attrs
        self.txn = txn

    def add_row(self, line: Line, out: list[Row], *, is_static: bool = False) -> None:
        """A row or static row: its deletion, then its data. ValueError for a value that is none of its type."""
        _, number, _, flags, ts, ttl, expires, deletion, values_at, values_n, cells_at, cells_n = line
        table = self.table
        clustering = self.clustering(table.clustering, values_at, values_n) if values_n else None
        if flags & HAS_DELETION:
            out.append(self.deletion("delete_row", number, deletion, clustering, is_static=is_static))
            if not (flags & HAS_TIMESTAMP or cells_n):
                return
            number += 1
        cells = self.cells[cells_at * CELL_WIDTH : (cells_at + cells_n) * CELL_WIDTH]
        row: RowTimes = (ts, ttl, expires) if flags & HAS_TTL else (ts, None, None)
        if not flags & HAS_TIMESTAMP:
            row = times_of_cells(cells)
        columns, differing = column_texts(table.columns, cells, self.data, row)
        op = "insert" if flags & HAS_TIMESTAMP and not is_static else "update"
        write_ts, row_ttl, expires_at = row
        out.append((
            self.node, self.keyspace, self.name, table.table_id, op,
            self.key, clustering, is_static, columns, None, write_ts, row_ttl, expires_at, differing,
            self.token, self.segment, self.offset, number, self.event + str(number), self.txn, self.attrs,
        ))  # fmt: skip

    def deletion(
        self, op: str, number: int, timestamp: int, clustering: str | None = None,
        bounds: str | None = None, *, is_static: bool = False,
    ) -> Row:  # fmt: skip
        """A change row that takes away."""
        return (
            self.node, self.keyspace, self.name, self.table.table_id, op,
            self.key, clustering, is_static, None, bounds, timestamp, None, None, None,
            self.token, self.segment, self.offset, number, self.event + str(number), self.txn, self.attrs,
        )  # fmt: skip

    def clustering(self, columns: tuple[PreparedColumn, ...], at: int, count: int) -> str:
        """The JSON object of `count` clustering values from line `at` on, named; fewer for the prefix of a bound."""
        data, values = self.data, self.values
        texts: list[str] = []
        at *= 2
        for column in columns[:count]:
            off, length = values[at], values[at + 1]
            texts.append(column.label + (column.json(data[off : off + length]) if length >= 0 else "null"))
            at += 2
        return "{" + ",".join(texts) + "}"
