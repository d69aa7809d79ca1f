"""A table is dropped and created again with its id, and the log of one node lacks the DROP: no change is lost."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tailer.images import Image
from tailer.images.tables import definitions_in
from tailer.rebuild import Table
from tailer.schema.model import Column, TableDefinition, TypeField
from tests.unit.images.told import (
    DATA,
    ID,
    START,
    State,
    bare,
    change,
    definition,
    delete,
    insert,
    now,
    truncate,
    update,
)

S, V, W = DATA
END = now(3)
"""The timestamp of the DROP."""


def schema_row(node: str, newest: TableDefinition | None = None, ts: int | None = None) -> dict[str, Any]:
    """A DROP of the time `ts`, or a definition; with `ts` it is a CREATE of that time."""
    text = None if newest is None else msgspec.json.encode(newest).decode()
    row = change("schema", 0, None, node)
    return row | {"columns": text, "partition_key": None, "token": None, "write_ts": ts}


def told(images: list[Image]) -> list[tuple[Any, ...]]:
    return [(image.op, bare(image.after), image.complete) for image in images]


def dropped(*nodes: str) -> State:
    """A table with one row, of which a's log has shown the DROP."""
    state = State(whole=True, nodes=nodes or ("a", "b"))
    state.tell(insert(START + 1, v=1))
    assert [image.op for image in state.tell(schema_row("a", ts=END), at=4)] == ["drop"]
    return state


def test_what_is_newer_than_the_drop_is_of_the_next_incarnation() -> None:
    state = dropped()
    assert state.tell(insert(END, 2, node="b", v=2), at=5) == []
    assert told(state.tell(insert(END + 1, 3, node="b", v=3), at=5)) == [("upsert", {"v": 3}, False)]
    assert told(state.tell(insert(END, 4, node="b", v=4), insert(END + 2, 5, node="b", v=5), at=6)) == [
        ("upsert", {"v": 5}, False)
    ]
    state.tell(schema_row("a", definition()), at=7)
    assert told(state.tell(update(END + 3, 3, v=4), at=8)) == [("update", {"v": 4}, False)]


def test_so_is_a_deletion() -> None:
    """The other node logged the INSERT before it, and the deletion not at all."""
    state = dropped()
    assert [image.op for image in state.tell(delete(END + 9, node="b"), at=5)] == ["delete"]
    state.tell(schema_row("a", definition()), at=6)
    assert state.tell(insert(END + 2, v=3), at=7) == []


def test_what_the_node_that_showed_the_drop_writes_behind_it_is_nothing() -> None:
    state = dropped()
    assert state.tell(insert(END + 1, 2, v=2), at=5) == []


def test_the_table_is_known_whole_once_all_nodes_have_shown_the_create() -> None:
    state = dropped()
    assert told(state.tell(schema_row("b", definition(), END + 5), insert(END + 1, 3, node="b", v=3), at=5)) == [
        ("insert", {"v": 3, "w": None}, True)
    ]
    assert state.tell(schema_row("a", definition(), END + 5), at=6) == []
    assert told(state.tell(insert(START + 9, 4, v=4), at=7)) == [("insert", {"v": 4, "w": None}, True)]


def test_a_supposed_incarnation_becomes_whole_too() -> None:
    state = dropped()
    state.tell(insert(END + 9, 3, node="b", v=3), at=5)
    assert state.tell(schema_row("a", definition(), END + 5), at=6) == []
    # What b logged before its CREATE is of the ended table.
    images = state.tell(schema_row("b", definition(), END + 5), insert(END + 2, 4, node="b", v=4), at=7)
    assert told(images) == [("delete", None, False), ("insert", {"v": 4, "w": None}, True)]


def test_a_create_shows_that_the_earlier_incarnation_is_over() -> None:
    """a's CREATE came first; b's CREATE of the same time is no second one."""
    state = dropped("a", "b", "c")
    state.tell(schema_row("a", definition(), END + 5), insert(END + 6, 2, v=2), at=5)
    assert told(state.tell(insert(END + 7, 3, node="b", v=3), at=6)) == [("upsert", {"v": 3}, False)]
    images = state.tell(schema_row("b", ts=END + 4), schema_row("b", definition(), END + 5), at=7)
    assert told(images) == [("delete", None, False)]
    assert told(state.tell(update(START, 2, node="b", w=1), at=8)) == [("update", {"v": 2, "w": 1}, False)]


def test_rows_of_the_future_end_with_the_drop_of_their_node() -> None:
    """They were of the ended table: neither log shows a CREATE."""
    state = dropped("a", "b", "c")
    assert told(state.tell(insert(END + 9, 2, node="b", v=2), at=5)) == [("upsert", {"v": 2}, False)]
    assert told(state.tell(schema_row("b", ts=END), at=6)) == [("delete", None, False)]
    assert [image.op for image in state.tell(schema_row("c", ts=END), at=7)] == ["drop"]
    assert state.rows() == {}
    assert state.tell(insert(END + 9, 2, node="b", v=2), at=8) == []
    state.tell(schema_row("a", definition()), at=9)
    assert told(state.tell(insert(END + 10, 3, node="c", v=3), at=9)) == [("insert", {"v": 3, "w": None}, True)]


