"""The state of a partition: of all facts those that can still matter. Joining states is merging their facts.

A fact is left out when another one of the same log, logged at the same place or later, outweighs or covers it. That
place is why a TRUNCATE, which voids what one log had before a position whatever its timestamp, stays exact whenever it
comes: whatever voids the stronger fact voids the weaker one, too. Between logs (replicas) nothing is left out here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tailer.rebuild.changes import OWN
from tailer.rebuild.counters import shard_rank
from tailer.rebuild.facts import Fact, Kind, Place, fixed_order, rank
from tailer.rebuild.table import Plan

Rows = dict[bytes, list[Fact]]
"""A partition: facts by row key."""

Truncations = Mapping[str, Place]
"""By node, the place before which everything of the table is void."""

_OF_ROW: Final = frozenset({Kind.COLUMN_GONE, Kind.ROW_GONE, Kind.PARTITION_GONE})
"""The deletions that cover facts beside them. A range lies beside the static row, which is in none."""

_ABOUT: Final = {Kind.CELL_GONE: Kind.CELL}
"""A tombstone is about what its cell is about; of counters it stands by itself."""


def join(partition: Mapping[bytes, Iterable[Fact]], plan: Plan, truncations: Truncations) -> Rows:
    """The facts that can still matter; rows without any are left out.

    Any order of facts, repeated or not, joined in one go or in several, gives the same.
    """
    rows = {key: unvoided(facts, truncations) for key, facts in partition.items()}
    own = _reduced(rows.get(OWN, ()), (), plan)
    partition_gone = [fact for fact in own if fact.kind == Kind.PARTITION_GONE]
    keys = sorted(key for key in rows if key != OWN)
    covers = covering(keys, own)
    joined = {OWN: own} if own else {}
    for key in keys:
        facts = _reduced(rows[key], [*partition_gone, *covers.get(key, ())], plan)
        if facts:
            joined[key] = facts
    return joined


def unvoided(facts: Iterable[Fact], truncations: Truncations) -> list[Fact]:
    """The facts that no TRUNCATE voids, each once."""
    once = dict.fromkeys(facts)
    if not truncations:
        return list(once)
    return [fact for fact in once if fact.stamp.place >= truncations.get(fact.stamp.node, (0, 0))]


def covering(keys: Sequence[bytes], own: Iterable[Fact]) -> dict[bytes, list[Fact]]:
    """By row key, the range deletions that it lies in. `keys` are sorted."""
    covers: dict[bytes, list[Fact]] = {}
    for fact in own:
        if fact.kind == Kind.RANGE_GONE:
            for key in keys[bisect_left(keys, fact.path) : bisect_left(keys, fact.value)]:
                covers.setdefault(key, []).append(fact)
    return covers


def _reduced(facts: Iterable[Fact], above: Sequence[Fact], plan: Plan) -> list[Fact]:
    """The facts of one row that nothing outweighs and no deletion, here or `above` the row, covers. In fixed order."""
    groups: dict[tuple[Any, ...], list[Fact]] = {}
    for fact in facts:
        groups.setdefault(_about(fact, plan), []).append(fact)
    kept = [fact for group in groups.values() for fact in (group if len(group) == 1 else _maximal(group))]
    deletions = [*above, *(fact for fact in kept if fact.kind in _OF_ROW)]
    if deletions:
        kept = [fact for fact in kept if not any(_covers(deletion, fact) for deletion in deletions)]
    return sorted(kept, key=fixed_order)


def _about(fact: Fact, plan: Plan) -> tuple[Any, ...]:
    """What a fact is about: facts that share it outweigh each other."""
    kind, stamp, column, path, value = fact
    if kind == Kind.RANGE_GONE:
        return stamp.node, kind, path, value
    if kind in (Kind.CELL, Kind.CELL_GONE):
        known = plan.columns.get(column)
        if known is not None and known.type.complex:
            path = known.path_key(path)
        kind = _ABOUT.get(kind, kind)
    return stamp.node, kind, column, path


def _maximal(group: list[Fact]) -> list[Fact]:
    """Those that no other one beats in everything: rank, place, and for a counter's shard timestamp too."""
    measured = sorted(((_measures(fact), fact) for fact in group), key=_by_measures, reverse=True)
    kept: list[tuple[tuple[Any, ...], Fact]] = []
    for mine, fact in measured:
        if not any(all(map(_not_less, theirs, mine)) for theirs, _ in kept):
            kept.append((mine, fact))
    return [fact for _, fact in kept]


def _by_measures(measured: tuple[tuple[Any, ...], Fact]) -> tuple[Any, ...]:
    measures, fact = measured
    return measures, fixed_order(fact)


def _not_less(theirs: Any, mine: Any) -> bool:
    return bool(theirs >= mine)


def _measures(fact: Fact) -> tuple[Any, ...]:
    if fact.kind == Kind.SHARD:
        return shard_rank(fact), fact.stamp.write_ts, fact.stamp.place
    return rank(fact), fact.stamp.place


def _covers(deletion: Fact, fact: Fact) -> bool:
    """Whether a deletion makes a fact of its scope pointless, now and after any TRUNCATE."""
    mine, theirs = deletion.stamp, fact.stamp
    if mine.node != theirs.node or mine.write_ts < theirs.write_ts or mine.place < theirs.place:
        return False
    if deletion.kind == Kind.COLUMN_GONE:
        return fact.kind in (Kind.CELL, Kind.CELL_GONE) and fact.column == deletion.column
    if deletion.kind == Kind.ROW_GONE or deletion.kind == Kind.RANGE_GONE:
        return fact.kind < deletion.kind
    return fact.kind != Kind.PARTITION_GONE
