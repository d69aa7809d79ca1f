"""A server's response to a request for its definitions, without a server: the rows of its `system_schema` as values."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tailer.errors import SystemFailedError
from tailer.schema.rows import SchemaDelta
from tailer.schema.server import Server
from tests.helpers.log_writer import TS, Table


class AskedServer:
    """Takes the place of every server that is asked, and counts the requests. `away`: it does not respond."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requests = 0
        self.away = False
        self._rows: list[SchemaDelta] = []
        self._next: list[SchemaDelta] | None = None
        self._left: int | None = None
        monkeypatch.setattr("tailer.definitions.outside.read_server", self._read)

    def knows(self, *tables: Table, ts: int = TS) -> None:
        """From now on it has these tables, created at `ts`, and no others."""
        self._rows = [row for table in tables for row in rows_of(table, ts)]

    def also(self, *rows: SchemaDelta) -> None:
        """It has these rows besides."""
        self._rows += rows

    def knows_next(self, *tables: Table, ts: int = TS) -> None:
        """It has these tables from the request behind the next one on."""
        self._next = [row for table in tables for row in rows_of(table, ts)]

    def goes_away_after(self, requests: int) -> None:
        """It responds to so many requests more."""
        self._left = requests

    def _read(self, server: Server) -> list[SchemaDelta]:
        self.requests += 1
        if self._left == 0:
            self._left, self.away = None, True
        elif self._left is not None:
            self._left -= 1
        if self.away:
            raise SystemFailedError("the server does not answer", file=str(server))
        rows = self._rows
        if self._next is not None:
            self._rows, self._next = self._next, None
        return list(rows)


def rows_of(table: Table, ts: int = TS) -> Iterable[SchemaDelta]:
    """A table's rows in `system_schema`, each cell with the time at which it was written."""
    head = {"id": (ts, table.id.hex), "cdc": (ts, table.cdc), "flags": (ts, list(table.flags))}
    yield SchemaDelta("tables", table.keyspace, (table.name,), dict(head), ts)
    for column in table.columns:
        cells = {
            "kind": (ts, column.kind),
            "position": (ts, column.position),
            "type": (ts, column.type),
            "clustering_order": (ts, "asc" if column.kind == "clustering" else "none"),
            "column_name_bytes": (ts, column.name.encode().hex()),
        }
        yield SchemaDelta("columns", table.keyspace, (table.name, column.name), cells, ts)
