"""Copies of an entry that are told beside it leave what they would have left behind it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.images.told import State, delete, delete_partition, delete_range, insert, now, truncate, update

Change = dict[str, Any]
FIRST = insert(1_001, v=1, w=2)
COPIES = (("b", (1, 12)), ("c", (1, 13)), ("b", (1, 14)))


def of(node: str, offset: int, change: Change) -> Change:
    return {**change, "node": node, "offset": offset, "row": 0, "event_id": f"{node}:1:{offset}:0"}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    "change",
    [update(1_002, v=3), update(1_002, None, s=3), delete(1_003), delete_range(1_003, 0, 9), delete_partition(1_003)],
)
def test_they_are_known_as_if_each_had_been_merged(change: Change, known: bool) -> None:
    beside, behind = State(whole=True), State(whole=True)
    for state in (beside, behind):
        state.tell(FIRST)
        if known:
            state.tell(change)
    images = beside.merger.entry([of("a", 20, change)], now(2), COPIES)
    assert images == behind.merger.entry([of("a", 20, change)], now(2))
    assert bool(images) is not known
    for node, (_, offset) in COPIES:
        assert behind.merger.entry([of(node, offset, change)], now(2)) == []
    assert beside.rows() == behind.rows()


def test_a_truncate_takes_the_copy_of_its_node_by_its_newest_place() -> None:
    state = State(whole=True)
    state.merger.entry([of("a", 11, FIRST)], now(1), COPIES)
    assert [image.op for image in state.tell(truncate(2_000, "a"))] == ["truncate"]
    assert [image.op for image in state.tell(truncate(2_000, "b", before=14))] == ["truncate"]
    assert [image.op for image in state.tell(truncate(2_000, "c"))] == ["truncate"]
    assert [image.op for image in state.tell(truncate(2_000, "b", before=15))] == ["truncate", "delete"]
