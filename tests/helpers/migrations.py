"""Generated migrations of a table: its definitions and change rows, and what SELECT shows, by a model of its own."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.types import murmur3_token

Cell = tuple[Any, int]
"""A value and its timestamp."""
Values = dict[str, Cell]


@dataclass
class Col:
    """A column that is there, or was dropped."""

    type: str
    static: bool = False
    dropped: bool = False
    dropped_time: int | None = None
    added_time: int | None = None


@dataclass
class Partition:
    statics: Values = field(default_factory=dict)
    rows: dict[int, Values] = field(default_factory=dict)
    """A row's marker is the cell ''."""


class Source:
    """A table of one consumer's log. Timestamps are microseconds from a start on; a write is newer than all before."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.now = 1_000_000_000
        self.number = 0
        self.fields = ["a"]
        self.ids = self.lives = 0
        self.create()

    def create(self) -> None:
        """CREATE TABLE, with a new id or the same, and perhaps another key and other columns."""
        self.lives += 1
        if self.lives == 1 or self.chance.random() < 0.6:
            self.ids += 1
        # Else WITH ID = the id that it had.
        self.id = f"{self.ids:032x}"
        self.keys = self.chance.choice([("pk", "ck"), ("id", "ck"), ("pk", "at")])
        self.pk_type = self.chance.choice(["int", "text"])
        self.columns = {"v": Col("int"), "u": Col("frozen<place>")}
        if self.chance.random() < 0.4:
            self.columns["s"] = Col("int", static=True)
        self.partitions: dict[int, Partition] = {}

    @property
    def definition(self) -> TableDefinition:
        pk, ck = self.keys
        # A key column may be given the name of a dropped column, whose row of `dropped_columns` stays.
        drops = {name: col.dropped_time for name, col in self.columns.items()}
        columns = [
            Column(pk, "partition_key", self.pk_type, 0, dropped_time=drops.get(pk)),
            Column(ck, "clustering", "int", 0, dropped_time=drops.get(ck)),
        ]
        columns += [
            Column(name, "static" if col.static else "regular", col.type, dropped=col.dropped,
                   dropped_time=col.dropped_time, added_time=col.added_time)
            for name, col in self.columns.items() if name not in self.keys
        ]  # fmt: skip
        types = {"place": tuple(TypeField(name, "int") for name in self.fields)}
        return TableDefinition(self.id, "ks", "t", tuple(columns), cdc=True, types=types)

    # --- what SELECT shows ---

    def select(self) -> list[tuple[Any, ...]]:
        """Keys, then the columns of `names`."""
        shown = []
        for k, part in self.partitions.items():
            alive = {x: cells for x, cells in part.rows.items() if self._lives(cells)}
            for x, cells in alive.items():
                shown.append((self._pk(k), x, *(self._value(name, part, cells) for name in self.names)))
            if not alive and any(self._visible(name, part.statics) is not None for name in self._live(static=True)):
                shown.append((self._pk(k), None, *(self._value(name, part, {}) for name in self.names)))
        return sorted(shown, key=repr)

    @property
    def names(self) -> list[str]:
        return [*self._live(static=True), *self._live(static=False)]

    def _live(self, *, static: bool) -> list[str]:
        return [name for name, col in self.columns.items() if not col.dropped and col.static == static]

    def _lives(self, cells: Values) -> bool:
        return "" in cells or any(self._visible(name, cells) is not None for name in self._live(static=False))

    def _visible(self, name: str, cells: Values) -> Any:
        value, ts = cells.get(name, (None, 0))
        until = self.columns[name].dropped_time
        return None if until is not None and ts <= until else value

    def _value(self, name: str, part: Partition, cells: Values) -> Any:
        col = self.columns[name]
        return self._shown(col.type, self._visible(name, part.statics if col.static else cells))

    def _shown(self, type_: str, value: Any) -> Any:
        if value is None:
            return None
        if type_ == "frozen<place>":
            return dict(zip(self.fields, [*value, *[None] * len(self.fields)], strict=False))
        if type_ == "blob":
            return value if isinstance(value, str) else f"0x{value:08x}"
        return value

    def _pk(self, k: int) -> Any:
        return k if self.pk_type == "int" else str(k)

    # --- what is written ---

    def write(self) -> dict[str, Any]:
        """One write, as its change row."""
        self.now += 1_000_000
        ts, chance = self.now, self.chance
        k, x = chance.randrange(3), chance.randrange(3)
        part = self.partitions.setdefault(k, Partition())
        kind = chance.choice(["insert", "insert", "update", "update", "static", "delete_row", "delete_partition"])
        if kind == "static" and not self._live(static=True):
            kind = "insert"
        if kind == "delete_partition":
            part.statics, part.rows = {}, {}
            return self._change(kind, k, None, ts)
        if kind == "delete_row":
            part.rows.pop(x, None)
            return self._change(kind, k, x, ts)
        static = kind == "static"
        names = self._live(static=static)
        chosen = [name for name in names if chance.random() < 0.6] or names[:1]
        cells = part.statics if static else part.rows.setdefault(x, {})
        values = {name: self._any(self.columns[name].type) for name in chosen}
        cells |= {name: (value, ts) for name, value in values.items()}
        if kind == "insert" or not chosen:
            kind = "insert"
            cells[""] = (None, ts)
        given = {name: self._shown(self.columns[name].type, value) for name, value in values.items()}
        return self._change("update" if static else kind, k, None if static else x, ts, given, static=static)

    def _any(self, type_: str) -> Any:
        if self.chance.random() < 0.15:
            return None
        number = self.chance.randrange(1_000)
        if type_ == "frozen<place>":
            return [number for _ in self.fields]
        return f"0x{number:04x}" if type_ == "blob" else number

    def _change(
        self, op: str, k: int, x: int | None, ts: int, values: dict[str, Any] | None = None, *, static: bool = False
    ) -> dict[str, Any]:
        self.number += 1
        pk, ck = self.keys
        key = k.to_bytes(4, "big") if self.pk_type == "int" else str(k).encode()
        return dict.fromkeys(("range", "cells", "ttl", "expires_at")) | {
            "node": "a", "keyspace": "ks", "table": "t", "table_id": str(UUID(self.id)), "op": op, "is_static": static,
            "columns": None if values is None else json.dumps(values), "partition_key": json.dumps({pk: self._pk(k)}),
            "clustering": None if x is None else json.dumps({ck: x}), "write_ts": ts, "token": murmur3_token(key),
            "segment": 1, "offset": self.number, "row": 0, "event_id": f"a:1:{self.number}:0",
        }  # fmt: skip

    def schema_row(self, table_id: str, definition: str | None) -> dict[str, Any]:
        """The row of another definition, or of DROP TABLE."""
        row = self._change("schema", 0, None, self.now)
        more = {"table_id": str(UUID(table_id)), "columns": definition, "partition_key": None, "token": None}
        return row | more

    # --- migrations ---

    def _is_free(self, name: str) -> bool:
        """Whether a column may have a name: neither a live one nor a key column has it, in any case."""
        return name.casefold() not in {each.casefold() for each in (*self.names, *self.keys)}

    def migrate(self) -> str:
        """One ALTER, or DROP and CREATE; which."""
        kinds = ["add", "add_static", "drop", "drop_older", "again", "again", "rename", "field", "rename_field"]
        kind = self.chance.choice([*kinds, "recreate"])
        self.now += 1_000_000
        live = self.names
        gone = [name for name, col in self.columns.items() if col.dropped and self._is_free(name)]
        if kind in ("add", "add_static"):
            # A name that differs from a dropped one by case alone is another column.
            turned = [each for name in gone if (each := name.swapcase()) not in self.columns and self._is_free(each)]
            name = self.chance.choice([f"c{len(self.columns)}", *turned])
            self.columns[name] = Col(self.chance.choice(["int", "frozen<place>"]), static=kind == "add_static")
        elif kind in ("drop", "drop_older") and live:
            col = self.columns[self.chance.choice(live)]
            # USING TIMESTAMP: what was written since stays, for a column that is added again.
            older = kind == "drop_older" and col.dropped_time is None
            until = self.now - self.chance.randrange(20) * 1_000_000 if older else self.now
            col.dropped, col.dropped_time, col.added_time = True, until, None
        elif kind == "again" and gone:
            col = self.columns[self.chance.choice(gone)]
            col.dropped, col.added_time = False, self.now
            if col.type == "int":
                col.type = self.chance.choice(["int", "varint", "blob"])
        elif kind == "rename":
            pk, ck = self.keys
            names = [*gone, *(each for name in gone if self._is_free(each := name.swapcase()))]
            taken = [keys for name in names for keys in ((pk, name), (name, ck))]
            self.keys = self.chance.choice([(pk, f"{ck}x"), (f"{pk}x", ck), (ck, pk), *taken])
        elif kind == "field":
            self.fields.append(f"f{len(self.fields)}")
        elif kind == "rename_field":
            at = self.chance.randrange(len(self.fields))
            self.fields[at] += "r"
        elif kind == "recreate":
            self.create()
        return kind