def test_the_log_that_showed_the_drop_tells_what_the_table_is() -> None:
    """It was supposed to have the columns of before; a row of the future has a value of one that is gone."""
    state = dropped()
    state.tell(insert(END + 9, 2, node="b", v=2, w=3), insert(END + 8, 3, node="b", v=3), at=5)
    images = state.tell(schema_row("a", definition(S, V)), at=6)
    assert (images[0].op, images[0].changed) == ("schema", ("w",))
    found = state.merger.table(ID)
    assert found is not None
    assert found.facts.table.definition == definition(S, V)
    assert told(state.tell(update(END + 10, 3, v=4), at=7)) == [("update", {"v": 4}, False)]
    assert told(state.tell(update(END + 11, 2, v=5), at=7)) == [("update", {"v": 5}, False)]


def test_a_definition_that_the_ended_table_never_had_begins_the_next_incarnation() -> None:
    state = dropped()
    other = definition(S, V, Column("y", "regular", "text"))
    assert state.tell(schema_row("b", other), at=5) == []
    assert told(state.tell(insert(END + 1, 3, node="b", y="z"), at=6)) == [("upsert", {"y": "z"}, False)]


@pytest.mark.parametrize("defined", [False, True])
def test_where_another_table_has_the_name_by_now_no_next_incarnation_is_supposed(defined: bool) -> None:
    """A row of the future, from a node that is read late: kept tables would take it for what has the name now."""
    state = dropped()
    state.define(msgspec.structs.replace(definition(), id="0" * 31 + "2"))
    if defined:
        assert state.tell(schema_row("b", definition(S, V, Column("y", "regular", "text"))), at=5) == []
    assert state.tell(insert(END + 9, 3, node="b", v=3), at=5) == []
    found = state.merger.table(ID)
    assert found is not None
    assert found.facts.dropped
    # Its CREATE begins it.
    state.merger.dropped("0" * 31 + "2", now(6))
    state.tell(schema_row("a", definition(), END + 20), at=6)
    assert told(state.tell(insert(END + 21, 4, v=4), at=6)) == [("upsert", {"v": 4}, False)]


def test_a_later_drop_ends_what_only_its_own_log_has_shown() -> None:
    """a lags behind two lives that c's log shows: neither its second CREATE nor that DROP is of the third one."""
    state = dropped("a", "c")
    assert state.tell(schema_row("c", ts=END + 20), at=5) == []
    state.tell(schema_row("c", definition(), END + 30), insert(END + 31, 3, node="c", v=3), at=6)
    assert state.tell(schema_row("a", definition(), END + 10), insert(END + 11, 2, v=2), at=7) == []
    assert state.tell(schema_row("a", ts=END + 20), at=8) == []
    state.tell(schema_row("a", definition(), END + 30), at=9)
    images = state.tell(update(END + 32, 3, v=4), at=9)
    assert [(image.op, bare(image.before)["v"], bare(image.after)["v"]) for image in images] == [("update", 3, 4)]


@pytest.mark.parametrize("what", ["truncate", "dropped by its keeper"])
def test_what_begins_nothing(what: str) -> None:
    if what == "truncate":
        state, row = dropped(), truncate(END + 5, "b")
    else:
        state, row = State(), insert(now(9), node="b", v=1)
        state.merger.dropped(ID, now(3))
    assert state.tell(row, at=5) == []
    found = state.merger.table(ID)
    assert found is not None
    assert found.facts.dropped


def with_other_key() -> TableDefinition:
    columns = tuple(msgspec.structs.replace(c, type="text") if c.name == "k" else c for c in definition().columns)
    return msgspec.structs.replace(definition(), columns=columns)


def test_a_definition_with_other_key_types_is_of_the_next_incarnation() -> None:
    """No statement but DROP and CREATE changes them: rows of before cannot be read by it."""
    state = State(whole=True, nodes=("a",))
    state.tell(insert(START + 1, v=1))
    assert [image.op for image in state.tell(schema_row("a", with_other_key()), at=4)] == ["drop"]
    assert state.rows() == {}


def test_images_of_the_ended_table_have_lower_numbers_than_the_definition_of_the_next() -> None:
    """A kept table reads each image by the definition that its number is behind."""
    state = State(whole=True, nodes=("a",))
    before = state.tell(*(insert(START + 1, x, v=1) for x in range(9)), at=4)
    (drop,) = state.tell(schema_row("a", with_other_key()), at=4)
    text = json.dumps({"k": "one"})
    (after,) = state.tell(insert(START + 2, v=1) | {"partition_key": text}, at=4)
    *_, (number, newest) = definitions_in(state.store, ID)
    assert newest == with_other_key()
    assert max(image.seq for image in before) < drop.seq < number <= after.seq


