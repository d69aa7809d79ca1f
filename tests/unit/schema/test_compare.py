"""What a live server knows that the log has not shown."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from tailer.schema.compare import additions, created_again
from tailer.schema.decode import deltas
from tailer.schema.follow import SchemaState
from tailer.schema.rows import SchemaDelta, put
from tests.unit.schema.made import ID_A, ID_B, SIMPLE, column, create, data, drop, gone, heading, key, user_type
from tests.unit.schema.recorded import schema_mutations


def state(*changes: list[SchemaDelta]) -> SchemaState:
    made = SchemaState()
    for change in changes:
        made.apply(change)
    return made


USED = {**SIMPLE, "u": data("frozen<u>"), "ck": key("clustering", "int")}
CREATE = [user_type("u", {"a": "int"}, 5), *create("t", ID_A, 10, USED)]
ALTERS = {
    "nothing": [],
    "cdc": [heading("t", ID_A, 20, cdc=False)],
    "added": [column("t", "w", data("int"), 20), heading("t", ID_A, 20)],
    "dropped column": [
        gone("columns", ["t", "v"], 20),
        put("dropped_columns", "ks", ["t", "v"], {"kind": "regular", "type": "text", "dropped_time": 19}, 20),
        heading("t", ID_A, 20),
    ],
    "renamed": [gone("columns", ["t", "ck"], 20), column("t", "c2", key("clustering", "int"), 20)],
    "type": [user_type("u", {"a": "int", "b": "text"}, 20)],
    "dropped table": drop("t", USED.keys(), 20),  # type: ignore[arg-type]
    "made again": [*drop("t", list(USED), 20), *create("t", ID_B, 30, SIMPLE)],
    "another": create("x", ID_B, 20, SIMPLE),
}


ABSENT = ("dropped table",)
"""What a server shows by absence alone, which proves nothing."""


def snapshot(*changes: list[SchemaDelta]) -> list[SchemaDelta]:
    """What a server answers: the rows that live, with their timestamps."""
    rows: dict[tuple[str, tuple[str, ...]], SchemaDelta] = {}
    for delta in (delta for change in changes for delta in change):
        place = (delta.table, delta.clustering)
        if delta.cells:
            rows[place] = SchemaDelta(delta.table, delta.keyspace, delta.clustering, delta.cells, delta.liveness)
        else:
            rows.pop(place, None)
    return list(rows.values())


def live(held: SchemaState) -> dict[str, object]:
    return {
        id: ([c for c in table.columns if not c.dropped], table.cdc, table.types)
        for id, table in held.definitions.items()
        if not table.dropped
    }


def brought_up(ours: SchemaState, server: list[SchemaDelta]) -> list[SchemaDelta]:
    """The rows that a state takes of a server's response."""
    found = additions(copy.deepcopy(ours), server)
    ours.apply(found, response=True)
    return found


@pytest.mark.parametrize("name", ALTERS)
def test_the_additions_bring_a_state_up_to_the_server(name: str) -> None:
    server = snapshot(CREATE, ALTERS[name])
    ours = state(CREATE)
    found = brought_up(ours, server)
    assert bool(found) == (name not in ("nothing", *ABSENT))
    assert live(ours) == (live(state(CREATE)) if name in ABSENT else live(state(CREATE, ALTERS[name])))
    assert brought_up(ours, server) == []


@pytest.mark.parametrize("name", ALTERS)
def test_the_log_showing_it_later_comes_to_the_same(name: str) -> None:
    ours = state(CREATE)
    brought_up(ours, snapshot(CREATE, ALTERS[name]))
    ours.apply(ALTERS[name])
    assert live(ours) == live(state(CREATE, ALTERS[name]))


@pytest.mark.parametrize("name", [name for name in ALTERS if name not in ("nothing", "another")])
def test_a_response_that_is_older_than_the_state_changes_nothing(name: str) -> None:
    """A2: the server was asked before it executed what the log shows by now."""
    ours = state(CREATE, ALTERS[name])
    assert brought_up(ours, snapshot(CREATE)) == []
    assert live(ours) == live(state(CREATE, ALTERS[name]))


def test_a_table_that_the_response_lacks_is_not_dropped() -> None:
    ours = state(CREATE, ALTERS["another"])
    assert brought_up(ours, snapshot(CREATE)) == []
    assert not ours.definitions[ID_B].dropped


@pytest.mark.parametrize("first", ["columns", "dropped_columns"])
def test_a_drop_decides_by_its_timestamp_whatever_else_the_response_has(first: str) -> None:
    """A3: a column and its drop in one state are no column that was added again."""
    rows = [
        column("t", "v", data("text"), 10),
        put("dropped_columns", "ks", ["t", "v"], {"kind": "regular", "type": "text", "dropped_time": 15}, 20),
    ]
    ours = state(CREATE)
    ours.apply(rows if first == "columns" else rows[::-1], response=True)
    (v,) = [each for each in ours.definitions[ID_A].columns if each.name == "v"]
    assert (v.dropped, v.dropped_time, v.added_time) == (True, 15, None)
    ours.apply([column("t", "v", data("int"), 30)])
    (v,) = [each for each in ours.definitions[ID_A].columns if each.name == "v"]
    assert (v.dropped, v.dropped_time, v.added_time, v.type) == (False, 15, 30, "int")


def test_a_recorded_alter_that_the_log_lost_is_found(sets_root: Path) -> None:
    """50-crash-gap: app.a has cdc = false in the log and true on the server."""
    ours = SchemaState()
    rows = [deltas(rows) for _, rows in schema_mutations(sets_root / "50-crash-gap")]
    for change in rows:
        ours.apply(change)
    table = next(held for held in ours.definitions.values() if held.name == "app.a")
    heading = next(
        delta for change in rows for delta in change if delta.table == "tables" and delta.clustering == ("a",)
    )
    newer = {name: (2**60, True if name == "cdc" else value) for name, (_, value) in heading.cells.items()}
    server = [delta for change in rows for delta in change if delta.clustering[:1] == ("a",)]
    server.append(SchemaDelta("tables", "app", ("a",), newer, 2**60))
    others = [delta for change in rows for delta in change if delta.keyspace != "app"]
    brought_up(ours, [*others, *server])
    assert not table.cdc
    assert ours.definitions[table.id].cdc


def test_a_table_whose_columns_all_use_an_altered_type_is_not_created_again() -> None:
    """ALTER TYPE writes each of them again. With one of another type they would not all be newer."""
    fields = {"pk": key("partition_key", "frozen<u>"), "v": data("frozen<list<u>>")}
    for columns, again in ((fields, False), (SIMPLE, True)):
        known = state([user_type("u", {"a": "int"}, 5), *create("t", ID_A, 10, columns)])
        response = [column("t", name, values, 30) for name, values in columns.items()]
        response += [heading("t", ID_A, 30, replaces=False), user_type("u", {"a": "int", "b": "int"}, 30)]
        assert created_again(known, response) == ({ID_A: 29} if again else {})


def test_a_type_that_no_table_uses_yet_is_added() -> None:
    """The log lacks its CREATE, and shows a column of it further on."""
    made = user_type("u", {"a": "int"}, 20)
    known = state(create("t", ID_A, 10, SIMPLE))
    assert additions(known, [made]) == [made]
    assert additions(known, [made]) == [], "it is known by now"
    altered = user_type("u", {"a": "int", "b": "int"}, 30)
    assert additions(known, [altered]) == [altered]
