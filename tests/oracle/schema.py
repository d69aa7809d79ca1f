"""Definitions as the server's `system_schema` lines give them, at every position.

Last write wins per cell; a deletion covers what is not newer than itself. Types stay texts.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.cqltypes import Fields, Type, Types, parse

Update = Mapping[str, Any]
Key = tuple[str, str]
"""Keyspace and table (or type) name."""

OLDEST = -(2**63)
"""A base (a file or a server) is older than any row of the log."""


@dataclass(frozen=True)
class Definition:
    """A table as it is from some position on."""

    id: str
    keyspace: str
    table: str
    cdc: bool
    partition_key: tuple[tuple[str, str], ...]
    clustering: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]
    """Name and type text of static and regular columns, dropped ones too."""
    types: Types

    def type_of(self, text: str) -> Type:
        return parse(text, self.types)

    def column(self, name: str) -> Type | None:
        text = dict(self.columns).get(name)
        return None if text is None else self.type_of(text)


@dataclass
class _Row:
    live: int = OLDEST
    deleted: int = OLDEST
    cells: dict[str, tuple[int, Any]] = field(default_factory=dict)

    def delete(self, stamp: int) -> None:
        self.deleted = max(self.deleted, stamp)
        self.cells = {name: cell for name, cell in self.cells.items() if cell[0] > self.deleted}

    def put(self, name: str, stamp: int, value: Any) -> None:
        if stamp > self.deleted and stamp >= self.cells.get(name, (OLDEST, None))[0]:
            self.cells[name] = (stamp, value)

    @property
    def exists(self) -> bool:
        return self.live > self.deleted or any(value is not None for _, value in self.cells.values())

    def __getitem__(self, name: str) -> Any:
        return self.cells.get(name, (0, None))[1]


class Follower:
    """`apply` the lines in order; `definitions` are those known so far, by table id, dropped ones too."""

    def __init__(self, base: Follower | None = None) -> None:
        self.definitions: dict[str, Definition] = {}
        self._rows: dict[tuple[str, str], dict[tuple[str, ...], _Row]] = {}
        self._partitions: dict[tuple[str, str], int] = {}
        if base is not None:
            self._rest_on(base)

    def _rest_on(self, base: Follower) -> None:
        """Begin with what another one knew at its end, as a file would tell it: no deletions, oldest of all."""
        for key, rows in base._rows.items():
            mine = self._rows[key] = {}
            for name, row in rows.items():
                if row.exists:
                    cells = {column: (OLDEST + 1, value) for column, (_, value) in row.cells.items()}
                    mine[name] = _Row(OLDEST + 1, OLDEST, copy.deepcopy(cells))
        self._define(list(self._tables_and_views()))

    def apply(self, updates: Iterable[Update]) -> None:
        """One mutation's updates of `system_schema`."""
        touched: set[Key] = set()
        retyped: set[str] = set()
        for update in updates:
            keyspace = update["key"]["keyspace_name"]
            table = update["table"]
            for name in self._merge(table, keyspace, update):
                touched.add((keyspace, name))
                if table == "types":
                    retyped.add(keyspace)
        everything = [key for key in self._tables_and_views() if key[0] in retyped]
        self._define([*sorted(touched), *everything])

    def _merge(self, table: str, keyspace: str, update: Update) -> Iterator[str]:
        key = (table, keyspace)
        rows = self._rows.setdefault(key, {})
        if "partition_deletion" in update:
            stamp = update["partition_deletion"]["ts"]
            self._partitions[key] = max(stamp, self._partitions.get(key, OLDEST))
            for row in rows.values():
                row.delete(stamp)
        for change in update["unfiltereds"]:
            if change["kind"] != "row":
                raise ValueError(f"a range deletion in system_schema.{table}")
            name = tuple(change["clustering"])
            row = rows.setdefault(name, _Row(deleted=self._partitions.get(key, OLDEST)))
            _merge_row(row, change)
            if name:
                yield name[0]

    def _tables_and_views(self) -> Iterator[Key]:
        for (table, keyspace), rows in self._rows.items():
            if table in ("tables", "views"):
                for name, row in rows.items():
                    if row.exists:
                        yield keyspace, name[0]

    def _define(self, keys: Iterable[Key]) -> None:
        for keyspace, table in keys:
            for kind in ("tables", "views"):
                row = self._rows.get((kind, keyspace), {}).get((table,))
                if row is not None and row.exists and row["id"] is not None:
                    made = self._definition(keyspace, table, row)
                    if made is not None:
                        self.definitions[made.id] = made

    def _definition(self, keyspace: str, table: str, head: _Row) -> Definition | None:
        """None while a key column is missing: an ALTER without its CREATE does not define a table."""
        columns = [(name[1], row) for name, row in self._of(keyspace, "columns", table) if row["type"] is not None]
        dropped = [(name[1], row) for name, row in self._of(keyspace, "dropped_columns", table)]
        keys = [
            sorted((row["position"], name, row["type"]) for name, row in columns if row["kind"] == kind)
            for kind in ("partition_key", "clustering")
        ]
        if not keys[0] or any([place for place, _, _ in key] != list(range(len(key))) for key in keys):
            return None
        data = {name: row["type"] for name, row in dropped}
        data |= {name: row["type"] for name, row in columns if row["kind"] in ("static", "regular")}
        partition_key, clustering = (tuple((name, text) for _, name, text in key) for key in keys)
        return Definition(
            id=head["id"],
            keyspace=keyspace,
            table=table,
            cdc=bool(head["cdc"]),
            partition_key=partition_key,
            clustering=clustering,
            columns=tuple(sorted(data.items())),
            types=self._types(keyspace),
        )

    def _of(self, keyspace: str, kind: str, table: str) -> Iterator[tuple[tuple[str, ...], _Row]]:
        for name, row in self._rows.get((kind, keyspace), {}).items():
            if name[0] == table and row.exists:
                yield name, row

    def _types(self, keyspace: str) -> Types:
        made: dict[str, Fields] = {}
        for name, row in self._rows.get(("types", keyspace), {}).items():
            if row.exists:
                made[name[0]] = tuple(zip(row["field_names"], row["field_types"], strict=True))
        return tuple(sorted(made.items()))


def _merge_row(row: _Row, change: Mapping[str, Any]) -> None:
    if "deletion" in change:
        row.delete(change["deletion"]["ts"])
    if "liveness" in change:
        row.live = max(row.live, change["liveness"]["ts"])
    for cell in change["cells"]:
        row.put(cell["column"], cell["ts"], cell["value"])
