"""Whatever changes come, from whichever nodes, in whatever batches: the chain holds, and adds up to what is rebuilt."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.images import Image, Merger, Settings
from tailer.images.facts import NO_TIME
from tailer.images.memory import MemoryStore
from tailer.rebuild import Table
from tailer.schema.model import Column
from tests.helpers.imaged import Entry, Imaged, interleaved
from tests.helpers.rebuilt import rebuilt
from tests.unit.images.told import (
    START,
    definition,
    delete,
    delete_partition,
    delete_range,
    insert,
    truncate,
    update,
)  # fmt: skip

NODES = ("a", "b", "c")
TABLE = Table.of(
    definition(
        Column("s", "static", "int"),
        Column("z", "static", "set<int>"),
        Column("v", "regular", "int"),
        Column("m", "regular", "map<int, int>"),
    )
)
COUNTERS = Table.of(definition(Column("c", "regular", "counter"), counter=True))
SECOND = 1_000_000
BEGIN = START // SECOND

TTLS = st.one_of(st.just({}), st.sampled_from([(10, BEGIN + 3), (10, BEGIN + 6), (20, BEGIN + 6), (5, BEGIN - 5)]))
REGULAR: list[dict[str, Any]] = [
    {},
    {"v": 1},
    {"v": 2},
    {"v": None},
    {"m": None},
    {"m": {"replaced": True, "put": {"1": 1}}},
    {"m": {"replaced": False, "put": {"1": 2, "2": 2}}},
    {"v": 3, "m": {"replaced": False, "removed": ["1"]}},
]
STATIC: list[dict[str, Any]] = [{"s": 1}, {"s": None}, {"z": {"replaced": False, "put": [1, 2]}}, {"z": None}]


def shard(number: int, clock: int) -> dict[str, Any]:
    return {
        "shard": f"00000000-0000-0000-0000-00000000000{number}",
        "kind": "global",
        "clock": clock,
        "total": clock * 3,
    }


@st.composite
def writes(draw: st.DrawFn, *, counter: bool) -> dict[str, Any]:
    """One change, by nobody yet."""
    ts, x = START + draw(st.integers(-2, 4)), draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["row", "row", "row", "static", "delete", "range", "partition"]))
    if kind == "delete":
        return delete(ts, x)
    if kind == "range":
        return delete_range(ts, *draw(st.sampled_from([(1, 2), (2, 3), (None, 3), (2, None), (None, None)])))
    if kind == "partition":
        return delete_partition(ts)
    if counter:
        return update(ts, x, c=draw(st.sampled_from([None, [shard(1, 1)], [shard(1, 2)], [shard(2, 1), shard(1, 3)]])))
    times = draw(TTLS)
    more = {} if not times else {"ttl": times[0], "expires_at": times[1]}
    if kind == "static":
        return update(ts, None, **more, **draw(st.sampled_from(STATIC)))
    columns = draw(st.sampled_from(REGULAR))
    if draw(st.booleans()):
        return insert(ts, x, **more, **columns)
    return update(ts, x, **more, **columns)


@st.composite
def logs(draw: st.DrawFn, *, counter: bool = False, truncates: bool = True) -> dict[str, list[Entry]]:
    """What three nodes logged: entries of one or two changes, of which each has some, in an order of its own."""
    entries = draw(st.lists(st.lists(writes(counter=counter), min_size=1, max_size=2), min_size=1, max_size=7))
    made: dict[str, list[Entry]] = {}
    for node in NODES:
        mine = [[{**row, "node": node} for row in entry] for entry in entries if draw(st.integers(0, 2))]
        mine += [
            [{**row, "node": node} for row in entry] for entry in draw(st.lists(st.sampled_from(entries), max_size=1))
        ]
        if truncates and not draw(st.integers(0, 2)):
            at = draw(st.integers(0, len(mine)))
            # Its place is taken before it is logged: what comes in between stands.
            before = draw(st.integers(max(at - 2, 0), at)) + 1
            mine.insert(at, [truncate(START + 5, node, before=before)])
        made[node] = placed(mine)
    made["a"] = made["a"] or placed([[{**row, "node": "a"} for row in entry] for entry in entries])
    return made


def placed(entries: list[Entry]) -> list[Entry]:
    """Each entry of a log at a place of its own, behind those before."""
    return [
        [
            {**row, "offset": place, "row": number, "event_id": f"{row['node']}:1:{place}:{number}"}
            for number, row in enumerate(entry)
        ]
        for place, entry in enumerate(entries, 1)
    ]


def clock(entries: list[Entry]) -> list[int]:
    """A second later with each entry."""
    return [START + number * SECOND for number, _ in enumerate(entries)]


def told(table: Table, entries: list[Entry], nows: list[int], *, created: bool) -> Imaged:
    made = Imaged([table], nodes=NODES, created=created, started_us=START)
    for entry, now in zip(entries, nows, strict=True):
        made.tell(entry, now)
    return made


@pytest.mark.parametrize("counter", [False, True])
@given(data=st.data(), order=st.integers(0, 2**32))
def test_images_of_a_whole_table_add_up_to_the_rebuilt_rows(counter: bool, data: st.DataObject, order: int) -> None:
    table = COUNTERS if counter else TABLE
    entries = interleaved(data.draw(logs(counter=counter)), random.Random(order))
    nows = clock(entries)
    made = told(table, entries, nows, created=True)
    made.expire(nows[-1] // SECOND)
    assert made.rows(table) == rebuilt([row for entry in entries for row in entry], table, nows[-1] // SECOND)
    assert all(image.complete for image in made.images)
    assert {image.op for image in made.images} <= {"insert", "update", "delete", "expire", "truncate"}


@pytest.mark.parametrize("counter", [False, True])
@given(data=st.data(), created=st.booleans(), orders=st.tuples(st.integers(0, 2**32), st.integers(0, 2**32)))
def test_the_state_is_the_same_in_whatever_order_nodes_are_read(
    counter: bool, data: st.DataObject, created: bool, orders: tuple[int, int]
) -> None:
    table = COUNTERS if counter else TABLE
    held = data.draw(logs(counter=counter))
    one, other = (interleaved(held, random.Random(order)) for order in orders)
    first, second = (told(table, entries, [START + 4 * SECOND] * len(one), created=created) for entries in (one, other))
    assert first.state() == second.state()
    assert first.there() == second.there()


@given(held=logs(truncates=False), created=st.booleans(), order=st.integers(0, 2**32))
def test_each_fact_takes_effect_once_at_most(held: dict[str, list[Entry]], created: bool, order: int) -> None:
    entries = interleaved(held, random.Random(order))
    made = told(TABLE, entries, clock(entries), created=created)
    assert all(times == 1 for times in made.merger.effects.values())


@given(held=logs(), created=st.booleans(), order=st.integers(0, 2**32), cuts=st.sets(st.integers(1, 12)))
def test_batches_make_no_difference(held: dict[str, list[Entry]], created: bool, order: int, cuts: set[int]) -> None:
    """Nor whether the state was left and opened again between them."""
    entries = interleaved(held, random.Random(order))
    nows = clock(entries)
    store, images = MemoryStore(), list[Image]()
    merger = Merger(store, NODES, Settings(START))
    images += merger.define(TABLE, created=created, cdc=True, now_us=0)
    for number, (entry, now) in enumerate(zip(entries, nows, strict=True)):
        if number in cuts:
            merger = Merger(store, NODES, Settings(START))
        images += merger.entry(entry, now)
    assert images == told(TABLE, entries, nows, created=created).images


@given(
    entries=st.lists(st.lists(writes(counter=False), min_size=1, max_size=2), min_size=1, max_size=8),
    created=st.booleans(),
    forget=st.sets(st.integers(0, 8)),
)
def test_forgetting_changes_no_image(entries: list[Entry], created: bool, forget: set[int]) -> None:
    """Each entry is newer than those before, and an age lies between."""
    age = 50_000 * SECOND
    later = placed([[moved(row, number * age) for row in entry] for number, entry in enumerate(entries)])
    kept, lean = (Imaged([TABLE], nodes=NODES, created=created, started_us=START, gc_grace_seconds=0) for _ in range(2))
    for number, entry in enumerate(later):
        now = START + number * age + 5 * SECOND
        kept.tell(entry, now)
        lean.tell(entry, now)
        for made in (kept, lean):
            made.expire(now // SECOND + 5000)
        if number in forget:
            assert lean.forget(now // SECOND + 30_000).done
            assert not any(fact.dead(lean.now) for fact in lean.facts() if fact.write_ts > NO_TIME)
    if created:
        shown = [[(i.clustering, i.is_static, i.op, i.before, i.after) for i in made.images] for made in (kept, lean)]
        assert shown[0] == shown[1]
    assert lean.merger.late_facts == 0


def moved(row: dict[str, Any], more: int) -> dict[str, Any]:
    expires = row["expires_at"]
    return {
        **row,
        "write_ts": row["write_ts"] + more,
        "expires_at": None if expires is None else expires + more // SECOND,
    }
