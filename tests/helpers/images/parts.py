"""Updates made of statements, as a client's batch puts them into one mutation; and statements at random."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.helpers.images.partitions import Partition, Range
from tests.helpers.images.rows import Cell, Row, Shard
from tests.helpers.images.tables import FIELDS, STATIC, Key, ModelColumn, ModelTable, list_id

TTLS = (10, 20)
TIMES = 6
"""Timestamps are few, so that they clash."""


@dataclass(frozen=True)
class Set:
    """INSERT or UPDATE of one row. `ts`: microseconds behind the history's base; `values`: see `_cells`."""

    key: Key
    values: dict[str, Any]
    ts: int = 0
    insert: bool = False
    ttl: int | None = None


@dataclass(frozen=True)
class Delete:
    """DELETE of a row (a key), a range, or (None) the partition."""

    what: Key | Range | None
    ts: int = 0


@dataclass(frozen=True)
class Add:
    """A counter's shard with its new total."""

    key: Key
    column: str
    shard: int
    clock: int
    total: int
    ts: int = 0


Part = Set | Delete | Add


def update_of(parts: Sequence[Part], table: ModelTable, base: int, now: int) -> Partition:
    """One update of a partition. `base` is where timestamps begin, `now` (seconds) where TTLs do.

    Of a counter there is one cell, with one timestamp: what is added to it first counts.
    """
    made = Partition()
    added: set[tuple[Key, str]] = set()
    for part in parts:
        if isinstance(part, Add):
            if (part.key, part.column) in added:
                continue
            added.add((part.key, part.column))
        made = made.merged(_update(part, table, base + part.ts, now))
    return made


def _update(part: Part, table: ModelTable, ts: int, now: int) -> Partition:
    if isinstance(part, Add):
        shard = f"00000000-0000-0000-0000-{part.shard:012d}"
        held = {(part.column, shard): frozenset({Shard(ts, part.clock, part.total)})}
        return Partition(rows={part.key: Row(shards=held)})
    if isinstance(part, Delete):
        if part.what is None:
            return Partition(deleted=ts)
        if isinstance(part.what, Range):
            return Partition(ranges={part.what: ts})
        return Partition(rows={part.what: Row(deleted=ts)})
    life = (part.ttl, now + part.ttl) if part.ttl else (None, None)
    row = Row(Cell(ts, None, False, *life) if part.insert else None)
    for name, value in part.values.items():
        if name not in table.dropped:
            row = row.merged(_cells(table.column(name), value, ts, life))
    return Partition(rows={part.key: row} if row else {})


def _cells(column: ModelColumn, value: Any, ts: int, life: tuple[int | None, int | None]) -> Row:
    """`value`: of a simple column itself, None to delete it; of a complex one None to delete it, or whether it is
    assigned and its elements by path, None for one that is removed.
    """
    if not column.complex:
        dead = value is None
        return Row(cells={(column.name, ""): Cell(ts, None, True) if dead else Cell(ts, value, False, *life)})
    if value is None:
        return Row(gone={column.name: ts})
    assigned, elements = value
    cells = {}
    for path, element in elements.items():
        dead = element is None
        held = None if column.type == "set<int>" else element
        cells[column.name, path] = Cell(ts, None, True) if dead else Cell(ts, held, False, *life)
    return Row(gone={column.name: ts - 1} if assigned else {}, cells=cells)


# --- at random ---


def keys_of(table: ModelTable) -> list[tuple[int, ...]]:
    return list(itertools.product((1, 2), repeat=len(table.clustering)))


@st.composite
def parts(draw: st.DrawFn, table: ModelTable) -> Part:
    """Any statement on the table."""
    ts = draw(st.integers(0, TIMES - 1))
    keys = st.sampled_from(keys_of(table))
    kind = draw(st.sampled_from(["set"] * 6 + ["row", "row", "range", "partition"]))
    if kind == "range" and table.clustering:
        return Delete(draw(ranges(table)), ts)
    if kind == "partition":
        return Delete(None, ts)
    if kind == "row":
        return Delete(draw(keys), ts)
    if table.counts:
        return draw(_counted(table))
    static = any(column.static for column in table.columns) and draw(st.integers(0, 4)) == 0
    key: Key = STATIC if static else draw(keys)
    insert = not static and draw(st.booleans())
    names = [column.name for column in table.columns if column.static == static]
    chosen = draw(st.lists(st.sampled_from(names), min_size=0 if insert else 1, max_size=2, unique=True))
    values = {name: draw(_value(table.column(name))) for name in chosen}
    return Set(key, values, ts, insert, draw(st.sampled_from([None, None, None, *TTLS])))


@st.composite
def ranges(draw: st.DrawFn, table: ModelTable) -> Range:
    """Of one x or several, with open sides and prefixes; never an empty one."""
    whole, below = draw(st.sampled_from([(1, 1), (1, 2), (2, 2)]))
    if len(table.clustering) == 2 and draw(st.booleans()):
        y = draw(st.integers(1, 2))
        open_side = draw(st.booleans())
        # y is ordered DESC: the start has the larger value.
        return Range((whole, y), draw(st.booleans()) or not open_side, (whole,) if open_side else (whole, y), True)
    start = draw(st.sampled_from([(), (whole,)]))
    end = draw(st.sampled_from([(), (below,)]))
    if start == end:
        return Range(start, True, end, True)
    return Range(start, not start or draw(st.booleans()), end, not end or start != () or draw(st.booleans()))


@st.composite
def _counted(draw: st.DrawFn, table: ModelTable) -> Add:
    """A total belongs to its clock, and mostly a timestamp to both."""
    clock = draw(st.integers(1, 4))
    shard = draw(st.integers(1, 2))
    key = draw(st.sampled_from([(1,), (2,)]))
    column = draw(st.sampled_from([column.name for column in table.columns]))
    ts = clock if draw(st.booleans()) else draw(st.integers(0, TIMES - 1))
    return Add(key, column, shard, clock, clock * 3 - shard, ts)


def _value(column: ModelColumn) -> st.SearchStrategy[Any]:
    if column.type == "int":
        return st.sampled_from([None, -1, 1, 2])
    if column.type == "text":
        return st.sampled_from([None, "", "a", "b"])
    ints = st.sampled_from([None, 1, 2])
    paths = ["1", "2"]
    if column.type == "list<int>":
        paths = [list_id(1), list_id(2)]
    each = dict.fromkeys(paths, ints)
    if column.type == "pair":
        each = {FIELDS[0]: ints, FIELDS[1]: st.sampled_from([None, "a"])}
    elements = st.fixed_dictionaries({}, optional=each)
    put = elements.map(lambda held: (False, held or {next(iter(each)): None}))
    assigned = elements.map(lambda held: (True, {path: value for path, value in held.items() if value is not None}))
    return st.one_of(put, put, assigned, st.none())
