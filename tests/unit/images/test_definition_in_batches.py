"""A definition by which each row of a table reads differently: its rows get their images in bounded batches.

Whatever comes between two batches finds the table by the new definition: what a merger gives that is driven to the end
before is the reference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tailer.images import Image, Merger, Settings, merged_tables
from tailer.images.marks import Mark
from tailer.images.memory import MemoryStore
from tailer.images.served import Answer, EventIds, ServedRange
from tailer.images.tables import definitions_in
from tailer.rebuild import Table
from tailer.schema.model import Column, TableDefinition, TypeField
from tests.unit.images.told import (
    DATA,
    ID,
    SECOND,
    SHOWN_ID,
    START,
    State,
    change,
    definition,
    insert,
    now,
    truncate,
    update,
)

S, V, W = DATA
GONE = Column("v", "regular", "int", dropped=True, dropped_time=START + 50)
NEW = Column("y", "regular", "int")
AT_ONCE = 40
ROWS = 60
"""With the header of each partition these are three batches."""


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_tables, "CONFIRMED_AT_ONCE", AT_ONCE)


def filled(rows: int = ROWS, **more: Any) -> State:
    state = State(whole=True)
    for k in range(rows):
        state.tell(insert(START + 1, k=k, v=k, w=2, **more))
    return state


def driven(state: State, limit: int = AT_ONCE, at: float = 5) -> list[Image]:
    images: list[Image] = []
    while state.merger.confirms:
        some = state.merger.confirm(now(at), limit)
        assert len(some) <= limit + 1
        images += some
    return images


def test_each_row_has_its_image_in_batches_over_restarts() -> None:
    state = filled()
    first = state.define(definition(S, GONE, W), at=2)
    assert 2 < len(first) <= 1 + AT_ONCE
    batches = [first]
    while state.merger.confirms:
        state.merger = Merger(state.store, ("a", "b", "c"), Settings(START))
        batches.append(state.merger.confirm(now(3), 15))
        assert len(batches[-1]) <= 15
    schema, *images = [image for batch in batches for image in batch]
    assert (schema.op, schema.changed) == ("schema", ("v",))
    assert sorted((i.op, i.before, i.after, i.changed, i.complete) for i in images) == sorted(
        ("update", f'{{"k":{k},"x":1,"v":{k},"w":2}}', f'{{"k":{k},"x":1,"w":2}}', ("v",), True) for k in range(ROWS)
    )
    assert all(image.seq > schema.seq for image in images)
    assert state.merger.confirm(now(9)) == []


def test_one_partition_is_not_cut() -> None:
    state = State(whole=True)
    for x in range(AT_ONCE + 9):
        state.tell(insert(START + 1, x, v=1, w=2))
    assert len(state.define(definition(S, GONE, W), at=2)) == AT_ONCE + 10
    assert not state.merger.confirms


def served(state: State, at: float) -> list[Image]:
    answer = Answer(START + 60, True, (Mark(0, (1, 9_000)),), EventIds("s."))
    return state.merger.served(ID, ServedRange(-(2**63), 2**63 - 1, {}), answer, now(at))


def dropped(state: State, at: float) -> list[Image]:
    return state.merger.dropped(SHOWN_ID, now(at))


def schema(state: State, newest: TableDefinition | None, at: float) -> list[Image]:
    text = None if newest is None else msgspec.json.encode(newest).decode()
    row = change("schema", 0, None, partition_key=None, token=None) | {"columns": text, "write_ts": None}
    return state.tell(row, at=at)


def lost(state: State, at: float) -> list[Image]:
    state.merger.lost(None, now(at))
    return []


def forgotten(state: State, at: float) -> list[Image]:
    state.merger.forget(now(at) + 20 * 86_400 * SECOND, dict.fromkeys("abc", now(at) // SECOND + 20 * 86_400))
    return []


BACK = msgspec.structs.replace(GONE, dropped=False, added_time=START + 55)
BETWEEN: dict[str, Callable[[State, float], list[Image]]] = {
    "a row": lambda state, at: [*state.tell(update(START + 70, k=ROWS - 1, w=7), at=at)],
    "rows": lambda state, at: [image for k in range(ROWS) for image in state.tell(update(START + 70, k=k, w=7), at=at)],
    "rows of before": lambda state, at: state.tell(*(update(START + 40, k=k, v=9) for k in range(9)), at=at),
    "TRUNCATE": lambda state, at: state.tell({**truncate(START + 70), "token": None}, at=at),
    "DROP TABLE": dropped,
    "DROP TABLE in an entry": lambda state, at: schema(state, None, at),
    "ADD": lambda state, at: state.define(definition(S, BACK, W), at=at),
    "DROP another": lambda state, at: state.define(
        definition(S, GONE, Column("w", "regular", "int", dropped=True, dropped_time=START + 60)), at=at
    ),
    "ALTER in an entry": lambda state, at: schema(state, definition(S, BACK, W), at),
    "expiry": lambda state, at: state.merger.expire(now(at + 95), 100),
    "a snapshot": served,
    "loss": lost,
    "purge": forgotten,
}


def by_partition(images: list[Image]) -> dict[str | None, list[tuple[Any, ...]]]:
    found = defaultdict(list)
    for each in images:
        found[each.partition_key].append(
            (each.op, each.clustering, each.before, each.after, each.changed, each.write_ts, each.complete)
        )
    return found


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("expires", [None, now(60) // SECOND], ids=["lasting", "expiring"])
def test_what_comes_between_two_batches(between: str, expires: int | None) -> None:
    """The images are those of a merger that is at the end of the definition by then: within a partition in order."""
    more = {} if expires is None else {"ttl": 60, "expires_at": expires}
    found = []
    for at_once in (False, True):
        state = filled(**more)
        images = state.define(definition(S, GONE, W), at=2)
        assert state.merger.confirms
        if at_once:
            images += driven(state)
        images += BETWEEN[between](state, 6)
        images += driven(state, 25, at=7)
        images += state.define(definition(S, GONE, W, NEW), at=8) if between != "DROP another" else []
        images += driven(state, at=8)
        while state.merger.due(now(99)):
            images += state.merger.expire(now(99), 500)
        found.append((images, state))
    (batches, one), (together, other) = found
    left, right = by_partition(batches), by_partition(together)
    if between == "loss":
        # Rows whose images come behind a loss are not known whole any more.
        left, right = ({k: [i[:-1] for i in rows] for k, rows in each.items()} for each in (left, right))
    assert left == right
    assert len(left) > ROWS
    keys = [{key: row for key, row in each.rows().items() if key[1]} for each in (one, other)]
    assert keys[0].keys() == keys[1].keys()
    for images in (batches, together):
        last: dict[Any, int | None] = defaultdict(lambda: None)
        for image in images:
            before = last[image.partition_key]
            assert before is None or (image.seq > before and image.prev_seq == before), between
            last[image.partition_key] = image.seq


@pytest.mark.parametrize("between", BETWEEN)
def test_an_image_s_number_tells_its_definition(between: str) -> None:
    """A row's `v` is in `before` of an image alone whose number is that of the definition with it, or the first one of
    the partition behind it."""
    state = filled()
    images = state.define(definition(S, GONE, W), at=2)
    begun = images[0].seq
    assert [seq for seq, _ in definitions_in(state.store, ID)] == [0, begun]
    images += [*BETWEEN[between](state, 6), *driven(state)]
    rows = [image for image in images if image.token is not None]
    assert rows
    assert all(image.seq > begun for image in rows)
    ends = [image.seq for image in images if image.op in ("schema", "drop")]
    for end in ends[1:]:
        behind = images[[image.seq for image in images].index(end) :]
        assert all(image.seq > end for image in behind if image.token is not None)
        assert all(image.seq < end for image in images if image.token is not None and image not in behind)


def test_a_row_is_known_by_the_definition_that_its_last_image_has() -> None:
    state = filled()
    state.define(definition(S, GONE, W), at=2)
    texts = {
        state.merger.known(SHOWN_ID, f'{{"k":{k}}}', '{"x":1}', now(3)).shown == f'{{"k":{k},"x":1,"v":{k},"w":2}}'
        for k in range(ROWS)
    }
    assert texts == {True, False}
    driven(state)
    known = {state.merger.known(SHOWN_ID, f'{{"k":{k}}}', '{"x":1}', now(3)).shown for k in range(ROWS)}
    assert known == {f'{{"k":{k},"x":1,"w":2}}' for k in range(ROWS)}


def test_values_of_a_type_that_has_other_fields_get_one_image_each() -> None:
    def of(*fields: str) -> TableDefinition:
        place = tuple(TypeField(name, "int") for name in fields)
        return definition(S, Column("v", "regular", "frozen<place>"), W, types={"place": place})

    state = State(define=False)
    state.define(of("a"), created=True)
    for k in range(ROWS):
        state.tell(insert(START + 1, k=k, v={"a": 1}, w=1))
    images = state.define(of("a", "b"), at=2)
    images += state.tell(update(START + 2, k=5, w=3), at=3)
    images += driven(state)
    assert len(images) == ROWS + 2
    of_one = [image.after for image in images if image.partition_key == '{"k":5}']
    assert of_one == ['{"k":5,"x":1,"v":{"a":1,"b":null},"w":1}', '{"k":5,"x":1,"v":{"a":1,"b":null},"w":3}']


class CountingStore(MemoryStore):
    """Counts how often a partition is looked for."""

    looks = 0

    def next_partition(self, table_id: str, after: bytes) -> bytes | None:
        self.looks += 1
        return super().next_partition(table_id, after)


@pytest.mark.parametrize("op", ["schema", "drop"])
def test_the_number_of_a_table_s_image_costs_no_look_at_its_rows(op: str) -> None:
    store = CountingStore()
    state = State(whole=True, store=store)
    # Many images of one partition at one time: their numbers run ahead of the clock.
    rows = [image for ts in range(40) for image in state.tell(insert(START + ts, v=ts), at=1)]
    state.tell(insert(START + 1, k=2, v=1), at=1)
    assert rows[-1].seq > now(1)
    looks = store.looks
    new = definition(S, V, W, NEW)
    (image,) = state.define(new, at=1) if op == "schema" else state.merger.dropped(SHOWN_ID, now(1))
    assert store.looks == looks
    assert image.seq > rows[-1].seq


def test_a_state_of_an_earlier_version_is_looked_through_once() -> None:
    store = CountingStore()
    state = State(whole=True, store=store)
    rows = [image for ts in range(40) for image in state.tell(insert(START + ts, v=ts), at=1)]
    store.drop_meta(b"highest")
    state.merger = Merger(store, ("a", "b", "c"), Settings(START))
    rows += state.tell(insert(START + 90, k=2, v=1), insert(START + 90, 2, k=2, v=1), at=1)
    for column in (NEW, Column("z", "regular", "int")):
        looks = store.looks
        (image,) = state.merger.define(Table.of(definition(S, V, W, column)), created=True, cdc=True, now_us=now(1))
        assert image.seq > max(row.seq for row in rows)
        assert (store.looks > looks) == (column is NEW)
