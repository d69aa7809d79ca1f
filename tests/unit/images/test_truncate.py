"""TRUNCATE of one node after the other: what nobody vouches for any more goes."""

from __future__ import annotations

from tests.unit.images.told import START, State, delete, delete_range, insert, truncate, update


def test_what_one_node_had_alone_goes() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1))
    whole, row = state.tell(truncate(START + 2))
    assert (whole.op, whole.token, whole.partition_key, whole.before, whole.prev_seq) == (
        "truncate",
        None,
        None,
        None,
        None,
    )
    assert (row.op, row.before, row.after, row.write_ts) == ("delete", '{"k":1,"x":1,"v":1,"w":null}', None, START + 2)
    assert (row.node, row.event_id) == ("a", whole.event_id)


def test_what_another_node_has_too_stays_until_its_own() -> None:
    state = State(whole=True)
    for node in "ab":
        state.tell(insert(START + 1, v=1, node=node))
    assert state.told(truncate(START + 2)) == [("truncate", None, None, ())]
    assert state.told(truncate(START + 2, "b")) == [
        ("truncate", None, None, ()),
        ("delete", {"v": 1, "w": None}, None, ("v",)),
    ]


def test_images_of_the_table_have_a_chain_of_their_own() -> None:
    state = State(whole=True)
    (first,), (second,) = (state.tell(truncate(START + 2, node)) for node in "ab")
    assert (first.prev_seq, second.prev_seq) == (None, first.seq)


def test_what_is_written_after_it_stands() -> None:
    state = State(whole=True)
    state.tell(truncate(START + 9, before=10))
    assert state.told(insert(START + 1, v=1)) == [("insert", None, {"v": 1, "w": None}, ("v",))]


def test_an_older_value_of_another_node_shows_again() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1, node="b"))
    state.tell(update(START + 2, v=2, node="a"))
    _, row = state.told(truncate(START + 3))
    assert row == ("update", {"v": 2, "w": None}, {"v": 1, "w": None}, ("v",))


def test_so_does_what_a_deletion_had_taken() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1, node="b"))
    state.tell(delete_range(START + 2, None, None, node="a"))
    assert state.told(truncate(START + 3))[1:] == [("insert", None, {"v": 1, "w": None}, ("v",))]


def test_a_fact_that_is_dropped_has_left_its_mark() -> None:
    """Node a's old value was dropped when a newer one of its own came: it does not come back."""
    state = State(whole=True)
    state.tell(insert(START + 1, v=1, node="a"))
    state.tell(insert(START + 2, v=2, node="a"))
    state.tell(insert(START + 1, v=1, node="b"))
    state.tell(insert(START + 2, v=2, node="b"))
    state.tell(truncate(START + 3))
    assert state.told(truncate(START + 3, "b"))[1:] == [("delete", {"v": 2, "w": None}, None, ("v",))]
    assert [key for key in state.rows() if key[1]] == []


def test_what_was_known_by_a_deletion_alone_is_known_no_more() -> None:
    state = State()
    state.tell(delete(START + 1, node="a"), insert(START + 2, v=1, node="a"))
    state.tell(insert(START + 2, v=1, node="b"))
    state.tell(truncate(START + 3))
    assert state.told(update(START + 4, v=3)) == [("update", {"v": 1}, {"v": 3}, ("v",))]
