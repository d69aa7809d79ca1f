"""What of the ids that were passed or cleaned may be forgotten, and what planners remember put together. Pure.

An id is forgotten when it is below the floor and old by its own time, which is milliseconds since the epoch: nothing is
expected to appear there any more. What appears all the same is told as a loss (`planning/plan.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from tailer.state.consumers import ConsumerFile, NodeState
from tailer.state.ids import Ids
from tailer.state.journal_records import AnyRecord, MemoryRecord
from tailer.state.remembered import Segments, late_of, told_by

FORGET_AFTER_SECONDS: Final = 30 * 86400.0

REMEMBERED_AT_LEAST: Final = 1000
"""The newest ranges of ids are remembered however old: a log that is hardly written keeps all of its past."""

FORGOTTEN_AT_LEAST: Final = 200
"""Ranges that must have become needless before any is forgotten: a run each minute rewrites nothing."""


def forgotten_below(held: Iterable[Ids], before: int, floor: int, now: float, after: float) -> int:
    """Below which id nothing needs to be remembered from now on; `before`: below which that was so already.

    `held`: the ids that were cleaned, and those passed of which nothing was there. `now`, `after`: seconds.
    """
    firsts = sorted(chain.from_iterable(ids.firsts for ids in held))
    if len(firsts) <= REMEMBERED_AT_LEAST:
        return before
    limit = min(floor, int((now - after) * 1000), firsts[-REMEMBERED_AT_LEAST])
    return max(limit, before) if bisect_left(firsts, limit) >= FORGOTTEN_AT_LEAST else before


def holes_of(consumers: Iterable[ConsumerFile]) -> list[Ids]:
    """The holes of every consumer, where it stands."""
    return [state.memory.holes for each in consumers for state in each.nodes.values()]


def put_together(
    records: Sequence[AnyRecord], consumers: Iterable[ConsumerFile], forgotten: int
) -> Sequence[AnyRecord]:
    """The records with one alone for what each consumer remembered up to its first mark; those of dropped ones go.

    It has the number of the last that it stands for. Ids below `forgotten` are left out.
    """
    states = {(each.name, node): state for each in consumers for node, state in each.nodes.items()}
    groups: dict[tuple[str, str], list[MemoryRecord]] = {}
    for record in records:
        if isinstance(record, MemoryRecord):
            groups.setdefault((record.consumer, record.node), []).append(record)
    left = {
        record.n: record
        for whose, group in groups.items()
        if whose in states
        for record in _together(group, states[whose], forgotten)
    }
    others = ((r, left.get(r.n)) if isinstance(r, MemoryRecord) else (r, r) for r in records)
    return [kept for _, kept in others if kept is not None]


def amount(records: Sequence[AnyRecord]) -> int:
    """How much there is to forget: records, and ranges of ids in them."""
    told = (record for record in records if isinstance(record, MemoryRecord))
    return len(records) + sum(Segments(r.seen, r.bare, r.holes, r.explained).size for r in told)


def _together(group: Sequence[MemoryRecord], state: NodeState, forgotten: int) -> list[MemoryRecord]:
    upto = min(mark.upto for mark in (state.memory, *(mark.memory for mark in state.ahead)))
    old = [record for record in group if record.n <= upto]
    if not old:
        return list(group)
    told = told_by(old, upto).behind(state.offset.s, late_of(state))
    told = told._replace(holes=told.holes.from_id(forgotten), explained=told.explained.from_id(forgotten))
    whole = told.record(old[0].consumer, old[0].node, old[-1].n)
    return [whole, *(record for record in group if record.n > upto)]
