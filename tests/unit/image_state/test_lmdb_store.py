"""The store in LMDB gives what the one in dictionaries gives, whatever the names are and however long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailer.image_state.file import ImageFile
from tailer.image_state.keys import ROW_CUT
from tailer.images.memory import MemoryStore
from tailer.images.store import Store

TABLES = ("0" * 31 + "1", "f" * 32)

LONG = b"\xff" * (ROW_CUT - 1)
SHORT = st.sampled_from([b"", b"\1", b"\0", b"\0\0", b"\0\xff", b"\1a", b"\1b\0", b"\2", b"\xff"])
ROWS = st.one_of(SHORT, st.builds(lambda end, more: LONG + end + more, SHORT, SHORT), st.binary(max_size=4))
LONG_NAME = b"\1\0" * 200
PARTITIONS = st.one_of(
    st.sampled_from(
        [b"12345678", b"12345678\0", b"\0\0\0\0\0\0\0\0", b"\0\0\0\0\0\0\0\0\xff", LONG_NAME, LONG_NAME + b"1"]
    ),
    st.builds(lambda end: LONG_NAME + end, SHORT),
)
DUES = st.one_of(st.none(), st.integers(0, 5))
STEPS = st.lists(
    st.tuples(st.sampled_from(TABLES), PARTITIONS, ROWS, st.one_of(st.none(), st.binary(max_size=3)), DUES),
    max_size=40,
)


def told(store: Store) -> dict[str, Any]:
    """All that a store answers."""
    answers: dict[str, Any] = {"due": [due.at for due in store.due(3, 7)], "all due": sorted(store.due(9, 1000))}
    for table in TABLES:
        names, name = [], store.next_partition(table, b"")
        while name is not None:
            names.append(name)
            name = store.next_partition(table, name)
        answers[table] = sorted(names)
        for name in names:
            rows = list(store.scan(table, name, b"", b"\xff" * 300))
            answers[f"{table} {name!r}"] = rows, store.due_in(table, name, 3)
            for lower in (b"", b"\1", LONG, LONG + b"\1"):
                for upper in (b"\1", b"\2", LONG + b"\0", LONG + b"\1a\1", b"\xff"):
                    answers[f"{table} {name!r} {lower!r} {upper!r}"] = list(store.scan(table, name, lower, upper))
            assert [store.get(table, name, row) for row, _ in rows] == [value for _, value in rows]
    return answers


class Both:
    """Two stores that are told the same."""

    def __init__(self, *stores: Store) -> None:
        self._stores = stores
        self._dues: dict[Any, int | None] = {}

    def do(self, table: str, partition: bytes, row: bytes, value: bytes | None, due: int | None) -> None:
        key = (table, partition, row)
        for store in self._stores:
            if value is not None:
                store.put(*key, value, due=due, was_due=self._dues.get(key))
            elif key in self._dues:
                store.delete(*key, was_due=self._dues[key])
        if value is None:
            self._dues.pop(key, None)
        else:
            self._dues[key] = due


def in_transaction(tmp_path: Path, work: Callable[[Store], None]) -> None:
    with ImageFile(tmp_path / "images") as file:
        file.write(lambda transaction: work(transaction.store))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(steps=STEPS)
def test_the_same_answers(tmp_path: Path, steps: list[Any]) -> None:
    def work(store: Store) -> None:
        memory = MemoryStore()
        both = Both(memory, store)
        for table in TABLES:
            store.clear(table)
        for step in steps:
            both.do(*step)
        assert told(store) == told(memory)
        for kept in (store, memory):
            kept.clear(TABLES[0])
        assert told(store) == told(memory)

    in_transaction(tmp_path, work)


@pytest.mark.parametrize("beginning", [b"\1", b"\1" * (ROW_CUT - 4), b"\1" * ROW_CUT])
def test_many_rows_in_order(tmp_path: Path, beginning: bytes) -> None:
    """More than are read at once, also where keys have no room for what tells them apart."""
    rows = [beginning + str(number).encode() for number in range(1000)]

    def work(store: Store) -> None:
        for row in rows:
            store.put(TABLES[0], b"12345678", row, b"v" + row, due=None, was_due=None)
        kept = sorted(rows)
        assert [row for row, _ in store.scan(TABLES[0], b"12345678", b"", b"\xff")] == kept
        assert [row for row, _ in store.scan(TABLES[0], b"12345678", kept[10], kept[700])] == kept[10:700]

    in_transaction(tmp_path, work)


def test_what_is_kept_of_the_whole(tmp_path: Path) -> None:
    def work(store: Store) -> None:
        assert store.meta(b"a") is None
        for key in (b"table/2", b"table/1", b"tablet"):
            store.put_meta(key, key + b"!")
        assert store.meta(b"tablet") == b"tablet!"
        assert list(store.metas(b"table/")) == [(b"table/1", b"table/1!"), (b"table/2", b"table/2!")]

    in_transaction(tmp_path, work)
