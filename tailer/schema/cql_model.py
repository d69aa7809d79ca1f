"""What the statements of a CQL file build up: types, tables, views; and the base rows they come to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tailer.schema.model import ColumnKind
from tailer.schema.rows import BASE_TS, SchemaDelta, Value, put

KEY_KINDS: Final[tuple[ColumnKind, ColumnKind]] = ("partition_key", "clustering")


@dataclass
class CqlColumn:
    kind: ColumnKind
    type: str
    position: int = -1
    desc: bool = False

    def values(self, name: str) -> dict[str, Value]:
        order = ("desc" if self.desc else "asc") if self.kind == "clustering" else "none"
        return {
            "kind": self.kind,
            "position": self.position,
            "type": self.type,
            "clustering_order": order,
            "column_name_bytes": name.encode().hex(),
        }


@dataclass
class Dropped:
    kind: ColumnKind
    type: str
    time: int | None


@dataclass
class CqlTable:
    """A table or view as its statements describe it; `id` is 32 hex digits, "" if the file does not say it.

    `says_cdc`: whether a statement says `cdc`; where none does, `cdc` is Cassandra's default.
    """

    keyspace: str
    name: str
    view: bool = False
    id: str = ""
    cdc: bool = False
    says_cdc: bool = False
    gc_grace_seconds: int | None = None
    compact: bool = False
    columns: dict[str, CqlColumn] = field(default_factory=dict)
    dropped: dict[str, Dropped] = field(default_factory=dict)
    hidden: str = ""
    """The clustering column's name that CLUSTERING ORDER BY tells of a compact table without one."""

    def set_key(self, partition: list[str], clustering: list[str]) -> None:
        for kind, names in zip(KEY_KINDS, (partition, clustering), strict=True):
            for position, name in enumerate(names):
                self.columns[name].kind = kind
                self.columns[name].position = position

    def add_hidden(self) -> None:
        """The columns of a COMPACT STORAGE table that CQL does not show and the log has.

        Without clustering columns all others are static, and there is a clustering column and a value; with only key
        columns the value is of type `empty` (cql3/statements/schema/CreateTableStatement).
        """
        if not self.compact:
            return
        if any(column.kind == "clustering" for column in self.columns.values()):
            if not any(column.kind == "regular" for column in self.columns.values()):
                self.columns[self._free("value", "")] = CqlColumn("regular", "empty")
            return
        for column in self.columns.values():
            if column.kind == "regular":
                column.kind = "static"
        counter = any(column.type == "counter" for column in self.columns.values())
        self.columns[self.hidden or self._free("column", "1")] = CqlColumn("clustering", "text", 0)
        self.columns[self._free("value", "")] = CqlColumn("regular", "counter" if counter else "blob")

    def _free(self, stem: str, number: str) -> str:
        while stem + number in self.columns:
            number = str(int(number or 0) + 1)
        return stem + number

    def deltas(self) -> list[SchemaDelta]:
        self.add_hidden()
        counter = any(column.type == "counter" for column in self.columns.values())
        heading: dict[str, Value] = {"id": self.id or None, "cdc": self.cdc, "gc_grace_seconds": self.gc_grace_seconds}
        if not self.view:
            heading["flags"] = ["compound", "counter"] if counter else ["compound"]
        place = (self.keyspace, self.name)
        rows = [put("views" if self.view else "tables", place[0], [place[1]], heading, BASE_TS)]
        for name, column in self.columns.items():
            rows.append(put("columns", place[0], [place[1], name], column.values(name), BASE_TS))
        for name, gone in self.dropped.items():
            values: dict[str, Value] = {"kind": gone.kind, "type": gone.type, "dropped_time": gone.time}
            rows.append(put("dropped_columns", place[0], [place[1], name], values, BASE_TS))
        return rows


@dataclass
class CqlSchema:
    """Everything a file described, by (keyspace, name), in its order. `not_durable`: keyspaces with `durable_writes =
    false`."""

    types: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    tables: dict[tuple[str, str], CqlTable] = field(default_factory=dict)
    not_durable: set[str] = field(default_factory=set)

    def set_durable(self, keyspace: str, *, durable: bool) -> None:
        """What the last statement about a keyspace says."""
        self.not_durable = self.not_durable - {keyspace} if durable else self.not_durable | {keyspace}

    def deltas(self) -> list[SchemaDelta]:
        rows = [put("keyspaces", name, [], {"durable_writes": False}, BASE_TS) for name in sorted(self.not_durable)]
        for (keyspace, name), fields in self.types.items():
            values: dict[str, Value] = {"field_names": list(fields), "field_types": list(fields.values())}
            rows.append(put("types", keyspace, [name], values, BASE_TS))
        for table in self.tables.values():
            rows += table.deltas()
        return rows

    def drop_keyspace(self, keyspace: str) -> None:
        self.types = {place: held for place, held in self.types.items() if place[0] != keyspace}
        self.tables = {place: held for place, held in self.tables.items() if place[0] != keyspace}
        self.set_durable(keyspace, durable=True)
