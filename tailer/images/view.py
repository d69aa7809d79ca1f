"""What a reader of the table sees of a row at a time, as far as it is known. Knows no store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tailer.images.facts import NO_TIME, Fact
from tailer.rebuild.counters import shard_order, wrapped
from tailer.rebuild.facts import Kind
from tailer.rebuild.rows import Value
from tailer.rebuild.table import DataColumn, Plan


class Seen(NamedTuple):
    """`values`: of the columns that are known, None for those known to be null. `ended`: its marker has expired.

    `due`: the next second at which something in it expires.
    """

    lives: bool
    ended: bool
    values: Mapping[str, Value | None]
    due: int | None


def seen(visible: Iterable[Fact], plan: Plan, at: int) -> Seen:
    """What is seen at second `at` of a row's facts that count."""
    lives = ended = False
    due: int | None = None
    columns: dict[str, list[Fact]] = {}
    for fact in visible:
        expires = fact.expires_at
        if expires is not None and expires > at and (due is None or expires < due):
            due = expires
        if fact.kind == Kind.LIVE:
            lives = not fact.dead(at)
            ended = not lives
        elif fact.column:
            columns.setdefault(fact.column, []).append(fact)
    values: dict[str, Value | None] = {}
    for name, facts in columns.items():
        column = plan.columns.get(name)
        if column is not None and not column.dropped:
            values[name] = _value(column, facts, at)
    return Seen(lives or any(value is not None for value in values.values()), ended, values, due)


def _value(column: DataColumn, facts: list[Fact], at: int) -> Value | None:
    if column.counter:
        if any(fact.kind == Kind.CELL_GONE and fact.write_ts > NO_TIME for fact in facts):
            return None
        totals = [shard_order(fact.value)[2] for fact in facts if fact.kind == Kind.SHARD]
        return wrapped(sum(totals)) if totals else None
    living = [fact for fact in facts if not fact.dead(at)]
    if not column.type.complex:
        return living[0].value if living else None
    living.sort(key=lambda fact: column.path_key(fact.path))
    return [(fact.path, fact.value) for fact in living] or None
