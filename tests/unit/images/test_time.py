"""What time does: values that expire, tombstones that are forgotten, and what comes too late."""

from __future__ import annotations

import pytest

from tests.unit.images.told import (
    ID,
    START,
    State,
    delete,
    delete_partition,
    delete_range,
    insert,
    now,
    update,
)

BEGIN = START // 1_000_000
DAYS = 86_400
NODES = ("a", "b", "c")


def test_a_row_that_expires_is_told_before_the_next_write_of_its_partition() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, 1, v=1, ttl=5, expires_at=BEGIN + 5))
    gone, other = state.tell(insert(START + 2, 2, v=2), at=5)
    assert (gone.op, gone.clustering, gone.before, gone.after, gone.changed) == (
        "expire", '{"x":1}', '{"k":1,"x":1,"v":1,"w":null}', None, ("v",),
    )  # fmt: skip
    assert (gone.node, gone.segment, gone.offset, gone.row, gone.event_id, gone.write_ts) == (None,) * 6
    assert (other.op, other.prev_seq) == ("insert", gone.seq)


def test_it_is_told_by_a_timer_too() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, 1, v=1, ttl=5, expires_at=BEGIN + 5))
    state.tell(update(START + 1, None, s=1, ttl=5, expires_at=BEGIN + 6))
    assert not state.merger.due(now(4.9))
    assert state.expire(4.9) == []
    assert state.merger.due(now(5))
    assert state.expire(9) == [("expire", {"v": 1, "w": None}, None, ("v",)), ("expire", {"s": 1}, None, ("s",))]
    assert state.expire(100) == []


def test_as_many_as_the_caller_says() -> None:
    state = State(whole=True)
    for x in range(5):
        state.tell(insert(START + 1, x, ttl=5, expires_at=BEGIN + 5))
    assert [len(state.merger.expire(now(9), 2)) for _ in range(4)] == [2, 2, 1, 0]


def test_a_row_that_stays_when_a_value_expires_is_updated() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1), update(START + 1, w=1, ttl=5, expires_at=BEGIN + 5))
    assert state.expire(5) == [("update", {"v": 1, "w": 1}, {"v": 1, "w": None}, ("w",))]


def test_what_expires_later_is_told_later() -> None:
    state = State(whole=True)
    state.tell(update(START + 1, v=1, ttl=5, expires_at=BEGIN + 5), update(START + 1, w=1, ttl=9, expires_at=BEGIN + 9))
    assert state.expire(5) == [("update", {"v": 1, "w": 1}, {"v": None, "w": 1}, ("v",))]
    assert state.expire(9) == [("expire", {"v": None, "w": 1}, None, ("w",))]


def test_what_has_expired_when_it_comes_gives_nothing() -> None:
    state = State(whole=True)
    assert state.tell(insert(START + 1, v=1, ttl=5, expires_at=BEGIN + 5), at=6) == []
    assert state.tell(update(START, v=2), at=7) == []


def test_unless_it_outweighs_what_was_there() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1))
    late = update(START + 2, v=2, ttl=5, expires_at=BEGIN + 5)
    assert state.told(late, at=6) == [("update", {"v": 1, "w": None}, {"v": None, "w": None}, ("v",))]


def test_a_marker_that_expires_takes_a_row_of_which_no_more_is_known() -> None:
    state = State()
    state.tell(insert(START + 1, v=1, ttl=5, expires_at=BEGIN + 5))
    assert state.expire(5) == [("expire", {"v": 1}, None, ("v",))]


def test_a_value_that_expires_leaves_a_row_of_which_no_more_is_known() -> None:
    """As if it had been set to null: what else there is of the row is not known."""
    state = State()
    state.tell(update(START + 1, v=1, ttl=5, expires_at=BEGIN + 5))
    assert state.expire(5) == [("update", {"v": 1}, {"v": None}, ("v",))]


def test_without_expirations_none_is_told() -> None:
    state = State(whole=True, expirations=False)
    state.tell(insert(START + 1, v=1, ttl=5, expires_at=BEGIN + 5))
    assert state.expire(9) == []
    assert state.told(insert(START + 2, v=2), at=9) == [("insert", None, {"v": 2, "w": None}, ("v",))]


def test_now_does_not_go_back() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, 1, v=1, ttl=5, expires_at=BEGIN + 5), at=6)
    state.tell(insert(START + 1, 2, v=1), at=7)
    (image,) = state.tell(insert(START + 1, 3, v=1, ttl=5, expires_at=BEGIN + 6), insert(START + 1, 4, v=1), at=2)
    assert image.seq == now(7) + 1


def forget(state: State, days: float, **read_past: float) -> int:
    read = dict.fromkeys(NODES, BEGIN + days * DAYS) | {n: BEGIN + d * DAYS for n, d in read_past.items()}
    told = state.merger.forget(now(days * DAYS), {node: int(second) for node, second in read.items()})
    assert told.done
    return told.facts


