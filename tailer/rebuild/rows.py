"""From a partition's facts to the rows that are alive at a time. All logs count together here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tailer.rebuild.changes import OWN
from tailer.rebuild.counters import counted
from tailer.rebuild.facts import DELETIONS, Fact, Kind, rank
from tailer.rebuild.state import Truncations, covering, unvoided
from tailer.rebuild.table import DataColumn, Plan
from tailer.types import Shape

NEVER = -(2**63)

Value = bytes | int | list[tuple[bytes, bytes]]
"""A value's bytes; a counter's sum; path and value of each element of a non-frozen column, in order."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of the table. `clustering`: framed values, empty where there are none. `values`: of columns not null.

    `until`: the second at which something in it expires, None if nothing does.
    """

    key: bytes
    clustering: bytes
    values: Mapping[str, Value]
    until: int | None


@dataclass(frozen=True, slots=True)
class _Alive:
    """What is left of one row's facts. `row`: whether it exists."""

    row: bool
    values: dict[str, Value]
    expiries: list[int]


def rows_at(
    partition: Mapping[bytes, Sequence[Fact]], plan: Plan, truncations: Truncations, at: int
) -> Iterator[TableRow]:
    """The rows alive at second `at`, in clustering order. From a state or from all facts, it gives the same."""
    rows = {key: unvoided(facts, truncations) for key, facts in partition.items()}
    own = rows.pop(OWN, [])
    everywhere = max((f.stamp.write_ts for f in own if f.kind == Kind.PARTITION_GONE), default=NEVER)
    static = _alive(own, everywhere, plan, at)
    keys = sorted(rows)
    covers = covering(keys, own)
    found = False
    for key in keys:
        ranges = [fact.stamp.write_ts for fact in covers.get(key, ())]
        alive = _alive(rows[key], max([everywhere, *ranges]), plan, at)
        if alive.row:
            found = True
            until = min([*alive.expiries, *static.expiries], default=None)
            yield TableRow(key, _clustering(rows[key]), {**static.values, **alive.values}, until)
    if not found and static.row:
        yield TableRow(OWN, b"", static.values, min(static.expiries, default=None))


def _alive(facts: Iterable[Fact], deleted: int, plan: Plan, at: int) -> _Alive:
    """Of the facts of one row those that win and live; `deleted`: what was written until then is gone."""
    held = list(facts)
    deleted = max([deleted, *(f.stamp.write_ts for f in held if f.kind == Kind.ROW_GONE)])
    held = [fact for fact in held if fact.stamp.write_ts > deleted and fact.kind not in DELETIONS]
    made = _Alive(False, {}, [])
    marker = max((fact for fact in held if fact.kind == Kind.LIVE), key=rank, default=None)
    exists = marker is not None and _lives(marker, at, made.expiries)
    columns: dict[str, list[Fact]] = {}
    for fact in held:
        if fact.kind != Kind.LIVE:
            columns.setdefault(fact.column, []).append(fact)
    for name, cells in columns.items():
        column = plan.columns.get(name)
        if column is not None and not column.dropped:
            value = _value(column, cells, at, made.expiries)
            if value is not None:
                made.values[name] = value
    return _Alive(exists or bool(made.values), made.values, made.expiries)


def _value(column: DataColumn, facts: Iterable[Fact], at: int, expiries: list[int]) -> Value | None:
    void = NEVER if column.void is None else column.void
    cells = [fact for fact in facts if fact.stamp.write_ts > void]
    if column.type.shape is Shape.COUNTER:
        return None if any(fact.kind == Kind.CELL_GONE for fact in cells) else counted(cells)
    gone = max((fact.stamp.write_ts for fact in cells if fact.kind == Kind.COLUMN_GONE), default=NEVER)
    best: dict[bytes, Fact] = {}
    for fact in cells:
        if fact.kind != Kind.COLUMN_GONE and fact.stamp.write_ts > gone:
            path = column.path_key(fact.path) if column.type.complex else b""
            if path not in best or rank(fact) > rank(best[path]):
                best[path] = fact
    living = [best[path] for path in sorted(best) if _lives(best[path], at, expiries)]
    if column.type.complex:
        return [(fact.path, fact.value) for fact in living] or None
    return living[0].value if living else None


def _lives(fact: Fact, at: int, expiries: list[int]) -> bool:
    expires = fact.stamp.expires_at
    if fact.kind == Kind.CELL_GONE or (expires is not None and expires <= at):
        return False
    if expires is not None:
        expiries.append(expires)
    return True


def _clustering(facts: Iterable[Fact]) -> bytes:
    """The row's values as they were first spelled: `0` and `0.00` are one row."""
    return min((fact.stamp.place, fact.stamp.node, fact.stamp.clustering) for fact in facts)[2]
