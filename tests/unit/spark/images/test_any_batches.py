"""Histories of several nodes at random: in whatever batches they come, their state is that of one process.

There each copy is merged by itself, here those of a batch are merged once. What a TRUNCATE shows of a row between two
copies of it may differ; what is known at the end does not.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.images.packed import pack, unpack
from tailer.images.store import Store
from tailer.rebuild import Table
from tailer.spark.images.map_store import MapStore
from tests.helpers.amount import examples
from tests.helpers.bucketed import Buckets, schema_row
from tests.helpers.imaged import Imaged
from tests.unit.images.told import (
    ID,
    SECOND,
    definition,
    delete,
    delete_partition,
    delete_range,
    insert,
    truncate,
    update,
)

Change = dict[str, Any]
NODES = ("a", "b", "c")
TABLE = Table.of(definition())
FIRST = 2_000

TS, K, X, V = st.integers(1, 6), st.integers(1, 2), st.integers(0, 3), st.one_of(st.none(), st.integers(0, 2))
DIES = st.one_of(st.just({}), st.integers(1, 8).map(lambda more: {"ttl": 9, "expires_at": FIRST + more}))
WRITES = st.one_of(
    st.builds(lambda ts, k, x, v, dies: insert(ts, x, v=v, k=k, **dies), TS, K, X, V, DIES),
    st.builds(lambda ts, x, v, w, dies: update(ts, x, v=v, w=w, **dies), TS, X, V, V, DIES),
    st.builds(lambda ts, s: update(ts, None, s=s), TS, V),
    st.builds(delete, TS, X),
    st.builds(lambda ts: delete_partition(ts), TS),
    st.builds(lambda ts, start, length: delete_range(ts, start, start + length), TS, X, X),
)
ENTRIES = st.lists(WRITES, min_size=1, max_size=2)
STEP = st.one_of(
    st.tuples(ENTRIES, st.sets(st.sampled_from(NODES), min_size=1)),
    st.tuples(ENTRIES, st.sets(st.sampled_from(NODES), min_size=2)),
    st.sampled_from([("truncate", node) for node in NODES]),
    st.just(("batch", 0)),
    st.tuples(st.just("batch"), st.integers(1, 3)),
)


def rows_of(steps: list[Any]) -> list[tuple[int, list[Change]]]:
    """The batches: each with its second, and the rows of all nodes."""
    made: list[tuple[int, list[Change]]] = [(FIRST, [])]
    for number, step in enumerate(steps):
        place = 10 * (number + 1)
        if step[0] == "batch":
            made.append((made[-1][0] + step[1], []))
        elif step[0] == "truncate":
            row = {**truncate(9, step[1], before=place), "token": None}
            made[-1][1].append({**row, "offset": place, "event_id": f"{step[1]}:{place}"})
        else:
            for node in sorted(step[1]):
                more = {"node": node, "offset": place + NODES.index(node), "event_id": f"{node}:{place}"}
                made[-1][1].extend({**change, **more, "row": row} for row, change in enumerate(step[0]))
    return made


def known(store: Store) -> dict[Any, bytes]:
    """All rows but for the numbers of images, and for when a fact came or a row's marks changed: what is outweighed
    between two of its copies goes, and is new again with the second. Headers of numbers alone are left out.
    """
    found = {}
    name = store.next_partition(ID, b"")
    while name is not None:
        for key, value in store.scan(ID, name, b"", b"\xff"):
            row = unpack(key, value)
            row.seq, row.placed = 0, min(row.placed, 1)
            row.facts = {fact: copies._replace(arrival=0) for fact, copies in row.facts.items()}
            if row.facts:
                found[name, key] = pack(row)
        name = store.next_partition(ID, name)
    return found


@settings(max_examples=examples(1500))
@given(steps=st.lists(STEP, max_size=30))
def test_the_state_is_that_of_one_process(steps: list[Any]) -> None:
    plain, folded = Imaged([TABLE], nodes=NODES), Imaged([TABLE], nodes=NODES)
    spark = Buckets([TABLE], NODES)
    spark.batch([schema_row(TABLE, node) for node in NODES], 0)
    for second, rows in rows_of(steps):
        plain.expire(second)
        places = sorted({(row["node"], row["offset"]) for row in rows})
        for place in places:
            plain.tell([row for row in rows if (row["node"], row["offset"]) == place], second * SECOND)
        # The fold refuses an image that does not begin where the one before ended.
        folded.take(spark.batch(rows, second * SECOND))
    plain.expire(FIRST + 100)
    folded.take(spark.batch([], (FIRST + 100) * SECOND))
    held: dict[Any, bytes] = {}
    for maps in spark.maps.values():
        held |= known(MapStore(ID, maps))
    assert held == known(plain.store)
    assert folded.there() == plain.there()
