"""A server with tables, its log and its `system_schema`, as a model that shares no code with the program.

Statements are executed one after the other. Each is a mutation of the log and, where it changes the schema, rows of
`system_schema` with their write timestamps. What a row was written by is kept: the definition in force there.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.helpers.log_writer import (
    TS,
    Cell,
    Column,
    Liveness,
    LogFolder,
    Mutation,
    Row,
    Table,
    Update,
    add_column,
    alter_table,
    completed,
    create_table,
    drop_column,
    drop_table,
    encode_mutation,
    i32,
    live,
    rename_column,
    segment_of,
)

FIRST = 1_700_000_000_001
KEYSPACE = "ks"
NAMES = ("a", "b", "c")
TYPES = ("int", "text")


@dataclass(frozen=True)
class Written:
    """A row: the table by which it was written, and its values by column. `ever`: columns dropped before."""

    number: int
    table: Table
    values: dict[str, object]
    ever: frozenset[tuple[str, int]]


@dataclass
class World:
    """The server. `vanish`: segments that hold no captured row may be removed before anybody reads them."""

    folder: LogFolder
    chance: random.Random
    vanish: bool = True
    stopped: bool = False
    steps: int = 0
    tables: dict[str, Table] = field(default_factory=dict)
    ids: dict[str, list[UUID]] = field(default_factory=dict)
    dropped: dict[str, dict[str, int]] = field(default_factory=dict)
    rows: list[Written] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    """Ids of tables of which the log lacks a schema change."""
    gone: set[str] = field(default_factory=set)
    """Ids that were dropped: of those that are lost too nobody can say any more what the definition was."""
    schema: dict[str, dict[tuple[str, ...], tuple[int, dict[str, Any]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.schema = {name: {} for name in ("tables", "views", "columns", "dropped_columns", "types")}
        self.schema["keyspaces"] = {(): (TS, {"durable_writes": True})}
        self._segment = FIRST
        self._sections: list[list[bytes]] = []
        self._captured = False
        self._altered: set[str] = set()

    @property
    def now(self) -> int:
        return TS + self.steps * 1_000_000

    def step(self) -> None:
        """Execute one statement, unless the server is stopped."""
        if self.stopped:
            return
        self.steps += 1
        choices: list[Any] = [self._insert] * 6 + [self._create, self._add, self._add, self._drop_column, self._close]
        choices += [self._rename, self._drop, self._toggle]
        self.chance.choice(choices)()

    def flush(self) -> None:
        """The log's bytes are durable."""
        if self._sections:
            writer = segment_of(self._segment, self._sections)
            self.folder.put(writer, live(writer) if self._captured else None)

    def close(self) -> None:
        """The server is stopped, and its open segment finished."""
        self.stopped = True
        self._close(vanishes=False)

    def select(self, system_table: str) -> Iterator[tuple[Any, ...]]:
        """What a SELECT of all columns and write times gives (`schema.server.read_session`)."""
        for key, (ts, values) in sorted(self.schema.get(system_table, {}).items()):
            yield (KEYSPACE, *key, *values.values(), *([ts] * len(values)))

    def _log(self, mutation: Mutation) -> None:
        self._sections.append([encode_mutation(mutation)])
        self.flush()

    def _close(self, vanishes: bool | None = None) -> None:
        if not self._sections:
            return
        writer = segment_of(self._segment, self._sections)
        chosen = self.vanish and self.chance.random() < 0.7 if vanishes is None else vanishes
        if not self._captured and chosen:
            self.folder.remove(writer)
            self.lost |= self._altered
        else:
            self.folder.put(writer, completed(writer) if self._captured else None)
        self._segment += 1
        self._sections, self._captured, self._altered = [], False, set()

    def _some(self) -> Table | None:
        return self.chance.choice([*self.tables.values()]) if self.tables else None

    def _insert(self) -> None:
        table = self._some()
        if table is None:
            self._create()
            return
        chosen = [each for each in table.of_kind("regular") if self.chance.random() < 0.7]
        values: dict[str, object] = {}
        cells = []
        for column in sorted(chosen, key=lambda each: each.name_bytes):
            value = self.steps if column.type == "int" else f"text {self.steps}"
            values[column.name] = value
            data = i32(self.steps) if column.type == "int" else f"text {self.steps}".encode()
            cells.append((column.name, Cell(data, self.now, like_row=1)))
        row = Row((b"k",), Liveness(self.now), None, tuple(cells))
        self._captured = self._captured or table.cdc
        if table.cdc:
            ever = frozenset(self.dropped.get(table.name, {}).items())
            self.rows.append(Written(self.steps, table, values, ever))
        self._log((Update(table, i32(self.steps), (row,)),))

    def _create(self) -> None:
        free = [name for name in NAMES if name not in self.tables]
        if not free:
            return
        name = self.chance.choice(free)
        before = self.ids.setdefault(name, [])
        id = before[-1] if before and self.chance.random() < 0.4 else UUID(int=self.chance.getrandbits(128), version=1)
        before.append(id)
        columns = (Column("pk", "partition_key", "int", 0), Column("ck", "clustering", "text", 0))
        if self.chance.random() < 0.7:
            columns += (Column("x", "regular", self.chance.choice(TYPES)),)
        table = Table(id, KEYSPACE, name, columns, True)
        for column in table.columns:
            self._put_column(table, column)
        self._put_table(table)
        self._changed(table, create_table(table, self.now))

    def _add(self) -> None:
        table = self._some()
        free = [name for name in ("x", "y", "z") if table is not None and all(name != c.name for c in table.columns)]
        if table is None or not free:
            return
        column = Column(self.chance.choice(free), "regular", self.chance.choice(TYPES))
        table = replace(table, columns=(*table.columns, column))
        self._put_column(table, column)
        self._put_table(table)
        self._changed(table, add_column(table, column, self.now))

    def _drop_column(self) -> None:
        table = self._some()
        if table is None or not table.of_kind("regular") or table.id.hex in self._altered:
            return
        column = self.chance.choice(table.of_kind("regular"))
        table = replace(table, columns=tuple(each for each in table.columns if each != column))
        del self.schema["columns"][table.name, column.name]
        values = {"kind": "regular", "type": column.type, "dropped_time": self.now // 1000}
        self.schema["dropped_columns"][table.name, column.name] = self.now, values
        self.dropped.setdefault(table.name, {})[column.name] = self.now
        self._put_table(table)
        self._changed(table, drop_column(table, column, self.now), shown=True)

    def _rename(self) -> None:
        table = self._some()
        if table is None:
            return
        (old,) = table.of_kind("clustering")
        new = replace(old, name="ck" if old.name != "ck" else "clus")
        table = replace(table, columns=tuple(new if each == old else each for each in table.columns))
        del self.schema["columns"][table.name, old.name]
        self._put_column(table, new)
        self._put_table(table)
        self._changed(table, rename_column(table, old, new, self.now), shown=True)

    def _toggle(self) -> None:
        table = self._some()
        if table is None:
            return
        table = replace(table, cdc=not table.cdc)
        self._put_table(table)
        self._changed(table, alter_table(table, self.now), shown=True)

    def _drop(self) -> None:
        table = self._some()
        if table is None or self.chance.random() < 0.5:
            return
        del self.tables[table.name]
        del self.schema["tables"][(table.name,)]
        for column in table.columns:
            del self.schema["columns"][table.name, column.name]
        self.gone |= {table.id.hex}
        self._pin()
        self._log(drop_table(table, self.now))

    def _changed(self, table: Table, mutation: Mutation, *, shown: bool = False) -> None:
        """`shown`: the log keeps it. Only CREATE and ADD get lost: of others nobody could say what was before."""
        self.tables[table.name] = table
        if shown:
            self._pin()
        else:
            self._altered.add(table.id.hex)
        self._log(mutation)

    def _pin(self) -> None:
        """The segment stays, as if another table's captured row was in it."""
        self._captured = True

    def _put_table(self, table: Table) -> None:
        values = {"id": table.id, "cdc": table.cdc, "flags": {"compound"}, "gc_grace_seconds": 864000}
        self.schema["tables"][(table.name,)] = self.now, values

    def _put_column(self, table: Table, column: Column) -> None:
        values = {
            "kind": column.kind,
            "position": column.position,
            "type": column.type,
            "clustering_order": "asc" if column.kind == "clustering" else "none",
            "column_name_bytes": column.name_bytes,
        }
        self.schema["columns"][table.name, column.name] = self.now, values


class LateSession:
    """A session whose server executes statements while it is asked: its tables are of different moments."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self._world = world
        self._chance = chance
        self._left = 4

    def execute(self, query: str, *, timeout: float) -> Iterator[tuple[Any, ...]]:
        rows = [*self._world.select(query.rpartition(".")[2])]
        while self._left and self._chance.random() < 0.2:
            self._left -= 1
            self._world.step()
        return iter(rows)


def new_world(path: Path, seed: int) -> World:
    return World(LogFolder(path), random.Random(seed))
