"""The tables of a history: their definitions as they change, and what statements write. Independent of the product."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final
from uuid import UUID

from tests.helpers.images.logged import Entry
from tests.helpers.images.logged import Update as ModelUpdate
from tests.helpers.images.partitions import Partition, Rows
from tests.helpers.images.parts import update_of
from tests.helpers.images.tables import COUNTED, FIELDS, FLAT, WIDE, ModelColumn, ModelTable
from tests.helpers.logs.model import Cell, Column, Complex, Liveness, Mutation, Row, Table, Update
from tests.helpers.logs.schema import (
    add_column,
    alter_table,
    create_table,
    create_type,
    drop_column,
    drop_table,
    rename_column,
    system_id,
)
from tests.simulation.encoded import KEYSPACE, log_column, log_table, mutation_of
from tests.simulation.statements import PARTITIONS, some_parts

BASE_US: Final = 1_790_000_000_000_000
"""Where timestamps begin."""

STEP_US: Final = 1000
"""Times at which columns are dropped are kept in milliseconds."""

RENAMED: Final = {"x": "xr", "y": "yr"}
"""Clustering columns, and what they are called later."""

EQUAL_US: Final = 20_000
"""What is written within so long has equal timestamps."""


_LOCAL: Final = Table(
    system_id("system", "local"),
    "system",
    "local",
    (Column("key", "partition_key", "text", 0), Column("truncated_at", "regular", "map<uuid, blob>")),
    cdc=False,
)

Written = tuple[ModelTable, tuple[ModelUpdate, ...]]
"""A table, as it was then, and what is done to which of its partitions."""


@dataclass(frozen=True)
class Change:
    """What one mutation does.

    `begins`: the name of a table of which nothing from before counts any more. `captured`: change rows come of it.
    `truncates`: a table, the offset below which its node has nothing of it, and when. `altered`: tables as they are
    from then on. `captures`: whether a table is captured changes with it. `aside`: it is of a table that no definition
    names.
    """

    mutation: Mutation
    written: tuple[Written, ...] = ()
    begins: str | None = None
    captured: bool = True
    truncates: tuple[ModelTable, int, int] | None = None
    altered: tuple[ModelTable, ...] = ()
    captures: bool = False
    aside: bool = False

    def rows(self, node: str, segment: int, offset: int) -> Iterator[dict[str, Any]]:
        """The change rows that must come of it, where it was logged there."""
        entries = [(table, Entry(node, segment, offset, 0, updates)) for table, updates in self.written]
        made = [row for table, entry in entries for row in entry.rows(table)] if self.captured else []
        if self.truncates is not None and self.captured:
            table, before, at = self.truncates
            (row,) = Entry(node, segment, offset, 0, (), True, before).rows(table)
            made.append({**row, "write_ts": at})
        for number, row in enumerate(made):
            yield {**row, "row": number, "event_id": f"{node}:{segment}:{offset}:{number}"}


@dataclass
class Database:
    """Each change is drawn from the history's seed and its own number.

    `tables`: by name, as they are now. `missed`: ids of tables of which something was not captured.
    `stays`: what is created is not dropped again: logs may not show it, and nobody could tell what its rows were.
    `keeps_keys`: what is created again has the key that it had. `skewed`: some timestamps are of the past or the
    future; no table is created again then, for timestamps alone may tell which table a row is of.
    """

    seed: int
    base: int = BASE_US
    tables: dict[str, ModelTable] = field(default_factory=lambda: {each.name: each for each in (WIDE, FLAT, COUNTED)})
    missed: set[str] = field(default_factory=set)
    stays: bool = False
    keeps_keys: bool = False
    skewed: bool = False
    _uncaptured: set[str] = field(default_factory=set)
    _created: set[str] = field(default_factory=set)
    _fields: tuple[str, ...] = FIELDS

    def creations(self) -> list[Change]:
        pair = create_type(KEYSPACE, "pair", self._types(), BASE_US - 1)
        return [Change(pair), *(Change(create_table(log_table(each), BASE_US)) for each in self.tables.values())]

    def keep_up(self, now_us: int) -> None:
        """What is written from now on has timestamps of now; equal ones come again and again."""
        self.base = max(self.base, now_us // EQUAL_US * EQUAL_US)

    def write(self, number: int, now: int) -> Change:
        """A statement, or a batch of some. `now`: seconds, from which TTLs count."""
        random = Random(f"{self.seed} write {number}")
        written: list[Written] = []
        while not written:
            names = random.sample(sorted(self.tables), random.choice((1, 1, 1, 1, 2)))
            # A counter has mutations of its own, and so has what is not captured.
            alone = [name for name in names if self.tables[name].counts or name in self._uncaptured]
            tables = [self.tables[name] for name in alone[:1] or names]
            written = [(table, made) for table in tables if (made := self._updates(random, table, now))]
        captured = written[0][0].name not in self._uncaptured
        encoded = (mutation_of(list(updates), table, now, cdc=captured) for table, updates in written)
        return Change(tuple(each for mutation in encoded for each in mutation), tuple(written), captured=captured)

    def odd(self, number: int, now: int, table: ModelTable) -> Change:
        """A statement on a table that no definition names."""
        random, updates = Random(f"{self.seed} odd {number}"), tuple[ModelUpdate, ...]()
        while not updates:
            updates = self._updates(random, table, now)
        return Change(mutation_of(list(updates), table, now), ((table, updates),), aside=True)

    def pin(self, number: int, now: int) -> Change:
        """A row that is captured."""
        table = next(table for name, table in self.tables.items() if name not in self._uncaptured)
        random, updates = Random(f"{self.seed} pin {number}"), tuple[ModelUpdate, ...]()
        while not updates:
            updates = self._updates(random, table, now)
        return Change(mutation_of(list(updates), table, now), ((table, updates),))

    def _updates(self, random: Random, table: ModelTable, now: int) -> tuple[ModelUpdate, ...]:
        chosen = random.sample(PARTITIONS, random.choice((1, 1, 2)))
        made = [
            (k, update_of(some_parts(random, table, skewed=self.skewed), table, self.base, now)) for k in sorted(chosen)
        ]
        return tuple((k, update) for k, update in made if update)

    def alter(self, number: int) -> list[Change]:
        """A change of the schema. What is written from then on is newer."""
        random = Random(f"{self.seed} alter {number}")
        at = self.base + STEP_US
        self.base += 2 * STEP_US
        table = self.tables[random.choice(sorted(self.tables))]
        kinds = ["capture"] if table.counts else ["column"] * 4 + ["new column", "capture"]
        kinds += ["rename"] if any(name in RENAMED for name, _ in table.clustering) else []
        kinds += ["type"] if self._fields == FIELDS and not table.counts else []
        kinds += [] if self.skewed or (self.stays and table.name in self._created) else ["create again"]
        match random.choice(kinds):
            case "column":
                return [self._column(random, table, at)]
            case "new column":
                return [self._new_column(random, table, at)]
            case "capture":
                return [self._capture(table, at)]
            case "rename":
                return [self._rename(random, table, at)]
            case "type":
                return [self._new_field(at)]
            case _:
                return self._create_again(random, table, at)

    def _column(self, random: Random, table: ModelTable, at: int) -> Change:
        """One is dropped, or one that was comes again."""
        column = random.choice([each for each in table.columns if not each.static])
        if column.name in table.dropped:
            made = self._altered(table.again(column.name))
            return Change(add_column(self._logged(made), log_column(column), at), altered=(made,))
        # USING TIMESTAMP: values that are newer come back with the column.
        until = at if random.random() < 0.7 else at - random.choice((10, 100, 1000)) * STEP_US
        until -= until % STEP_US
        made = self._altered(table.without(column.name, until))
        return Change(drop_column(self._logged(made), log_column(column), at, until), altered=(made,))

    def _new_column(self, random: Random, table: ModelTable, at: int) -> Change:
        column = ModelColumn(f"n{len(table.columns)}", random.choice(("int", "text", "set<int>")))
        made = self._altered(replace(table, columns=(*table.columns, column)))
        return Change(add_column(self._logged(made), log_column(column), at), altered=(made,))

    def _rename(self, random: Random, table: ModelTable, at: int) -> Change:
        """A clustering column gets another name."""
        place = random.choice([place for place, (name, _) in enumerate(table.clustering) if name in RENAMED])
        name, desc = table.clustering[place]
        names = (*table.clustering[:place], (RENAMED[name], desc), *table.clustering[place + 1 :])
        made = self._altered(replace(table, clustering=names))
        old, new = (Column(each, "clustering", "int", place, desc) for each in (name, RENAMED[name]))
        return Change(rename_column(self._logged(made), old, new, at), altered=(made,))

    def _new_field(self, at: int) -> Change:
        """ALTER TYPE ADD. All tables that have columns of the type are altered with it."""
        self._fields = (*FIELDS, "r")
        altered = tuple(self._altered(self._with_fields(table)) for table in self.tables.values() if _has_pair(table))
        return Change(create_type(KEYSPACE, "pair", self._types(), at), altered=altered)

    def _types(self) -> dict[str, str]:
        return {name: "text" if name == FIELDS[1] else "int" for name in self._fields}

    def _with_fields(self, table: ModelTable) -> ModelTable:
        """The table with all fields that type `pair` has now."""
        return replace(table, columns=tuple(replace(each, fields=self._fields) for each in table.columns))

    def _capture(self, table: ModelTable, at: int) -> Change:
        """From now on the table's changes are captured no more, or again. One table always is."""
        if table.name in self._uncaptured or len(self._uncaptured) + 1 == len(self.tables):
            self._uncaptured.discard(table.name)
        else:
            self._uncaptured.add(table.name)
            self.missed.add(table.id)
        return Change(alter_table(self._logged(table), at), captures=True)

    def _create_again(self, random: Random, table: ModelTable, at: int) -> list[Change]:
        """DROP TABLE and CREATE TABLE, with the same id, or another one and maybe another key and other columns."""
        dropped = Change(drop_table(self._logged(table), at), begins=table.name)
        made = next(each for each in (WIDE, FLAT, COUNTED) if _key(each) == _key(table))
        if random.random() < 0.4:
            made = replace(made, name=table.name, id=table.id)
        else:
            shape = made if self.keeps_keys else random.choice((made, WIDE, FLAT, COUNTED))
            made = replace(shape, name=table.name, id=str(UUID(int=random.getrandbits(128), version=1)))
        made = self._with_fields(made)
        self.tables[table.name] = made
        self._created.add(table.name)
        self._uncaptured.discard(table.name)
        return [dropped, Change(create_table(log_table(made), at + 2))]

    def truncation(self, number: int) -> Callable[[int, int], Change]:
        """What a node logs when it has thrown away what it had of a table, up to a position (format page 9)."""
        table = self.tables[Random(f"{self.seed} truncate {number}").choice(sorted(self.tables))]
        at, captured = self.base, table.name not in self._uncaptured

        def made(segment: int, offset: int) -> Change:
            value = struct.pack(">qiq", segment, offset, at // 1000)
            cells = Complex((Cell(value, at, path=UUID(table.id).bytes),))
            mutation = (Update(_LOCAL, b"local", (Row((), Liveness(at), None, (("truncated_at", cells),)),)),)
            return Change(mutation, begins=table.name, captured=captured, truncates=(table, offset, at))

        return made

    def _logged(self, table: ModelTable) -> Table:
        return log_table(table, cdc=table.name not in self._uncaptured)

    def _altered(self, table: ModelTable) -> ModelTable:
        self.tables[table.name] = table
        return table

    def selected(self, held: Sequence[Held], now: int) -> dict[str, dict[int, Rows]]:
        """What SELECT at ALL shows of each table, by its id, of what each node has."""
        return {
            table.id: {k: rows for k, each in merged(held, name).items() if (rows := each.select(table, now))}
            for name, table in self.tables.items()
        }


def _has_pair(table: ModelTable) -> bool:
    return any(column.type == "pair" for column in table.columns)


def _key(table: ModelTable) -> tuple[object, ...]:
    """What tells the shapes of tables apart."""
    return len(table.clustering), table.counts


class Held:
    """What a node has of each table, by the changes in its log. `taken`: so many of them."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[int, Partition]] = {}
        self.taken = 0

    def take(self, changes: Iterable[Change]) -> None:
        """The next ones."""
        for change in changes:
            self.taken += 1
            if change.begins is not None:
                self.tables[change.begins] = {}
            for table, updates in change.written:
                mine = self.tables.setdefault(table.name, {})
                for k, update in updates:
                    mine[k] = mine.get(k, Partition()).merged(update)


def merged(held: Sequence[Held], table: str) -> dict[int, Partition]:
    """What nodes together have of a table, by its name."""
    found: dict[int, Partition] = {}
    for each in held:
        for k, partition in each.tables.get(table, {}).items():
            found[k] = found.get(k, Partition()).merged(partition)
    return found
