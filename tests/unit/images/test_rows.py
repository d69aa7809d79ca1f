"""One row: what inserts, updates and deletions of it give, known whole or not."""

from __future__ import annotations

from tests.unit.images.told import SHOWN_ID, START, State, delete, insert, now, update


def test_a_row_of_a_whole_table_is_inserted_updated_deleted() -> None:
    state = State(whole=True)
    assert state.told(insert(START + 1, v=1)) == [("insert", None, {"v": 1, "w": None}, ("v",))]
    assert state.told(update(START + 2, w=5)) == [("update", {"v": 1, "w": None}, {"v": 1, "w": 5}, ("w",))]
    assert state.told(delete(START + 3)) == [("delete", {"v": 1, "w": 5}, None, ("v", "w"))]
    assert state.told(insert(START + 4, v=1)) == [("insert", None, {"v": 1, "w": None}, ("v",))]


def test_an_image_tells_its_row_its_cause_and_its_place_in_the_chain() -> None:
    state = State(whole=True)
    (first,) = state.tell(insert(START + 1, v=1), at=1)
    (second,) = state.tell(update(START + 2, v=2), at=1)
    (third,) = state.tell(update(START + 3, v=3), at=2)
    assert first.partition_key == '{"k":1}'
    assert first.clustering == '{"x":1}'
    assert (first.keyspace, first.table, first.table_id, first.token) == ("ks", "t", SHOWN_ID, -4069959284402364209)
    assert second.before == first.after == '{"k":1,"x":1,"v":1,"w":null}'
    assert (second.node, second.segment, second.offset, second.row, second.event_id) == ("a", 1, 11, 0, "a:1:11:0")
    assert [image.seq for image in (first, second, third)] == [now(1), now(1) + 1, now(2)]
    assert [image.prev_seq for image in (first, second, third)] == [None, now(1), now(1) + 1]
    assert [image.write_ts for image in (first, second, third)] == [START + 1, START + 2, START + 3]


def test_a_copy_of_another_node_gives_nothing() -> None:
    state = State(whole=True)
    assert len(state.tell(insert(START + 1, v=1))) == 1
    assert state.tell(insert(START + 1, v=1, node="b")) == []
    assert state.tell(insert(START + 1, v=1)) == []


def test_what_is_older_gives_nothing() -> None:
    state = State(whole=True)
    state.tell(insert(START + 5, v=1))
    assert state.tell(update(START + 4, v=2)) == []
    state.tell(delete(START + 6))
    assert state.tell(insert(START + 6, v=2)) == []


def test_a_write_that_changes_no_value_has_an_image() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1))
    assert state.told(update(START + 2, v=1)) == [("update", {"v": 1, "w": None}, {"v": 1, "w": None}, ())]


def test_of_a_row_that_is_not_known_whole_only_what_is_known_is_shown() -> None:
    state = State()
    assert state.told(update(START + 1, v=1)) == [("upsert", None, {"v": 1}, ("v",))]
    assert state.told(update(START + 2, w=None)) == [("update", {"v": 1}, {"v": 1, "w": None}, ("w",))]


def test_a_deletion_tells_all_that_came_before_it() -> None:
    state = State()
    (image,) = state.tell(delete(START + 1))
    assert (image.op, image.before, image.after, image.changed, image.complete) == (
        "delete",
        None,
        None,
        ("v", "w"),
        True,
    )
    assert state.told(insert(START + 2, v=1)) == [("insert", None, {"v": 1, "w": None}, ("v",))]


def test_a_deletion_of_before_the_start_does_not() -> None:
    state = State()
    (image,) = state.tell(delete(START - 1))
    assert (image.op, image.complete) == ("delete", False)
    assert state.told(insert(START + 2, v=1)) == [("upsert", None, {"v": 1}, ("v",))]


def test_a_column_set_to_null_in_a_row_that_is_not_known_is_an_update() -> None:
    state = State()
    assert state.told(update(START + 1, v=None)) == [("update", None, {"v": None}, ("v",))]
    assert state.told(update(START + 2, w=1)) == [("upsert", {"v": None}, {"v": None, "w": 1}, ("w",))]


def test_a_row_that_is_not_there_and_stays_so_is_deleted_again() -> None:
    state = State(whole=True)
    assert state.told(delete(START + 1)) == [("delete", None, None, ())]
    assert state.told(delete(START + 2)) == [("delete", None, None, ())]
    assert state.told(delete(START + 2, node="b")) == []


def test_a_row_without_marker_goes_with_its_last_value() -> None:
    state = State(whole=True)
    assert state.told(update(START + 1, v=1)) == [("insert", None, {"v": 1, "w": None}, ("v",))]
    assert state.told(update(START + 2, v=None)) == [("delete", {"v": 1, "w": None}, None, ("v",))]


def test_a_batch_that_deletes_and_inserts_a_row_is_one_image() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1, w=1))
    assert state.told(delete(START + 2), insert(START + 3, v=2)) == [
        ("update", {"v": 1, "w": 1}, {"v": 2, "w": None}, ("v", "w"))
    ]


def test_the_static_row_has_images_of_its_own() -> None:
    state = State(whole=True)
    static, row = state.tell(update(START + 1, None, s=7), insert(START + 1, v=1))
    assert (static.op, static.is_static, static.clustering, static.after) == ("insert", True, None, '{"k":1,"s":7}')
    assert (row.op, row.is_static, row.after) == ("insert", False, '{"k":1,"x":1,"v":1,"w":null}')
    assert row.prev_seq == static.seq
