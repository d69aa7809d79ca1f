"""The facts of the state: what a change said, without who logged it and where; beside each, the marks of who did.

Facts that are equal are one, whichever replicas logged it, and however often.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tailer.images.marks import Marks
from tailer.rebuild import facts as logged
from tailer.rebuild.counters import shard_order
from tailer.rebuild.facts import Kind
from tailer.rebuild.table import Plan

NO_TIME: Final = -(2**63)
"""The `write_ts` of what is known without a time: that a column is null whose tombstone was forgotten."""

TOMBSTONES: Final = frozenset(
    map(int, (Kind.CELL_GONE, Kind.COLUMN_GONE, Kind.ROW_GONE, Kind.RANGE_GONE, Kind.PARTITION_GONE))
)

# Numbers, not members: these are asked of every fact.
_LIVE, _CELL, _CELL_GONE, _SHARD, _RANGE_GONE = map(
    int, (Kind.LIVE, Kind.CELL, Kind.CELL_GONE, Kind.SHARD, Kind.RANGE_GONE)
)
_CELLS: Final = (_CELL, _CELL_GONE)

_GUESS: Final = -1
"""The rank of a guess, at one time below those of `rebuild.facts.strength`."""


class Fact(NamedTuple):
    """`path`, `value`: as of the facts that are rebuilt from, of which `kind` is a `Kind` as a number."""

    kind: int
    column: str
    path: bytes
    value: bytes
    write_ts: int
    ttl: int | None = None
    expires_at: int | None = None

    @classmethod
    def of(cls, fact: logged.Fact) -> Fact:
        """What the fact of a change row says."""
        stamp = fact.stamp
        return cls(int(fact.kind), fact.column, fact.path, fact.value, stamp.write_ts, stamp.ttl, stamp.expires_at)

    def dead(self, at: int) -> bool:
        """Whether it is a tombstone, or has expired at second `at`."""
        return self.kind in TOMBSTONES or (self.expires_at is not None and self.expires_at <= at)


class Copies(NamedTuple):
    """`marks`: who vouches for a fact; `arrival`: the second it was first merged."""

    marks: Marks
    arrival: int


Facts = dict[Fact, Copies]
"""The facts of one row, or of a partition as a whole."""


def about(fact: Fact, plan: Plan) -> tuple[Any, ...]:
    """What a fact is about: of those that share it one alone counts."""
    kind, column, path, value, *_ = fact
    if kind in _CELLS:
        if column in plan.elements:
            return _CELL, column, plan.elements[column](path)
        return (kind if column in plan.counters else _CELL), column
    if kind == _RANGE_GONE:
        return kind, path, value
    return kind, column, path


def strength(fact: Fact) -> tuple[Any, ...]:
    """Of two facts about one thing the one of more strength counts. A marker that is a guess (it has a value) does not
    where one of that time is known."""
    kind, _, path, value, write_ts, ttl, expires_at = fact
    if kind == _SHARD:
        return (*shard_order(value), write_ts)
    rank = logged.strength(kind == _CELL_GONE, write_ts, ttl, expires_at, value, path)
    return (write_ts, _GUESS, *rank) if kind == _LIVE and value else rank


def in_fixed_order(fact: Fact) -> tuple[Any, ...]:
    """An order of all facts, for states that are the same byte by byte."""
    kind, column, path, value, write_ts, ttl, expires_at = fact
    return kind, column, path, write_ts, -1 if ttl is None else ttl, -1 if expires_at is None else expires_at, value
