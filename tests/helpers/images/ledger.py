"""What a reader can know, from the order in which entries arrive: which facts it holds, from which nodes, and so which
rows must have an image of an entry, may have one, or must have none. It forgets nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.helpers.images.facts import Fact, Standing, facts_of, is_void
from tests.helpers.images.logged import Entry
from tests.helpers.images.tables import NEVER, Key, ModelTable, assembled


@dataclass(frozen=True)
class Shown:
    """One row as far as it is known. `there`: None where that is not known. `values`: of columns that facts tell of;
    of a complete row all.
    """

    there: bool | None
    values: Mapping[str, Any]
    complete: bool


@dataclass
class Expected:
    """Of one row: whether an image must come, or may; how it was and is; which `write_ts` are right."""

    must: bool
    may: bool
    before: Shown
    after: Shown
    stamps: frozenset[int] = frozenset()
    deletes: bool = False
    """A deletion of the row, or of several, is among what took effect."""
    deleted: bool = False
    """Such a deletion is known, of whatever time, or that something of it has expired."""


@dataclass
class Unit:
    """What an entry must and may give for one partition. `rowless`: deletions of several rows that must be told of by
    themselves; `rowless_may`: or may.
    """

    k: int
    expired: dict[Key, Expected]
    rows: dict[Key, Expected]
    rowless: list[Fact] = field(default_factory=list)
    rowless_may: list[Fact] = field(default_factory=list)


class Ledger:
    """`whole`: all history of the table was read; else what was written from `since` (µs) on."""

    def __init__(self, table: ModelTable, *, whole: bool, since: int) -> None:
        self.table = table
        self.whole = whole
        self.since = since
        self.facts: dict[int, dict[Fact, dict[str, int]]] = {}
        """By partition: each with the nodes that logged it, and at which offset they did last."""
        self.swept: dict[int, set[Fact]] = {}
        self._forgot = NEVER
        """The timestamp up to which deletions are forgotten."""
        self.flagged: set[tuple[int, Key]] = set()
        """Rows that are known whole by deletions that were forgotten."""
        self.vague: set[int] = set()
        """Partitions of which tombstones were forgotten while not all was known: whether rows are there may be, too."""
        self.told: dict[tuple[int, Key], set[str]] = {}
        """Columns of which anything was ever known: a reader may remember that they are null."""
        self.looked: dict[int, int] = {}

    # --- what is known ---

    def standing(self, k: int) -> Standing:
        return Standing(self.facts.get(k, ()), self.table)

    def complete(self, k: int, key: Key) -> bool:
        swept = any(self._sweeps(fact, key) for fact in self.swept.get(k, ()))
        return self.whole or swept or (k, key) in self.flagged

    def partition_complete(self, k: int) -> bool:
        return self.whole or any(fact.kind == "partition" for fact in self.swept.get(k, ()))

    def _makes_whole(self, fact: Fact) -> bool:
        """Whether nothing that was there before the reading began is behind it."""
        return fact.kind in ("row", "range", "partition") and fact.ts >= self.since

    def _sweeps(self, fact: Fact, key: Key) -> bool:
        if fact.kind == "range":
            return fact.key.covers(key, self.table)
        return fact.kind == "partition" or fact.key == key

    def shown(self, k: int, key: Key, now: int, standing: Standing | None = None) -> Shown:
        standing = standing or self.standing(k)
        facts = standing.rows.get(key, set())
        complete = self.complete(k, key)
        values: dict[str, Any] = {}
        for column in self.table.shown(key):
            own = [fact for fact in facts if fact.column == column.name]
            if own or complete:
                values[column.name] = _value(column, own, now)
        live = any(fact.kind == "marker" and fact.lives(now) for fact in facts)
        live = live or any(value is not None for value in values.values())
        return Shown(live or (False if complete else None), values, complete)

    def rows(self, k: int, now: int) -> dict[Key, Shown]:
        standing = self.standing(k)
        return {key: self.shown(k, key, now, standing) for key in standing.rows}

    # --- what comes ---

    def entry(self, entry: Entry, now: int) -> list[Unit]:
        if entry.truncates:
            return self._truncate(entry, now)
        return [self._merge(entry, k, facts_of((k, update), self.table), now) for k, update in entry.updates]

    def expire(self, now: int) -> list[Unit]:
        return [Unit(k, self._expire(k, now), {}) for k in sorted(self.facts)]

    def drop(self, table: ModelTable, now: int) -> list[Unit]:
        """The table as it is from now on: with a column fewer, or more."""
        before = {k: self.rows(k, now) for k in self.facts}
        self.table = table
        for k in self.facts:
            self.facts[k] = {fact: nodes for fact, nodes in self.facts[k].items() if not is_void(fact, table)}
        return [self._differing(k, rows, now) for k, rows in before.items()]

    def lost(self, since: int) -> None:
        self.whole, self.since = False, since
        self.swept.clear()
        self.flagged.clear()

    def forgot(self, kept: set[tuple[int, Key]], partitions: set[int]) -> None:
        """Deletions are forgotten, and that they made a row whole, or which nulls are known, is remembered of the
        rows that are kept alone."""
        self.vague |= set() if self.whole else set(self.facts)
        self._forgot = max((fact.ts for facts in self.facts.values() for fact in facts), default=NEVER)
        self.flagged = {row for row in kept if self.complete(*row)}
        for k, facts in self.facts.items():
            of_many = ("range", "partition")
            self.facts[k] = {f: nodes for f, nodes in facts.items() if f.kind in of_many or (k, f.key) in kept}
        for k, facts in self.swept.items():
            self.swept[k] = {fact for fact in facts if fact.kind == "partition" and k in partitions}

    def _truncate(self, entry: Entry, now: int) -> list[Unit]:
        expired = {k: self._expire(k, now) for k in self.facts}
        before = {k: self.rows(k, now) for k in self.facts}
        for k, facts in self.facts.items():
            left = {
                fact: {node: place for node, place in nodes.items() if node != entry.node or place >= entry.before}
                for fact, nodes in facts.items()
            }
            self.facts[k] = {fact: nodes for fact, nodes in left.items() if nodes}
            # What only that node had deleted may be there on another, unread; not what another one deleted before it.
            held = {fact for fact in self.facts[k] if self._makes_whole(fact) and fact.ts > self._forgot}
            self.swept[k] = held | (self.swept.get(k, set()) & self.facts[k].keys())
        units = [self._differing(k, rows, now) for k, rows in before.items()]
        return [Unit(unit.k, expired[unit.k], unit.rows) for unit in units]

    def _differing(self, k: int, before: Mapping[Key, Shown], now: int) -> Unit:
        made: dict[Key, Expected] = {}
        standing = self.standing(k)
        for key in {*before, *standing.rows}:
            was = before.get(key) or self.shown(k, key, now, Standing((), self.table))
            now_shown = self.shown(k, key, now, standing)
            # Of a row that may be there, a column is known to be null as before: that is all that is shown of it.
            same = now_shown.there is None and bool(now_shown.values) and was.values == now_shown.values
            made[key] = Expected(_differ(was, now_shown) and not same, True, was, now_shown)
        return Unit(k, {}, made)

    def _expire(self, k: int, now: int) -> dict[Key, Expected]:
        since, self.looked[k] = self.looked.get(k, 0), now
        standing = self.standing(k)
        made = {}
        for key, facts in standing.rows.items():
            if any(fact.expired(now) and not fact.expired(since) for fact in facts):
                before, after = self.shown(k, key, since, standing), self.shown(k, key, now, standing)
                made[key] = Expected(before != after, True, before, after)
        return made

    def _merge(self, entry: Entry, k: int, facts: Iterable[Fact], now: int) -> Unit:
        expired = self._expire(k, now)
        held = self.facts.setdefault(k, {})
        before, was_complete = self.standing(k), self.partition_complete(k)
        shown = {key: self.shown(k, key, now, before) for key in [*before.rows, *(_keys(facts))]}
        new = {fact for fact in facts if fact not in held}
        for fact in facts:
            held.setdefault(fact, {})[entry.node] = entry.offset
        after = self.standing(k)
        effective = new & after.facts
        for fact in effective:
            if self._makes_whole(fact):
                self.swept.setdefault(k, set()).add(fact)
            if fact.column:
                self.told.setdefault((k, fact.key), set()).add(fact.column)
        unit = Unit(k, expired, {})
        for key, was in shown.items():
            unit.rows[key] = self._expected(k, key, was, before, after, effective, now)
        several = [fact for fact in effective if fact.kind in ("range", "partition") and not was_complete]
        unit.rowless_may = several
        unit.rowless = [fact for fact in several if fact.kind == "partition" or self._news(fact, before, after)]
        return unit

    def _expected(
        self, k: int, key: Key, was: Shown, before: Standing, after: Standing, effective: set[Fact], now: int
    ) -> Expected:
        now_shown = self.shown(k, key, now, after)
        own = {fact for fact in effective if fact.key == key and fact.kind != "range"}
        # A tombstone in the place of what expired says nothing new: a repair makes one of the other.
        late = {(fact.about, fact.ts) for fact in before.rows.get(key, ()) if fact.expired(now)}
        fresh = {f for f in own if not f.expired(now) and not (f.kind == "dead" and (f.about, f.ts) in late)}
        fresh -= {fact for fact in own if _equalled(fact, before)}
        several = {f for f in effective if f.kind in ("range", "partition") and self._sweeps(f, key)}
        taken = {f for f in several if any(g.ts <= f.ts for g in before.rows.get(key, ()))}
        must = bool(fresh) or _differ(was, now_shown)
        some = (own | taken, own | several, fresh | taken, fresh | several, fresh)
        stamps = {max(fact.ts for fact in each) for each in some if each}
        deletes = any(fact.kind == "row" for fact in own) or bool(several)
        own_facts = [fact for fact in self.facts[k] if fact.key == key]
        deleted = (
            k in self.vague or after.above(key) != NEVER or any(f.kind == "row" or f.expired(now) for f in own_facts)
        )
        return Expected(must, must or bool(own or several), was, now_shown, frozenset(stamps), deletes, deleted)

    def _news(self, fact: Fact, before: Standing, after: Standing) -> bool:
        """Whether a range takes any row that could be, of those in the model's domain, that nothing else takes."""
        x = range(-1, 5)
        keys = [(a, b) for a in x for b in x] if len(self.table.clustering) == 2 else [(a,) for a in x]
        others = [other for other in after.ranges if other != fact and other.ts >= fact.ts]
        return any(
            fact.key.covers(key, self.table)
            and before.above(key) < fact.ts
            and not any(other.key.covers(key, self.table) for other in others)
            for key in keys
        )


def _keys(facts: Iterable[Fact]) -> list[Key]:
    return [fact.key for fact in facts if fact.kind not in ("range", "partition")]


def _differ(was: Shown, now: Shown) -> bool:
    """Whether a reader sees it: in a column that is known before and after, or whether the row is there."""
    both = was.values.keys() & now.values.keys()
    return bool(was.there) != bool(now.there) or (
        bool(now.there) and any(was.values[name] != now.values[name] for name in both)
    )


def _equalled(fact: Fact, before: Standing) -> bool:
    """Whether what stood before says the same of a shard."""
    return fact.kind == "shard" and any(
        other.about == fact.about and other.value == fact.value for other in before.facts
    )


def _value(column: Any, facts: Iterable[Fact], now: int) -> Any:
    if column.counter:
        totals = [fact.value[1] for fact in facts if fact.kind == "shard"]
        return sum(totals) if totals else None
    alive = {fact.path: fact.value for fact in facts if fact.kind == "cell" and fact.lives(now)}
    return assembled(column, alive) if column.complex else alive.get("")
