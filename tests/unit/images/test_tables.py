"""Tables: their definitions as they change, what was lost, what is known of a row, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tailer.errors import DefinitionError
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.schema.told import told_text
from tests.unit.images.told import (
    DATA,
    ID,
    SECOND,
    SHOWN_ID,
    START,
    State,
    change,
    definition,
    delete,
    delete_range,
    insert,
    now,
    short,
    update,
)

S, V, W = DATA
NEW = Column("y", "regular", "int")
GONE = Column("v", "regular", "int", dropped=True, dropped_time=START + 50)


def test_the_first_definition_gives_nothing_and_the_same_again_neither() -> None:
    state = State(whole=True)
    assert state.define(definition(), at=1) == []


def test_the_chain_goes_on_in_the_newer_columns() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1))
    (image,) = state.define(definition(S, V, W, NEW), at=2)
    assert (image.op, image.changed, image.token, image.before, image.after) == ("schema", ("y",), None, None, None)
    assert state.told(update(START + 2, w=1)) == [
        ("update", {"v": 1, "w": None, "y": None}, {"v": 1, "w": 1, "y": None}, ("w",))
    ]


def test_a_row_that_lived_by_a_dropped_column_alone_is_deleted() -> None:
    state = State(whole=True)
    state.tell(update(START + 1, 1, v=1))
    state.tell(update(START + 1, 2, v=1), update(START + 1, 2, w=1))
    schema, row, other = state.define(definition(S, GONE, W), at=2)
    assert schema.changed == ("v",)
    assert (other.op, other.before, other.after, other.changed) == (
        "update",
        '{"k":1,"x":2,"v":1,"w":1}',
        '{"k":1,"x":2,"w":1}',
        ("v",),
    )
    assert (row.op, row.clustering, row.before, row.after) == (
        "delete",
        '{"x":1}',
        '{"k":1,"x":1,"v":1,"w":null}',
        None,
    )
    assert state.told(update(START + 2, 2, w=2)) == [("update", {"w": 1}, {"w": 2}, ("w",))]


def test_what_had_expired_when_a_column_is_dropped_is_told_before() -> None:
    """By the other definition nobody would see any more that it was there."""
    state = State(whole=True)
    state.tell(insert(START + 1, v=1, w=1, ttl=5, expires_at=now(5) // SECOND))
    row, schema = state.define(definition(S, GONE, W), at=9)
    assert (row.op, row.after, schema.op) == ("expire", None, "schema")
    assert row.before == '{"k":1,"x":1,"v":1,"w":1}'
    assert state.expire(10) == []
    assert state.told(insert(now(9), w=2), at=11) == [("insert", None, {"w": 2}, ("w",))]


def test_a_column_that_is_there_again_does_not_have_what_was_void() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1))
    state.define(definition(S, GONE, W), at=2)
    back = msgspec.structs.replace(GONE, dropped=False)
    state.define(definition(S, back, W), at=3)
    assert state.tell(update(START + 40, v=1)) == []
    assert state.told(update(START + 60, v=7)) == [("update", {"v": None, "w": None}, {"v": 7, "w": None}, ("v",))]


def test_a_value_that_the_drop_did_not_cover_comes_back_with_the_column() -> None:
    """DROP v USING TIMESTAMP, and ADD v: the value is newer than the drop."""
    state = State(whole=True)
    state.tell(insert(START + 1, 1, v=1, w=1), insert(START + 90, 2, v=2, w=2), update(START + 90, 3, v=3))
    state.define(definition(S, GONE, W), at=2)
    back = msgspec.structs.replace(GONE, dropped=False)
    _, two, three = state.define(definition(S, back, W), at=3)
    assert (two.op, two.before, two.after) == ("update", '{"k":1,"x":2,"w":2}', '{"k":1,"x":2,"v":2,"w":2}')
    assert (three.op, three.before, three.after) == ("insert", None, '{"k":1,"x":3,"v":3,"w":null}')


def test_a_value_of_a_type_has_its_new_fields() -> None:
    def of(*fields: str) -> TableDefinition:
        place = tuple(TypeField(name, "int") for name in fields)
        return definition(S, Column("v", "regular", "frozen<place>"), W, types={"place": place})

    state = State(define=False)
    state.define(of("a"), created=True)
    state.tell(insert(START + 1, 1, v={"a": 1}, w=1), insert(START + 1, 2, w=1))
    schema, row = state.define(of("a", "b"), at=2)
    assert (schema.changed, row.op, row.changed) == (("v",), "update", ("v",))
    assert (row.before, row.after) == (
        '{"k":1,"x":1,"v":{"a":1},"w":1}',
        '{"k":1,"x":1,"v":{"a":1,"b":null},"w":1}',
    )


def test_definitions_come_with_entries_too_and_an_older_one_changes_nothing() -> None:
    state = State(whole=True)
    older, newer = ({**schema_row(each)} for each in (definition(), definition(S, V, W, NEW)))
    (image,) = state.tell(newer)
    assert (image.op, image.node, image.event_id) == ("schema", "a", "a:1:10:0")
    assert state.tell({**newer, "node": "b"}) == []
    assert state.tell({**older, "node": "c"}) == []


def schema_row(newest: Any) -> dict[str, Any]:
    text = None if newest is None else msgspec.json.encode(newest).decode()
    return change("schema", 0, None) | {"columns": text, "partition_key": None, "token": None, "write_ts": None}


@pytest.mark.parametrize("by_row", [True, False])
def test_a_table_that_is_dropped_leaves_nothing(by_row: bool) -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1, ttl=5, expires_at=START // 1_000_000 + 5))
    (image,) = state.tell(schema_row(None)) if by_row else state.merger.dropped(SHOWN_ID, now(2))
    assert (image.op, image.table_id, image.partition_key) == ("drop", SHOWN_ID, None)
    assert state.rows() == {}
    assert state.expire(9) == []
    assert state.tell(insert(START + 2, v=1, node="b")) == []
    assert state.merger.dropped(ID, now(3)) == []


def test_after_a_loss_nothing_is_known_whole() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1))
    state.merger.lost([ID], now(2))
    (image,) = state.tell(update(START + 2, v=2))
    assert short([image]) == [("update", {"v": 1}, {"v": 2}, ("v",))]
    assert not image.complete
    assert state.told(insert(START + 3, 2, v=1)) == [("upsert", None, {"v": 1}, ("v",))]
    # A deletion of before the loss does not tell what was written since.
    assert state.told(delete(START + 4), insert(START + 5, v=1)) == [("update", {"v": 2}, {"v": 1}, ("v", "w"))]
    assert state.told(delete(now(3)), insert(now(3) + 1, v=1)) == [("update", {"v": 1}, {"v": 1, "w": None}, ("w",))]


def test_nor_what_a_deletion_told_before() -> None:
    state = State()
    state.tell(delete(START + 1), insert(START + 2, v=1))
    state.merger.lost(None, now(2))
    assert state.told(update(START + 3, v=2)) == [("update", {"v": 1}, {"v": 2}, ("v",))]


def test_nor_of_a_table_that_is_defined_behind_the_loss() -> None:
    state = State(define=False)
    state.merger.lost(None, now(2))
    state.define(definition(), at=3)
    (early,) = state.tell(delete(now(1)), at=4)
    (late,) = state.tell(delete(now(2)), at=5)
    assert (early.complete, late.complete) == (False, True)


def test_nor_of_a_table_that_was_not_captured_for_a_time() -> None:
    state = State(whole=True)
    state.tell(insert(START + 1, v=1))
    state.define(msgspec.structs.replace(definition(), cdc=False), at=2)
    state.define(definition(), at=3)
    assert state.told(update(now(4), v=2), at=4) == [("update", {"v": 1}, {"v": 2}, ("v",))]
    (image,) = state.tell(delete(now(2) + 1), at=5)
    assert not image.complete


def test_a_table_that_was_captured_later_than_created_is_not_whole() -> None:
    state = State(whole=False)
    assert state.told(insert(START + 1, v=1))[0][0] == "upsert"


def test_nor_one_whose_capture_begins_with_the_first_definition_that_is_told() -> None:
    state = State(define=False)
    text = told_text(definition(), capture_begins=True)
    state.tell(change("schema", 0, None, partition_key=None) | {"columns": text}, at=5)
    state.define(definition(), created=True, at=6)
    assert [each[0] for each in state.told(insert(START + 1, v=1), at=7)] == ["upsert"]
    (early,) = state.tell(delete(now(4)), at=8)
    (late,) = state.tell(delete(now(6)), at=9)
    assert (early.complete, late.complete) == (False, True)


def test_what_is_known_of_a_row() -> None:
    state = State()
    state.tell(insert(START + 1, v=1, node="a"), at=3)
    state.tell(insert(START + 1, v=1, node="c"), at=4)
    state.tell(update(START + 2, v=2, node="b"), at=5)
    known = state.merger.known(SHOWN_ID, '{"k":1}', '{"x":1}')
    assert (known.lives, known.complete, known.shown) == (True, False, '{"k":1,"x":1,"v":2}')
    told = [(fact.kind, fact.column, fact.write_ts - START, fact.nodes, fact.counts) for fact in known.facts]
    assert told == [
        ("live", "", 1, ("a", "c"), True),
        ("cell", "v", 1, ("a", "c"), False),
        ("cell", "v", 2, ("b",), True),
    ]
    assert {fact.arrival for fact in known.facts} == {START // 1_000_000 + 3, START // 1_000_000 + 5}
    nothing = state.merger.known(ID, '{"k":1}', '{"x":9}')
    assert (nothing.lives, nothing.told, nothing.shown, nothing.facts) == (False, False, None, ())
    state.tell(delete(START + 9), at=6)
    gone = state.merger.known(ID, '{"k":1}', '{"x":1}')
    assert (gone.lives, gone.told, gone.shown) == (False, True, None)


def test_what_a_deletion_tells_of_rows_that_nobody_saw() -> None:
    state = State()
    state.tell(delete_range(START - 9, 2, 5))
    for x, told in ((1, False), (3, True)):
        assert state.merger.known(ID, '{"k":1}', f'{{"x":{x}}}').told == told


def test_what_is_known_of_a_row_whose_time_is_over() -> None:
    state = State()
    state.tell(insert(START + 1, v=1, ttl=10, expires_at=now(10) // SECOND))
    for at, lives in ((9, True), (10, False)):
        known = state.merger.known(ID, '{"k":1}', '{"x":1}', now(at))
        assert (known.lives, known.told) == (lives, True)


def test_a_change_of_an_unknown_table_is_refused() -> None:
    state = State()
    with pytest.raises(DefinitionError, match="no definition is known"):
        state.tell(insert(START + 1) | {"table_id": "00000000-0000-0000-0000-00000000000f"})
    with pytest.raises(DefinitionError, match="no key of ks"):
        state.merger.known(ID, '{"k":1,"l":1}', None)


def test_a_table_without_clustering_has_one_row_a_partition() -> None:
    state = State(V, keys=(Column("k", "partition_key", "int", 0),), whole=True)
    (image,) = state.tell({**insert(START + 1, v=1), "clustering": None})
    assert (image.clustering, image.after) == (None, '{"k":1,"v":1}')
    assert short(state.tell(change("delete_partition", START + 2, None))) == [("delete", {"v": 1}, None, ("v",))]
