"""Where a scan of native entries is: bytes, the entry's end, the table, and the lines collected so far. State only."""

from __future__ import annotations

from tailer.scan.index import Status, Stopped
from tailer.scan.record.heads import BadRecordError
from tailer.scan.tables import ScanColumn, ScanTable, ScanTables

NO_TABLE = -1
"""In place of a table's number: only rows are counted, by no definition."""


class RecordScan:
    """One scan's state.

    `number`: the next change row's; `in_txn`: numbers run on from entry to entry. `table`: of the change being read,
    None where its rows are only counted. `extra`: bytes to stand behind the data, of keys that had to be put together;
    `attrs`: number, offset and length of entries with attributes, flat.
    """

    __slots__ = (
        "attrs", "cells", "columns", "data", "end", "entry", "extra", "in_txn", "number", "rows", "skipped", "start",
        "stopped", "table", "table_number", "tables", "update", "updates", "values", "write_ts",
    )  # fmt: skip

    def __init__(self, data: bytes, tables: ScanTables, number: int | None) -> None:
        self.data = data
        self.tables = tables
        self.in_txn = number is not None
        self.number = number or 0
        self.updates: list[int] = []
        self.rows: list[int] = []
        self.values: list[int] = []
        self.cells: list[int] = []
        self.attrs: list[int] = []
        self.extra = bytearray()
        self.skipped: dict[bytes, int] = {}
        self.stopped = Stopped(Status.OK, 0)
        self.table: ScanTable | None = None
        self.table_number = NO_TABLE
        self.columns: tuple[ScanColumn, ...] = ()
        self.entry = self.start = self.end = self.update = self.write_ts = 0

    def marks(self) -> tuple[int, ...]:
        """How far it is, for `go_back`."""
        lines = (self.updates, self.rows, self.values, self.cells, self.attrs, self.extra)
        return (*(len(each) for each in lines), self.number)

    def go_back(self, marks: tuple[int, ...]) -> None:
        """Drops all lines behind those that there were."""
        updates, rows, values, cells, attrs, extra, number = marks
        del self.updates[updates:], self.rows[rows:], self.values[values:], self.cells[cells:]
        del self.attrs[attrs:], self.extra[extra:]
        self.number = number

    def stop(self, error: BadRecordError) -> None:
        """Notes why the entry does not decode."""
        size = self.end - self.start
        self.stopped = Stopped(
            error.status, self.entry, self.start, size, error.at, error.found, self.table_number, error.at, 0
        )
