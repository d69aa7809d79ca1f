"""A table of which all becomes known at once: each of its rows is reported, in bounded batches."""

from __future__ import annotations

from typing import Any

from tailer.images import Merger, Settings
from tailer.rebuild import Table
from tests.unit.images.told import ID, START, State, definition, insert, now, update

GONE = ("w",)


def whole(state: State, limit: int = 1_000) -> list[Any]:
    """All nodes have shown the CREATE; then batches of so many rows."""
    images = list(state.merger.define(Table.of(definition()), created=True, cdc=True, now_us=now(5)))
    while state.merger.confirms:
        images += state.merger.confirm(now(5), limit)
    return images


def short(images: list[Any]) -> list[tuple[Any, ...]]:
    return [
        (image.op, image.partition_key, image.before, image.after, image.changed, image.complete) for image in images
    ]


def test_rows_become_complete_and_what_does_not_exist_is_deleted() -> None:
    state = State()
    state.tell(insert(START + 1, v=1, w=2))
    state.tell(insert(START + 1, k=2, v=1))
    # Inserted with a value alone, and that is null: it was never known whether it exists.
    state.tell(update(START + 1, k=3, v=4))
    state.tell(update(START + 2, k=3, v=None))
    images = short(whole(state))
    full, part = '{"k":1,"x":1,"v":1,"w":2}', '{"k":2,"x":1,"v":1}'
    assert sorted(images) == sorted([
        ("read", '{"k":1}', full, full, (), True),
        ("update", '{"k":2}', part, '{"k":2,"x":1,"v":1,"w":null}', ("w",), True),
        ("delete", '{"k":3}', '{"k":3,"x":1,"v":null}', None, GONE, True),
    ])  # fmt: skip


def test_a_large_table_in_batches_over_restarts_and_writes() -> None:
    """2,500 rows; the first batch comes with the definition. A restart and a write come between two batches."""
    state = State()
    for k in range(2_500):
        state.tell(insert(START + 1, k=k, v=1, w=2))
    images = list(state.merger.define(Table.of(definition()), created=True, cdc=True, now_us=now(5)))
    assert 0 < len(images) <= 1_001
    assert state.merger.confirms
    state.merger = Merger(state.store, ("a", "b", "c"), Settings(START))
    (written,) = state.tell(update(START + 9, k=7, v=8), at=6)
    while state.merger.confirms:
        some = state.merger.confirm(now(7), 400)
        assert len(some) <= 401
        images += some
    assert not state.merger.confirm(now(8))
    told = [image.partition_key for image in images]
    assert len(set(told)) == len(told) == 2_500
    assert {image.op for image in images} == {"read"}
    known = state.merger.table(ID)
    assert known is not None
    assert known.facts.whole
    (last,) = state.tell(update(START + 10, k=7, w=8), at=9)
    assert last.complete
    assert written.op == "update"


def test_a_loss_between_two_batches_ends_it() -> None:
    state = State()
    for k in range(1_500):
        state.tell(insert(START + 1, k=k, v=1, w=2))
    state.merger.define(Table.of(definition()), created=True, cdc=True, now_us=now(5))
    assert state.merger.confirms
    state.merger.lost(None, now(6))
    assert not state.merger.confirms
    assert all(not state.tell(update(START + 9, k=k, v=8), at=7)[0].complete for k in range(0, 1_500, 100))
