"""Deletions of ranges and partitions: each known row that they take, and what is not known one by one."""

from __future__ import annotations

import json

from tests.unit.images.told import START, State, delete_partition, delete_range, insert, short, update


def test_a_range_deletes_each_row_in_it_in_order() -> None:
    state = State(whole=True)
    for x in (3, 1, 2, 5):
        state.tell(insert(START + x, x, v=x))
    images = state.tell(delete_range(START + 9, 2, 4))
    assert [(image.op, image.clustering, image.write_ts) for image in images] == [
        ("delete", '{"x":2}', START + 9),
        ("delete", '{"x":3}', START + 9),
    ]
    assert {image.event_id for image in images} == {"a:1:14:0"}
    assert images[1].prev_seq == images[0].seq


def test_a_row_with_something_newer_stays() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1))
    state.tell(update(START + 5, w=1))
    assert state.told(delete_range(START + 3, 1, 2)) == [("update", {"v": 1, "w": 1}, {"v": None, "w": 1}, ("v",))]


def test_a_row_that_it_does_not_touch_has_no_image() -> None:
    state = State(whole=True)
    state.tell(insert(START + 5, v=1, w=1))
    assert state.tell(delete_range(START + 3, None, None)) == []


def test_of_a_partition_that_is_not_whole_the_range_is_told_first() -> None:
    state = State()
    state.tell(update(START + 1, v=1))
    ranged, row = state.tell(delete_range(START + 2, 1, None))
    assert (ranged.op, ranged.before, ranged.after, ranged.clustering, ranged.complete) == (
        "delete_range", None, None, None, False,
    )  # fmt: skip
    assert ranged.range is not None
    assert json.loads(ranged.range)["start"] == {"x": 1}
    assert (row.op, row.before, row.after, row.complete) == ("delete", '{"k":1,"x":1,"v":1}', None, True)
    assert row.prev_seq == ranged.seq


def test_rows_that_come_into_a_range_later_are_whole() -> None:
    state = State()
    state.tell(delete_range(START + 2, 1, 3))
    assert state.told(insert(START + 3, 2, v=1)) == [("insert", None, {"v": 1, "w": None}, ("v",))]
    assert state.told(insert(START + 3, 3, v=1)) == [("upsert", None, {"v": 1}, ("v",))]


def test_a_range_and_a_row_of_it_in_one_entry() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, 1, v=1), insert(START + 1, 2, v=2))
    assert state.told(delete_range(START + 2, None, None), insert(START + 3, 1, w=1)) == [
        ("update", {"v": 1, "w": None}, {"v": None, "w": 1}, ("v", "w")),
        ("delete", {"v": 2, "w": None}, None, ("v",)),
    ]


def test_a_partition_goes_with_its_static_row_first() -> None:
    state = State(whole=True)
    state.tell(update(START + 1, None, s=1), insert(START + 1, 2, v=2), insert(START + 1, 1, v=1))
    images = state.tell(delete_partition(START + 2))
    assert [(image.op, image.clustering, image.is_static) for image in images] == [
        ("delete", None, True),
        ("delete", '{"x":1}', False),
        ("delete", '{"x":2}', False),
    ]
    assert state.tell(delete_partition(START + 2, node="b")) == []


def test_a_partition_that_is_not_whole_is_so_when_it_was_deleted() -> None:
    state = State()
    (first,) = state.tell(delete_partition(START + 1))
    assert (first.op, first.complete) == ("delete_partition", True)
    assert state.tell(delete_partition(START + 2)) == []
    assert state.told(insert(START + 3, 9, v=1)) == [("insert", None, {"v": 1, "w": None}, ("v",))]


def test_columns_that_are_known_since_a_range_was_deleted_are_told() -> None:
    """The deletion takes nothing of the row that is known, but all that is not."""
    state = State()
    state.tell(update(START + 5, v=1))
    ranged, row = state.tell(delete_range(START + 2, None, None))
    assert ranged.op == "delete_range"
    assert short([row]) == [("update", {"v": 1}, {"v": 1, "w": None}, ("w",))]


def test_a_range_within_an_older_one_that_is_newer_takes_no_effect() -> None:
    state = State()
    state.tell(delete_range(START + 5, None, None))
    assert state.tell(delete_range(START + 3, 1, 2)) == []


def test_a_copy_of_a_range_takes_no_effect() -> None:
    state = State()
    assert len(state.tell(delete_range(START + 5, 1, 2))) == 1
    assert state.tell(delete_range(START + 5, 1, 2, node="b")) == []
