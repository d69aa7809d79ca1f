"""Kept tables, read from each database with its own driver as canonical values. Knows no image and no log."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.oracle.jsontext import loads
from tests.server.migrations.consumers import Consumer, Targets

OWN = ("cdc_tail_seq", "cdc_tail_complete")


class Kept:
    """The tables of one consumer."""

    def __init__(self, consumer: Consumer, targets: Targets) -> None:
        self._kind, self._prefix = consumer.kind, f"{consumer.name}_" if consumer.kind == "postgresql" else ""
        self._targets = targets
        self._file = Path(targets.to(consumer.kind, consumer.name).partition(":")[2])

    def rows(self, table: str) -> list[dict[str, Any]] | None:
        """With the columns of the database and ours; None where there is no such table."""
        name = self._prefix + table.replace(".", "_")
        if self._kind == "postgresql":
            return _postgresql(self._targets, name)
        if not self._file.exists():
            return None
        return _sqlite(self._file, name) if self._kind == "sqlite" else _duckdb(self._file, name)


def _sqlite(file: Path, name: str) -> list[dict[str, Any]] | None:
    with closing(sqlite3.connect(file)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchall():
            return None
        asked = database.execute(f'SELECT * FROM "{name}"')
        names = [column[0] for column in asked.description]
        return [dict(zip(names, row, strict=True)) for row in asked]


def _duckdb(file: Path, name: str) -> list[dict[str, Any]] | None:
    import duckdb

    with duckdb.connect(file, read_only=True) as database:
        columns = database.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = ?", (name,)
        ).fetchall()
        if not columns:
            return None
        # Its driver needs another package for times with a zone.
        asked = ", ".join(
            f'epoch_ms("{each}") AS "{each}"' if of == "TIMESTAMP WITH TIME ZONE" else f'"{each}"'
            for each, of in columns
        )
        rows = database.execute(f'SELECT {asked} FROM "{name}"').fetchall()
        return [dict(zip([each for each, _ in columns], row, strict=True)) for row in rows]


def _postgresql(targets: Targets, name: str) -> list[dict[str, Any]] | None:
    import psycopg
    from psycopg.types.json import set_json_loads

    with psycopg.connect(str(targets.postgresql), password=targets.password) as connection:
        set_json_loads(lambda text: loads(text if isinstance(text, str) else text.decode()), connection)
        if connection.execute("SELECT to_regclass(%s)", (f'"{name}"',)).fetchall()[0][0] is None:
            return None
        asked = connection.execute(f'SELECT * FROM "{name}"'.encode())
        names = [column.name for column in asked.description or ()]
        return [dict(zip(names, row, strict=True)) for row in asked.fetchall()]


def known(row: Mapping[str, Any]) -> bool:
    """Whether the row is marked as known whole."""
    return bool(row[OWN[1]])
