"""An update taken apart into facts, and which of many facts stand.

A second telling of the rules, beside `rows`: that one merges versions as a replica does, this one looks at everything
that was ever said and picks what nothing outweighs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tests.helpers.images.logged import Update
from tests.helpers.images.partitions import Range
from tests.helpers.images.rows import Cell, Row
from tests.helpers.images.tables import NEVER, Key, ModelTable, raw


class Fact(NamedTuple):
    """`kind`: marker, cell, dead, shard, complex, row, range, partition. `value`: of a shard its clock and total."""

    kind: str
    ts: int
    key: Key | Range | None = None
    column: str = ""
    path: str = ""
    value: Any = None
    ttl: int | None = None
    expires: int | None = None

    def lives(self, now: int) -> bool:
        return self.kind in ("marker", "cell", "shard") and (self.expires is None or self.expires > now)

    def expired(self, now: int) -> bool:
        return self.expires is not None and self.expires <= now

    @property
    def about(self) -> tuple[Any, ...]:
        """Facts that share it outweigh each other; a counter's tombstone and each of its shards stand by themselves."""
        return "cell" if self.kind == "dead" else self.kind, self.key, self.column, self.path

    @property
    def weight(self) -> tuple[Any, ...]:
        if self.kind == "shard":
            return self.value
        dying = 2 if self.kind == "dead" else int(self.expires is not None)
        return self.ts, dying, self.expires or 0, -(self.ttl or 0), raw(self.value)


def facts_of(update: Update, table: ModelTable) -> list[Fact]:
    """What an update says; what it says of a column that was dropped since is nothing."""
    _, partition = update
    made = [Fact("partition", partition.deleted)] if partition.deleted != NEVER else []
    made += [Fact("range", ts, bounds) for bounds, ts in partition.ranges.items()]
    for key, row in partition.rows.items():
        made += _row(key, row)
    return [fact for fact in made if not is_void(fact, table)]


def is_void(fact: Fact, table: ModelTable) -> bool:
    return bool(fact.column) and (fact.column in table.dropped or fact.ts <= table.void(fact.column))


def _row(key: Key, row: Row) -> Iterator[Fact]:
    if row.deleted != NEVER:
        yield Fact("row", row.deleted, key)
    if row.marker:
        yield _timed("marker", key, "", "", row.marker)
    for column, ts in row.gone.items():
        yield Fact("complex", ts, key, column)
    for (column, path), cell in row.cells.items():
        yield _timed("dead" if cell.dead else "cell", key, column, path, cell)
    for (column, shard), held in row.shards.items():
        for each in held:
            yield Fact("shard", each.ts, key, column, shard, (each.clock, each.total))


def _timed(kind: str, key: Key, column: str, path: str, cell: Cell) -> Fact:
    return Fact(kind, cell.ts, key, column, path, cell.value, cell.ttl, cell.expires)


class Standing:
    """Of facts of one partition those that nothing outweighs, by row; deletions of several rows beside."""

    def __init__(self, facts: Iterable[Fact], table: ModelTable) -> None:
        self.table = table
        held = list(facts)
        self.partition = max((f.ts for f in held if f.kind == "partition"), default=NEVER)
        ranges = [f for f in held if f.kind == "range" and f.ts > self.partition]
        self.ranges = [f for f in ranges if not any(g.key == f.key and g.ts > f.ts for g in ranges)]
        self.facts: set[Fact] = {f for f in held if f.kind == "partition" and f.ts == self.partition}
        self.facts |= set(self.ranges)
        rows: dict[Key, list[Fact]] = {}
        for fact in held:
            if fact.kind not in ("partition", "range"):
                rows.setdefault(fact.key, []).append(fact)
        self.rows = {key: self._row(key, facts) for key, facts in rows.items()}
        self.facts |= {fact for facts in self.rows.values() for fact in facts}

    def above(self, key: Key) -> int:
        covers = [fact.ts for fact in self.ranges if fact.key.covers(key, self.table)]
        return max([self.partition, *covers])

    def _row(self, key: Key, facts: list[Fact]) -> set[Fact]:
        above = self.above(key)
        deleted = max([above, *(f.ts for f in facts if f.kind == "row")])
        gone: dict[str, int] = {}
        for fact in facts:
            if fact.kind == "complex":
                gone[fact.column] = max(fact.ts, gone.get(fact.column, NEVER))
        stand = {f for f in facts if f.kind == "row" and f.ts == deleted and f.ts > above}
        stand |= {f for f in facts if f.kind == "complex" and f.ts == gone[f.column] and f.ts > deleted}
        best: dict[Any, Fact] = {}
        for fact in facts:
            over = fact.kind in ("row", "complex") or fact.ts <= max(deleted, gone.get(fact.column, NEVER))
            if not over and (fact.about not in best or _greater(fact, best[fact.about])):
                best[fact.about] = fact
        dead = {f.column for f in best.values() if f.kind == "dead" and self.table.column(f.column).counter}
        return stand | {f for f in best.values() if f.kind != "shard" or f.column not in dead}


def _greater(fact: Fact, other: Fact) -> bool:
    """Of shards that say the same the later one stands: a deletion may take the earlier."""
    return (fact.weight, fact.ts) > (other.weight, other.ts)