def test_a_tombstone_is_forgotten_when_it_is_older_than_gc_grace_seconds() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1))
    state.tell(delete(START + 2))
    assert forget(state, 9.9) == 0
    assert forget(state, 10.1) == 1
    assert state.rows() == {}


def test_not_before_every_node_was_read_past_it() -> None:
    state = State(whole=True)
    state.tell(delete(START + 2), at=5 * DAYS)
    assert forget(state, 20, b=14) == 0
    assert forget(state, 20, b=16) == 1


def test_nothing_is_forgotten_where_a_node_is_not_told_of() -> None:
    state = State(whole=True)
    state.tell(delete(START + 2))
    assert state.merger.forget(now(99 * DAYS), {"a": 2**40, "b": 2**40}).facts == 0


def test_an_expired_value_counts_from_when_it_expired() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1, ttl=5 * DAYS, expires_at=BEGIN + 5 * DAYS))
    state.expire(5 * DAYS)
    assert forget(state, 14.9) == 0
    assert forget(state, 15.1) == 2


def test_nothing_is_forgotten_before_it_was_told_that_it_has_expired() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1, ttl=5, expires_at=BEGIN + 5))
    assert forget(state, 11) == 0
    assert state.expire(11 * DAYS) == [("expire", {"v": 1, "w": None}, None, ("v",))]
    assert forget(state, 11) == 2


def test_without_expirations_it_is_forgotten_untold() -> None:
    state = State(whole=True, expirations=False)
    state.tell(insert(START + 1, v=1, ttl=5, expires_at=BEGIN + 5))
    assert forget(state, 11) == 2


@pytest.mark.parametrize("whole", [True, False])
def test_what_lives_stays(whole: bool) -> None:
    state = State(whole=whole)
    state.tell(insert(START + 1, 1, v=1))
    state.tell(insert(START + 1, 2, v=1))
    state.tell(delete(START + 2, 1))
    assert forget(state, 11) == 1
    assert len(state.rows()) == 2


def test_a_column_that_is_known_to_be_null_stays_known() -> None:
    state = State()
    state.tell(insert(START + 1, v=1, w=None))
    assert forget(state, 11) == 1
    assert state.told(update(START + 9, v=2), at=11 * DAYS) == [
        ("update", {"v": 1, "w": None}, {"v": 2, "w": None}, ("v",))
    ]
    assert forget(state, 99) == 0


def test_that_a_column_is_null_stays_known_where_a_range_was_deleted_beside_it() -> None:
    state = State()
    state.tell(update(START + 1, 3, v=None), delete_range(START + 1, 1, 2))
    assert forget(state, 11) == 2
    assert state.merger.known(ID, '{"k":1}', '{"x":3}').shown == '{"k":1,"x":3,"v":null}'


def test_what_stands_dead_beneath_a_tombstone_goes_with_it() -> None:
    """Node b's copy is kept for a TRUNCATE of node a; without the deletion it would be there again."""
    state = State(whole=True)
    state.tell(delete(START + 2))
    state.tell(insert(START + 1, v=1, node="b"), at=8 * DAYS)
    assert forget(state, 11) == 3
    assert state.rows() == {}


def test_so_does_what_stands_beneath_a_deletion_of_all_rows() -> None:
    state = State(whole=True)
    state.tell(delete_partition(START + 2))
    state.tell(insert(START + 1, v=1, node="b"), at=8 * DAYS)
    assert forget(state, 11) == 3
    assert state.rows() == {}


def test_that_a_row_was_deleted_whole_is_known_as_long_as_the_row_lives() -> None:
    state = State()
    state.tell(delete(START + 1), insert(START + 2, v=1))
    assert forget(state, 11) == 1
    assert state.told(update(START + 3, v=2), at=11 * DAYS) == [
        ("update", {"v": 1, "w": None}, {"v": 2, "w": None}, ("v",))
    ]


def test_what_comes_later_than_that_is_counted() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1), at=0)
    state.tell(delete(START + 2), at=0)
    forget(state, 11)
    (image,) = state.tell(insert(START + 1, v=1, node="b"), at=12 * DAYS)
    assert image.op == "insert"
    assert state.merger.late_facts == 2


def test_it_goes_on_where_it_stopped() -> None:
    state = State(whole=True)
    for k in range(5):
        state.tell({**delete(START + 1), "partition_key": f'{{"k":{k}}}'})
    read = dict.fromkeys(NODES, 2**40)
    told = [state.merger.forget(now(99 * DAYS), read, partitions=2) for _ in range(3)]
    assert [(each.partitions, each.done) for each in told] == [(2, False), (2, False), (1, True)]
