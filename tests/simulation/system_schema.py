"""A node's `system_schema` as its schema changes make it: the newest cell counts, and deletions. Independent of the
product."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final
from uuid import UUID

from tests.helpers.logs.model import Cell, Mutation, Row
from tests.simulation.encoded import KEYSPACE

_KEYS: Final = {
    "tables": ("keyspace_name", "table_name"),
    "views": ("keyspace_name", "view_name"),
    "columns": ("keyspace_name", "table_name", "column_name"),
    "dropped_columns": ("keyspace_name", "table_name", "column_name"),
    "types": ("keyspace_name", "type_name"),
    "keyspaces": ("keyspace_name",),
}
_NEVER: Final = -(2**63)

_Place = tuple[str, tuple[str, ...]]
"""A table of `system_schema`, and the key of a row."""


class SystemSchema:
    """Of one node."""

    def __init__(self) -> None:
        self._cells: dict[_Place, dict[str, tuple[int, bytes]]] = {}
        self._rows_deleted: dict[_Place, int] = {}
        self._types: dict[str, dict[str, str]] = {}

    def apply(self, mutation: Mutation) -> None:
        """What the node executes. What is not of its schema changes nothing here."""
        for update in mutation:
            if update.table.keyspace != "system_schema":
                continue
            assert update.deletion is None, "no history drops a keyspace"
            table = update.table.name
            self._types[table] = {column.name: column.type for column in update.table.columns}
            for row in update.unfiltereds:
                assert isinstance(row, Row), "no history deletes a range of them"
                place = (table, (update.key.decode(), *((part or b"").decode() for part in row.clustering)))
                if row.deletion is not None:
                    self._rows_deleted[place] = max(self._rows_deleted.get(place, _NEVER), row.deletion.ts)
                held = self._cells.setdefault(place, {})
                for name, cell in row.cells:
                    assert isinstance(cell, Cell), "its collections are frozen"
                    # The later change of equal times is the one that was executed later.
                    if name not in held or cell.ts >= held[name][0]:
                        held[name] = cell.ts, cell.value

    def select(self, table: str, texts: Sequence[str], replicas: int) -> Iterator[tuple[Any, ...]]:
        """The rows of one of its tables, with the values as the driver has them. `replicas`: of each keyspace."""
        for (mine, key), cells in sorted(self._cells.items()):
            deleted = self._rows_deleted.get((mine, key), _NEVER)
            live = {name: cell for name, cell in cells.items() if cell[0] > deleted}
            if mine == table and live:
                yield tuple(self._value(table, key, live, text, replicas) for text in texts)

    def _value(
        self, table: str, key: tuple[str, ...], cells: dict[str, tuple[int, bytes]], text: str, replicas: int
    ) -> Any:
        function, name = _asked(text)
        if name in _KEYS[table]:
            return key[_KEYS[table].index(name)]
        if name == "replication":
            strategy = "SimpleStrategy" if key == (KEYSPACE,) else "LocalStrategy"
            return {"class": f"org.apache.cassandra.locator.{strategy}", "replication_factor": str(replicas)}
        if name not in cells:
            return None
        ts, value = cells[name]
        return ts if function == "writetime" else _read(self._types[table][name], value)


def _asked(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"(?:(\w+)\()?(\w+)\)?", text)
    assert found is not None, text
    return (found[1] or "").lower(), found[2]


def _read(type_: str, value: bytes) -> Any:
    match type_:
        case "uuid":
            return UUID(bytes=value)
        case "boolean":
            return value != b"\0"
        case "int" | "timestamp":
            return int.from_bytes(value, "big", signed=True)
        case "text":
            return value.decode()
        case "blob":
            return value
        case _:
            return _texts(value)


def _texts(value: bytes) -> list[str]:
    """Of a frozen collection of texts."""
    found, at = [], 4
    for _ in range(int.from_bytes(value[:4], "big")):
        end = at + 4 + int.from_bytes(value[at : at + 4], "big")
        found.append(value[at + 4 : end].decode())
        at = end
    return found
