"""Statements on a table at random, from `random.Random`: of every kind that a merge tells apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final

from tests.helpers.images.partitions import Range
from tests.helpers.images.parts import TIMES, TTLS, Add, Delete, Part, Set, keys_of
from tests.helpers.images.tables import FIELDS, STATIC, Key, ModelColumn, ModelTable, list_id

PARTITIONS: Final = (1, 2)


SKEWS: Final = (-20_000_000, 10_000_000, 30_000_000)
"""By so many microseconds a client's timestamps are wrong."""


def some_parts(random: Random, table: ModelTable, *, skewed: bool = False) -> list[Part]:
    """What a batch does to one partition. Who deletes a range does nothing else: the order in which a log has both is
    no part of the model. `skewed`: some timestamps are of the past or the future."""
    made = [_part(random, table) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    if skewed and not table.counts:
        made = [replace(part, ts=part.ts + random.choice(SKEWS)) if random.random() < 0.1 else part for part in made]
    ranges = [part for part in made if isinstance(part, Delete) and isinstance(part.what, Range)]
    return list(ranges[:1]) or made


def _part(random: Random, table: ModelTable) -> Part:
    ts = random.randrange(TIMES)
    kind = random.choice(("set",) * 7 + ("row", "range", "partition"))
    if kind == "partition":
        return Delete(None, ts)
    if kind == "row":
        return Delete(random.choice(keys_of(table)), ts)
    if kind == "range" and table.clustering:
        return Delete(_range(random, table), ts)
    return _counted(random, table) if table.counts else _set(random, table, ts)


def _set(random: Random, table: ModelTable, ts: int) -> Set:
    static = any(column.static for column in table.columns) and random.random() < 0.2
    key: Key = STATIC if static else random.choice(keys_of(table))
    insert = not static and random.random() < 0.5
    columns = [column for column in table.columns if column.static == static]
    chosen = random.sample(columns, random.randint(0 if insert else 1, min(2, len(columns))))
    ttl = random.choice((None, None, None, *TTLS))
    return Set(key, {column.name: _value(random, column) for column in chosen}, ts, insert, ttl)


def _range(random: Random, table: ModelTable) -> Range:
    """Of one x or several, with open sides and prefixes; never an empty one."""
    low, high = random.choice(((1, 1), (1, 2), (2, 2)))
    if len(table.clustering) == 2 and random.random() < 0.5:
        y, open_side = random.randint(1, 2), random.random() < 0.5
        # y is ordered DESC: the start has the larger value.
        return Range((low, y), random.random() < 0.5 or not open_side, (low,) if open_side else (low, y), True)
    start, end = random.choice(((), (low,))), random.choice(((), (high,)))
    if start == end:
        return Range(start, True, end, True)
    return Range(start, not start or random.random() < 0.5, end, not end or start != () or random.random() < 0.5)


def _counted(random: Random, table: ModelTable) -> Add:
    """A total belongs to its clock, and mostly a timestamp to both."""
    clock, shard = random.randint(1, 4), random.randint(1, 2)
    column = random.choice(table.columns).name
    ts = clock if random.random() < 0.5 else random.randrange(TIMES)
    return Add((random.randint(1, 2),), column, shard, clock, clock * 3 - shard, ts)


def _value(random: Random, column: ModelColumn) -> Any:
    if column.type == "int":
        return random.choice((None, -1, 1, 2))
    if column.type == "text":
        return random.choice((None, "", "a", "b"))
    choice = random.random()
    if choice < 0.2:
        return None
    elements = {path: random.choice(values) for path, values in _elements(column) if random.random() < 0.6}
    if choice < 0.4:
        return True, {path: value for path, value in elements.items() if value is not None}
    return False, elements or {next(iter(_elements(column)))[0]: None}


def _elements(column: ModelColumn) -> Sequence[tuple[str, Sequence[Any]]]:
    """The paths that a collection may have, with their values; None removes one."""
    if column.type == "pair":
        return tuple((name, (None, "a") if name == FIELDS[1] else (None, 1, 2)) for name in column.fields)
    if column.type == "list<int>":
        return tuple((list_id(number), (None, 1, 2)) for number in (1, 2))
    return tuple((path, (None, 1, 2)) for path in ("1", "2"))
