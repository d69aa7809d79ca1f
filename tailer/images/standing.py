"""Which facts of a row count, and which of the others must be kept for a TRUNCATE that is still to come.

A TRUNCATE takes one node's marks before a place off all facts at once. So a fact that is outweighed (beaten by one
about the same thing, or covered by a deletion) can matter again only for a node that vouches for nothing that outweighs
it, or did so before: those marks are kept, and a fact with none left is dropped. What is kept is the same in whatever
order facts came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tailer.images.facts import NO_TIME, Copies, Fact, Facts, about, strength
from tailer.images.marks import Marks, beyond
from tailer.rebuild.facts import Kind
from tailer.rebuild.table import Plan

_OF_ALL: Final = (int(Kind.ROW_GONE), int(Kind.PARTITION_GONE))
"""The deletions that cover all that stands beside them."""

_OF_CELLS: Final = (int(Kind.CELL), int(Kind.CELL_GONE))
_COLUMN_GONE: Final = int(Kind.COLUMN_GONE)


class Deletion(NamedTuple):
    """What was written until `write_ts` is gone, for those who vouch for it."""

    write_ts: int
    marks: Marks


class Standing(NamedTuple):
    """`visible`: the facts that count; `kept`: those and the ones that may count again."""

    visible: list[Fact]
    kept: Facts


def standing(facts: Facts, above: Sequence[Deletion], plan: Plan) -> Standing:
    """What stands of the facts of one row, or of a partition's own, under the deletions above it."""
    groups: dict[tuple[Any, ...], list[Fact]] = {}
    everything = list(above)
    by_column: dict[str, list[Deletion]] = {}
    for fact, copies in facts.items():
        if plan.voids and is_void(fact, plan):
            continue
        groups.setdefault(about(fact, plan), []).append(fact)
        if fact.kind in _OF_ALL:
            everything.append(Deletion(fact.write_ts, copies.marks))
        elif fact.kind == _COLUMN_GONE:
            by_column.setdefault(fact.column, []).append(Deletion(fact.write_ts, copies.marks))
    made = Standing([], {})
    for group in groups.values():
        deletions: Sequence[Deletion] = above if group[0].kind in _OF_ALL else everything
        if by_column and group[0].kind in _OF_CELLS and group[0].column in by_column:
            deletions = [*deletions, *by_column[group[0].column]]
        _stand(group, facts, deletions, made)
    if plan.counters and (counters_gone := {fact.column for fact in made.visible if is_counter_gone(fact, plan)}):
        made = Standing([f for f in made.visible if f.kind != Kind.SHARD or f.column not in counters_gone], made.kept)
    return made


def is_void(fact: Fact, plan: Plan) -> bool:
    """Whether it was written before its column was dropped."""
    return NO_TIME < fact.write_ts <= plan.voids.get(fact.column, NO_TIME)


def is_counter_gone(fact: Fact, plan: Plan) -> bool:
    """Whether it is the deletion of a counter, which no later shard undoes."""
    return fact.kind == Kind.CELL_GONE and fact.column in plan.counters and fact.write_ts > NO_TIME


def _stand(group: list[Fact], facts: Facts, deletions: Sequence[Deletion], made: Standing) -> None:
    """Of the facts about one thing the strongest that no deletion covers counts."""
    if len(group) > 1:
        group.sort(key=strength, reverse=True)
    chosen = False
    for at, fact in enumerate(group):
        over = [deletion.marks for deletion in deletions if deletion.write_ts >= fact.write_ts]
        copies = facts[fact]
        if not over and not chosen:
            chosen = True
            made.visible.append(fact)
            made.kept[fact] = copies
            continue
        # Of a counter's shards a stronger one may be older, and then be covered by what does not cover this one.
        over += [facts[other].marks for other in group[:at] if other.write_ts >= fact.write_ts]
        marks = beyond(copies.marks, over)
        if marks:
            made.kept[fact] = Copies(marks, copies.arrival)


def outweighed_by(gone: Facts, facts: Facts, plan: Plan) -> set[Fact]:
    """Which of `facts` do not count because of those of them in `gone`."""
    if not gone:
        return set()
    everything = max((f.write_ts for f in gone if f.kind in _OF_ALL), default=None)
    columns: dict[str, int] = {}
    best: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for fact in gone:
        if fact.kind == Kind.COLUMN_GONE:
            columns[fact.column] = max(fact.write_ts, columns.get(fact.column, fact.write_ts))
        thing = about(fact, plan)
        best[thing] = max(strength(fact), best.get(thing, strength(fact)))
    counters = {fact.column for fact in gone if is_counter_gone(fact, plan)}
    beneath = set()
    for fact in facts:
        thing = about(fact, plan)
        if (
            (everything is not None and fact.write_ts <= everything)
            or (fact.kind in _OF_CELLS and fact.write_ts <= columns.get(fact.column, NO_TIME - 1))
            or (thing in best and strength(fact) < best[thing])
            or (fact.kind == Kind.SHARD and fact.column in counters)
        ):
            beneath.add(fact)
    return beneath
