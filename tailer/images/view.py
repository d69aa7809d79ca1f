"""What a reader of the table sees of a row at a time, as far as it is known. Knows no store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tailer.images.facts import NO_TIME, Fact
from tailer.images.guesses import is_guess, is_unsure
from tailer.rebuild.counters import shard_order
from tailer.rebuild.facts import Kind
from tailer.rebuild.rows import Value
from tailer.rebuild.table import Plan
from tailer.types.counter import wrapped

_LIVE = int(Kind.LIVE)


class Seen(NamedTuple):
    """`values`: of the columns that are known, None for those known to be null. `ended`: its marker has expired.

    `guessed`: whether it lives, or ended, is a guess. `unsure`: columns of which a guess cannot tell any more what they
    have; they are not among the `values`.
    """

    lives: bool
    ended: bool
    values: Mapping[str, Value | None]
    guessed: bool = False
    unsure: tuple[str, ...] = ()


def seen(visible: Iterable[Fact], plan: Plan, at: int) -> Seen:
    """What is seen at second `at` of a row's facts that count."""
    lives = ended = guessed = False
    unsure: list[str] = []
    columns: dict[str, list[Fact]] = {}
    for fact in visible:
        if fact.kind == _LIVE:
            lives = not fact.dead(at)
            ended = not lives
            guessed = is_guess(fact)
        elif fact.column in columns:
            columns[fact.column].append(fact)
        elif fact.column:
            columns[fact.column] = [fact]
    values: dict[str, Value | None] = {}
    for name, facts in columns.items():
        column = plan.columns.get(name)
        if column is None or column.dropped:
            continue
        if len(facts) > 1 and name in plan.guessed and is_unsure(facts):
            unsure.append(name)
            lives = True
            continue
        values[name] = value = _value(name, facts, plan, at)
        if value is not None:
            lives, guessed = True, False
    return Seen(lives, ended, values, guessed, tuple(unsure))


def _value(name: str, facts: list[Fact], plan: Plan, at: int) -> Value | None:
    if name in plan.elements:
        order = plan.elements[name]
        living = [fact for fact in facts if not fact.dead(at)]
        living.sort(key=lambda fact: order(fact.path))
        return [(fact.path, fact.value) for fact in living] or None
    if name in plan.counters:
        if any(fact.kind == Kind.CELL_GONE and fact.write_ts > NO_TIME for fact in facts):
            return None
        totals = [shard_order(fact.value)[2] for fact in facts if fact.kind == Kind.SHARD]
        return wrapped(sum(totals)) if totals else None
    return None if facts[0].dead(at) else facts[0].value
