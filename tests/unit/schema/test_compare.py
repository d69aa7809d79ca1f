"""What a live server knows that the log has not shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailer.schema.compare import differences
from tailer.schema.cql_file import parse_cql
from tailer.schema.decode import deltas
from tailer.schema.follow import SchemaState
from tailer.schema.rows import SchemaDelta
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
    "dropped column": [gone("columns", ["t", "v"], 20), heading("t", ID_A, 20)],
    "renamed": [gone("columns", ["t", "ck"], 20), column("t", "c2", key("clustering", "int"), 20)],
    "type": [user_type("u", {"a": "int", "b": "text"}, 20)],
    "dropped table": drop("t", USED.keys(), 20),  # type: ignore[arg-type]
    "made again": [*drop("t", list(USED), 20), *create("t", ID_B, 30, SIMPLE)],
    "another": create("x", ID_B, 20, SIMPLE),
}


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


@pytest.mark.parametrize("name", ALTERS)
def test_the_differences_bring_a_state_up_to_the_server(name: str) -> None:
    server = snapshot(CREATE, ALTERS[name])
    ours = state(CREATE)
    found = differences(ours, server)
    assert bool(found) == (name != "nothing")
    ours.apply(found)
    assert live(ours) == live(state(CREATE, ALTERS[name]))
    assert differences(ours, server) == []


@pytest.mark.parametrize("name", ALTERS)
def test_the_log_showing_it_later_changes_nothing_more(name: str) -> None:
    ours = state(CREATE)
    ours.apply(differences(ours, snapshot(CREATE, ALTERS[name])))
    before = live(ours)
    ours.apply(ALTERS[name])
    assert live(ours) == before


def test_a_base_that_the_server_has_not_any_more_is_dropped() -> None:
    ours = state(parse_cql("CREATE TABLE ks.t (id int PRIMARY KEY) WITH ID = 0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a;"))
    ours.apply(differences(ours, []))
    assert ours.definitions[ID_A].dropped


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
    ours.apply(differences(ours, [*others, *server]))
    assert not table.cdc
    assert ours.definitions[table.id].cdc