def test_a_node_that_is_behind_by_two_incarnations_begins_none() -> None:
    """It shows the first one's definition when the second one, which had another key, is dropped already."""
    state = dropped()
    state.tell(schema_row("b", ts=END), at=4)
    state.tell(schema_row("a", with_other_key(), END + 5), at=5)
    assert [image.op for image in state.tell(schema_row("a", ts=END + 7), at=6)] == ["drop"]
    assert state.tell(schema_row("b", definition()), at=7) == []
    assert [image.op for image in state.tell(schema_row("a", with_other_key(), END + 9), at=8)] == []


def with_type(*fields: str) -> TableDefinition:
    """With a column of a user-defined type that has these fields."""
    return definition(Column("c", "regular", "u"), types={"u": tuple(TypeField(name, "int") for name in fields)})


def fields(ts: int, x: int, **put: int) -> dict[str, Any]:
    """b's UPDATE of fields of that column."""
    return update(ts, x, node="b", c={"replaced": False, "put": put, "removed": []})


def test_the_type_was_created_again_with_fewer_fields() -> None:
    """b is behind, and logs a field that the ended table's type had."""
    state = State(Column("c", "regular", "u"), whole=True, nodes=("a", "b"), types=with_type("p", "q", "r").types)
    state.tell(fields(START + 1, 1, p=1, r=3))
    assert [image.op for image in state.tell(schema_row("a", ts=END), at=4)] == ["drop"]
    state.tell(schema_row("a", with_type("p", "q"), END + 5), at=5)
    known = Table.of(with_type("p", "q"), [with_type("p", "q", "r")])
    assert state.merger.define(known, created=False, cdc=True, now_us=now(5), node="a") == []
    assert state.tell(fields(END - 1, 2, r=3), at=6) == []
    assert told(state.tell(fields(END + 6, 2, q=2), at=7)) == [("upsert", {"c": {"p": None, "q": 2}}, False)]


def test_a_supposed_table_has_values_of_fields_that_its_create_does_not_have() -> None:
    """They are of the ended table, with timestamps of the future."""
    state = State(Column("c", "regular", "u"), whole=True, nodes=("a", "b"), types=with_type("p", "q", "r").types)
    state.tell(fields(START + 1, 1, p=1, r=3))
    assert [image.op for image in state.tell(schema_row("a", ts=END), at=4)] == ["drop"]
    expected = {"c": {"p": 1, "q": None, "r": 3}}
    assert told(state.tell(fields(END + 9, 2, p=1, r=3), at=5)) == [("upsert", expected, False)]
    state.tell(schema_row("a", with_type("p", "q")), at=6)
    assert told(state.tell(fields(END + 10, 2, q=2), at=7)) == [("update", {"c": {"p": 1, "q": 2}}, False)]


@pytest.mark.parametrize("turned", [False, True])
def test_each_node_shows_a_column_that_the_others_lack(turned: bool) -> None:
    """b's log lacks the ADD of w, which its server has; a's shows the ADD of v first: rows of both have images."""
    state = State(S, whole=True, nodes=("a", "b"))
    rows = [schema_row("a", definition(S, V)), schema_row("b", definition(S, W))]
    for row in reversed(rows) if turned else rows:
        state.tell(row, at=3)
    assert told(state.tell(insert(START + 1, v=1), at=4))[-1][:2] == ("insert", {"v": 1, "w": None})
    assert told(state.tell(update(START + 2, node="b", w=2), at=4))[-1][:2] == ("update", {"v": 1, "w": 2})


def test_a_drop_from_before_the_create_that_is_known_ends_no_table() -> None:
    """b's log begins behind the first incarnation, and is read first: nothing says yet that there was one."""
    state = State(define=False, nodes=("a", "b"))
    state.tell(schema_row("b", definition(), END + 5), insert(END + 6, 2, node="b", v=2), at=4)
    state.tell(schema_row("a", definition(), START), insert(START + 1, 1, v=1), at=5)
    assert told(state.tell(schema_row("a", ts=END), at=6)) == [("delete", None, False)]
    state.tell(schema_row("a", definition(), END + 5), at=7)
    assert told(state.tell(update(END + 7, 2, w=3), at=8)) == [("update", {"v": 2, "w": 3}, False)]
    assert [image.op for image in state.tell(schema_row("a", ts=END + 9), at=9)] == ["drop"]


def test_an_earlier_create_with_another_key_ends_no_table() -> None:
    """Likewise: what a logged before its DROP is of a table that is not known any more."""
    state = State(define=False, nodes=("a", "b"))
    state.tell(schema_row("b", definition(), END + 5), insert(END + 6, 2, node="b", v=2), at=4)
    assert state.tell(schema_row("a", with_other_key(), START), at=5) == []
    older = Table.of(with_other_key())
    assert state.merger.define(older, created=True, cdc=True, now_us=now(5), node="a") == []
    text = json.dumps({"k": "one"})
    assert state.tell(insert(START + 1, v=1) | {"partition_key": text}, at=5) == []
    assert state.tell(schema_row("a", ts=END), at=6) == []
    state.tell(schema_row("a", definition(), END + 5), at=7)
    assert told(state.tell(update(END + 7, 2, w=3), at=8)) == [("update", {"v": 2, "w": 3}, False)]
