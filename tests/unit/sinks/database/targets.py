"""The databases that rows are written to in these tests, asked by their own drivers; and data files, as one more."""

from __future__ import annotations

import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import psycopg
from deltalake import DeltaTable

from tailer.sinks.database.names import listed
from tests.helpers.data_files import indexes, lines_of
from tests.helpers.postgres import Postgres

NODE = "n1"
GENERIC = (
    "node", "keyspace", "table", "table_id", "op", "partition_key", "clustering", "is_static", "columns", "range",
    "write_ts", "ttl", "expires_at", "cells", "token", "segment", "offset", "row", "event_id", "txn", "attrs",
)  # fmt: skip
PLACE = ("segment", "offset", "row")
JSON = {"partition_key", "clustering", "columns", "range", "cells", "attrs", "after"}


class Target(ABC):
    """One database. `to`: what the command is given."""

    to: str
    kind: str
    quiet: str
    """How a text is asked of a column."""
    own: tuple[str, ...] = ("--into", "changes")
    """What else the command is given."""

    @abstractmethod
    def ask(self, question: str) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def run(self, *statements: str) -> None: ...

    def there(self, table: str) -> bool:
        try:
            self.ask(f"SELECT 1 FROM {table} LIMIT 1")
        except Exception:
            return False
        return True

    def rows(self, table: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """In the order of the log."""
        columns = ", ".join(f'CAST("{name}" AS {self.quiet})' if name in JSON else f'"{name}"' for name in names)
        return self.ask(f"SELECT {columns} FROM {table} ORDER BY {listed(PLACE)}")

    def position(self) -> str | None:
        if not self.there("cdc_tail_positions"):
            return None
        found = self.ask("SELECT position FROM cdc_tail_positions")
        return found[0][0] if found else None


class Sqlite(Target):
    kind, quiet = "sqlite", "TEXT"

    def __init__(self, folder: Path) -> None:
        self.file = folder / "changes.db"
        self.to = f"sqlite:{self.file}"

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.file)) as database:
            return database.execute(question).fetchall()

    def run(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.file)) as database, database:
            for statement in statements:
                database.execute(statement)


class Duckdb(Target):
    kind, quiet = "duckdb", "VARCHAR"

    def __init__(self, folder: Path) -> None:
        self.file = folder / "changes.duckdb"
        self.to = f"duckdb:{self.file}"

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(self.file) as database:
            return database.execute(question).fetchall()

    def run(self, *statements: str) -> None:
        with duckdb.connect(self.file) as database:
            for statement in statements:
                database.execute(statement)


class Deltalake(Target):
    """A Delta table; its folder is the table."""

    kind, own = "delta", ()

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "changes"
        self.to = f"delta:{self.folder}"

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        rows = DeltaTable(self.folder).to_pyarrow_table()
        with duckdb.connect(":memory:") as database:
            database.register("changes", rows)
            return database.execute(question).fetchall()

    def run(self, *statements: str) -> None:
        raise NotImplementedError

    def rows(self, table: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
        made = DeltaTable(self.folder).to_pyarrow_table().select([*names, *PLACE])
        made = made.sort_by([(name, "ascending") for name in PLACE])
        return [tuple(row[name] for name in names) for row in made.to_pylist()]

    def position(self) -> str | None:
        if not DeltaTable.is_deltatable(str(self.folder)):
            return None
        for commit in DeltaTable(self.folder).history():
            if "cdcTail" in commit:
                return str(json.loads(commit["cdcTail"])["offset"])
        return None


class Files(Target):
    """Data files, one of each batch."""

    kind, own = "files", ("--roll-bytes", "1")

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "out"
        self.to = f"files:{self.folder}"

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def run(self, *statements: str) -> None:
        raise NotImplementedError

    def there(self, table: str) -> bool:
        return self.folder.exists()

    def rows(self, table: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
        return [tuple(json.dumps(row[name]) for name in names) for row in lines_of(self.folder / NODE)]

    def position(self) -> str | None:
        found = indexes(self.folder / NODE)
        return json.dumps(found[-1]["offset"]) if found else None


class Postgresql(Target):
    """A database of its own on the server."""

    kind, quiet = "postgresql", "text"

    def __init__(self, server: Postgres, name: str) -> None:
        self.server = server
        with psycopg.connect(server.to, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        self.name = name
        self.to = server.to.replace("/postgres", f"/{name}")

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.to) as connection:
            return connection.execute(question.encode()).fetchall()

    def run(self, *statements: str) -> None:
        with psycopg.connect(self.to, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())
