"""A consumer that keeps tables in SQLite, and what must hold of them: they are what SELECT at ALL shows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from tests.helpers.images.partitions import Rows
from tests.helpers.images.seen import bare
from tests.helpers.images.tables import STATIC, ModelTable
from tests.simulation.consumers import Comparing
from tests.simulation.nodes import Nodes
from tests.simulation.world import World

_COMPLETE: Final = "cdc_tail_complete"


class KeptTables(Comparing):
    """By `cdc-tail follow --mode table`, of all nodes."""

    what = "tables"

    def __init__(
        self,
        name: str,
        world: World,
        logs: Mapping[str, Path | str],
        folder: Path,
        home: Path,
        nodes: Nodes,
        *words: str,
    ) -> None:
        """`logs`: folder or address of each node. `folder`: of the first one."""
        super().__init__(name, folder)
        self._world, self._nodes = world, nodes
        places = ",".join(f"{node}={place}" for node, place in logs.items())
        self._file = home / f"{name}.db"
        self._words = [
            "follow", places, "--consumer", name, "--image", "after", "--image-state", str(home / f"{name}.state"),
            "--to", f"sqlite:{self._file}", "--mode", "table", "--into", "{table}", *words,
        ]  # fmt: skip

    @property
    def taken(self) -> int:
        return self._world.files.changes(str(self._file))

    def run(self) -> int:
        """One run: until it is killed, or ends with an exit code."""
        return self._feed(self._words)

    def state(self) -> tuple[int, ...]:
        return (self.taken, *self._nodes.version())

    def compare(self) -> str | None:
        """How the tables differ; None where they do not."""
        with closing(sqlite3.connect(self._world.files.file(str(self._file)))) as database:
            database.row_factory = sqlite3.Row
            for id, partitions in self._nodes.selected().items():
                if id in self._nodes.database.missed:
                    continue
                table = next(each for each in self._nodes.database.tables.values() if each.id == id)
                found = _found(database, table)
                expected = _expected(partitions, table)
                for key in found.keys() | expected.keys():
                    if found.get(key) != expected.get(key):
                        return f"{table.name} {key}: expected {expected.get(key)}, found {found.get(key)}"
        return None


_Row = dict[str, Any]


def _expected(partitions: Mapping[int, Rows], table: ModelTable) -> dict[tuple[Any, ...], _Row]:
    """As SELECT gives rows: each with its partition's static values."""
    found: dict[tuple[Any, ...], _Row] = {}
    static = [column.name for column in table.columns if column.static and column.name not in table.dropped]
    regular = [column.name for column in table.columns if not column.static and column.name not in table.dropped]
    for k, rows in partitions.items():
        shared = {name: bare(rows.get(STATIC, {}).get(name)) for name in static}
        keys = [key for key in rows if key != STATIC]
        for key in keys:
            values = {name: bare(rows[key].get(name)) for name in regular}
            found[(k, *key)] = {**shared, **values, _COMPLETE: 1}
        if not keys and STATIC in rows:
            empty = dict.fromkeys(regular)
            found[(k, *(None for _ in table.clustering))] = {**shared, **empty, _COMPLETE: 1}
    return found


def _found(database: sqlite3.Connection, table: ModelTable) -> dict[tuple[Any, ...], _Row]:
    names = ("k", *(name for name, _ in table.clustering))
    shown = [column for column in table.columns if column.name not in table.dropped]
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table.name,)).fetchone():
        return {}
    rows = [dict(row) for row in database.execute(f'SELECT * FROM "{table.name}"')]
    return {
        tuple(row[name] for name in names): {
            **{column.name: _value(row[column.name], column.complex) for column in shown if column.name in row},
            _COMPLETE: row[_COMPLETE],
        }
        for row in rows
    }


def _value(value: Any, is_json: bool) -> Any:
    return bare(json.loads(value)) if is_json and value is not None else value
