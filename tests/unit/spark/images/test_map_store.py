"""The store in maps of bytes gives what the one in dictionaries gives, whatever it holds in memory."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.images.memory import MemoryStore
from tailer.images.store import Store
from tailer.spark.images.map_store import MapStore
from tests.helpers.amount import ALL
from tests.helpers.bucketed import dict_maps

TABLE = "0" * 31 + "1"
PARTITIONS = st.sampled_from([b"12345678", b"12345678\0", b"87654321\0\0\0\1"])
ROWS = st.one_of(st.just(b""), st.integers(0, 300).map(lambda number: b"\1" + number.to_bytes(2, "big")))
VALUES = st.one_of(st.none(), st.integers(0, 900).map(lambda length: b"v" * length))
DUES = st.one_of(st.none(), st.integers(0, 20), st.integers(0, 20_000))
STEP = st.one_of(st.tuples(PARTITIONS, ROWS, VALUES, DUES), st.just("again"), st.just("clear"), st.integers(0, 20_000))


def told(store: Store, until: int) -> dict[str, Any]:
    """All that a store answers."""
    answers: dict[str, Any] = {"due": store.due(until, 7), "all due": store.due(until, 10_000)}
    name = store.next_partition(TABLE, b"")
    while name is not None:
        rows = list(store.scan(TABLE, name, b"", b"\xff"))
        assert [store.get(TABLE, name, row) for row, _ in rows] == [value for _, value in rows]
        few = list(store.scan(TABLE, name, b"\1\0\2", b"\1\0\x80"))
        answers[repr(name)] = rows, few, store.due_in(TABLE, name, until)
        name = store.next_partition(TABLE, name)
    return answers


@given(steps=st.lists(STEP, max_size=120))
def test_the_same_answers(steps: list[Any]) -> None:
    same_answers(steps)


@pytest.mark.parametrize("seed", range(40 if ALL else 4))
def test_the_same_answers_behind_much(seed: int) -> None:
    choose = random.Random(seed)
    rows = [b"\1" + number.to_bytes(2, "big") for number in range(choose.choice([20, 400]))]

    def step() -> Any:
        partition = b"1234567" + bytes([choose.randrange(3)])
        value = choose.choice([None, b"v" * choose.randrange(900), b"v", b"w"])
        return partition, choose.choice(rows), value, choose.choice([None, choose.randrange(20_000)])

    others = ["again", "again", 0, 5000, 19_000]
    steps = [step() if choose.random() < 0.97 else choose.choice(others) for _ in range(2000)]
    same_answers(steps)


def same_answers(steps: list[Any]) -> None:
    maps, memory = dict_maps(), MemoryStore()
    store = MapStore(TABLE, maps)
    dues: dict[Any, int | None] = {}
    for step in steps:
        if step == "again":
            store.flush()
            store = MapStore(TABLE, maps)
        elif step == "clear":
            for each in (store, memory):
                each.clear(TABLE)
            dues.clear()
        elif isinstance(step, int):
            assert told(store, step) == told(memory, step)
        else:
            partition, row, value, due = step
            key = TABLE, partition, row
            for each in (store, memory):
                if value is not None:
                    each.put(*key, value, due=due, was_due=dues.get(key))
                elif key in dues:
                    each.delete(*key, was_due=dues[key])
            if value is None:
                dues.pop(key, None)
            else:
                dues[key] = due
    seconds = [second for second in dues.values() if second is not None]
    assert (store.next_due is None) or not seconds or store.next_due <= min(seconds)
    assert seconds == [] or store.next_due is not None
    for until in (0, 20, 30_000):
        assert told(store, until) == told(memory, until)
    store.flush()
    assert told(MapStore(TABLE, maps), 30_000) == told(memory, 30_000)


def test_a_large_partition_costs_by_what_is_touched() -> None:
    maps = dict_maps()
    store = MapStore(TABLE, maps)
    for number in range(10_000):
        store.put(TABLE, b"12345678", b"\1" + number.to_bytes(4, "big"), b"v" * 50, due=None, was_due=None)
    store.flush()
    before = calls(maps)
    store = MapStore(TABLE, maps)
    key = TABLE, b"12345678", b"\1" + (500).to_bytes(4, "big")
    assert store.get(*key) == b"v" * 50
    store.put(*key, b"w", due=None, was_due=None)
    store.put(TABLE, b"12345678", b"\1new", b"x", due=None, was_due=None)
    store.flush()
    # The bucket's few things; the head, two rows, and the last chunk of names, each read, and written.
    assert calls(maps) - before == 1 + 4 + 4
    assert [row for row, _ in MapStore(TABLE, maps).scan(TABLE, b"12345678", b"\1new", b"\1newer")] == [b"\1new"]


def test_nothing_is_left_of_what_was_cleared() -> None:
    maps = dict_maps()
    store = MapStore(TABLE, maps)
    for number in range(300):
        store.put(TABLE, b"12345678", b"\1%d" % number, b"v" * 50, due=number * 100, was_due=None)
    store.flush()
    store = MapStore(TABLE, maps)
    store.clear(TABLE)
    store.flush()
    assert [list(each.keys()) for each in maps] == [[b"calendar"], [], [], [], []]
    assert store.next_due is None


def calls(maps: Any) -> int:
    return sum(each.calls for each in maps)


def test_partitions_are_listed_once_in_a_batch() -> None:
    """Whatever comes and goes in it; each of them one call for the names of all there are."""
    maps = dict_maps()
    names = [number.to_bytes(8, "big") for number in range(0, 200, 2)]
    store = MapStore(TABLE, maps)
    for name in names:
        store.put(TABLE, name, b"", b"v", due=None, was_due=None)
    store.flush()
    store, listed = MapStore(TABLE, maps), list[int]()
    before = maps.heads.keys
    maps.heads.keys = lambda: listed.append(1) or before()  # type: ignore[method-assign,func-returns-value,attr-defined]
    for number in range(0, 200, 5):
        name = number.to_bytes(8, "big")
        if number % 2:
            store.put(TABLE, name, b"", b"w", due=None, was_due=None)
            names = sorted({*names, name})
        else:
            store.delete(TABLE, name, b"", was_due=None)
            names.remove(name)
        found, at = list[bytes](), store.next_partition(TABLE, b"")
        while at is not None:
            found.append(at)
            at = store.next_partition(TABLE, at)
        assert found == names
    assert listed == [1]
