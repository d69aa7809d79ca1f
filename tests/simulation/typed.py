"""A consumer of one table in columns of its own types, and what must hold of them: they say what was written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.helpers.images.seen import bare
from tests.helpers.images.tables import ModelColumn, ModelTable
from tests.simulation.consumers import ViolationError
from tests.simulation.database import RENAMED
from tests.simulation.encoded import KEYSPACE
from tests.simulation.logged import Ledger
from tests.simulation.narrow import Narrow

_SAME: Final = (
    "op", "is_static", "write_ts", "ttl", "expires_at", "token", "event_id", "table_id", "node", "segment", "offset",
    "row",
)  # fmt: skip
"""What the change has stands there as in the generic form; `_` before the name."""


class TypedRows(Narrow):
    """It has each row of its table once, in order."""

    def __init__(self, name: str, folder: Path, ledger: Ledger, random: Random, **options: Any) -> None:
        super().__init__(name, folder, ledger, random, **options)
        self._always = random.choice(("wide", "flat", "counted"))
        self._options = {**options, "table": f"{KEYSPACE}.{self._always}"}

    def _choose(self) -> None:
        self._tables = frozenset((self._always,))

    def _number_of(self, row: dict[str, Any]) -> int:
        number, expected, table = self._ledger.found(row["_segment"], row["_offset"], row["_row"])
        if differing := _differing(expected, row, table):
            raise ViolationError(f"the typed row {row['_event_id']} differs (expected, found): {differing}")
        return number

    def _table_of(self, row: dict[str, Any]) -> str:
        return self._always


def _differing(expected: dict[str, Any], row: dict[str, Any], table: ModelTable) -> dict[str, Any]:
    told = {f"_{name}": expected[name] for name in _SAME}
    keys = {**json.loads(expected["partition_key"] or "{}"), **json.loads(expected["clustering"] or "{}")}
    # The columns have the names of the run's beginning.
    told |= {_there(row, name): keys.get(name) for name in ("k", *(name for name, _ in table.clustering))}
    columns = None if expected["columns"] is None else json.loads(expected["columns"])
    values, assigned, deltas = _typed(columns or {}, table)
    found = {_plain(name): value for name, value in row.items() if value is not None}
    differing = {name: (value, row[name]) for name, value in told.items() if row[name] != value}
    for name in {column.name for column in table.columns}:
        if bare(found.get(name)) != bare(values.get(name)):
            differing[name] = values.get(name), found.get(name)
    mine = None if expected["op"] not in ("insert", "update") else sorted(assigned)
    if mine != (None if row["_set"] is None else sorted(map(_plain, row["_set"]))):
        differing["_set"] = mine, row["_set"]
    theirs = {_plain(name): value for name, value in json.loads(row["_deltas"] or "{}").items()}
    if theirs != deltas:
        differing["_deltas"] = deltas, theirs
    return differing


def _there(row: dict[str, Any], key: str) -> str:
    """By what name a row has a column of the key."""
    names = {RENAMED.get(key, key), *(old for old, new in RENAMED.items() if new == key), key}
    return next(name for name in sorted(names) if name in row)


def _plain(name: str) -> str:
    """A column of an earlier table of the same name, or one that was dropped, has its type behind its name."""
    return re.sub(r"_dropped_\w+$", "", name)


def _typed(columns: dict[str, Any], table: ModelTable) -> tuple[dict[str, Any], list[str], dict[str, Any]]:
    """The values of a row's columns, which of them were assigned, and `_deltas`."""
    values: dict[str, Any] = {}
    assigned, deltas = list[str](), {}
    for name, value in columns.items():
        column = table.column(name)
        if column.counter:
            deltas[name] = value
            values[name] = sum(shard["total"] for shard in value)
            continue
        if column.complex:
            deltas[name] = value
            if value is not None and not value["replaced"]:
                continue
            value = _collection(column, (value or {}).get("put"))
        values[name] = value
        assigned.append(name)
    return values, assigned, deltas


def _collection(column: ModelColumn, put: Any) -> Any:
    if not put:
        return None
    match column.type:
        case "pair":
            return {name: put.get(name) for name in column.fields}
        case "map<int, int>":
            return [(int(key), value) for key, value in put.items()]
        case "list<int>":
            return [value for _, value in put]
        case _:
            return put
