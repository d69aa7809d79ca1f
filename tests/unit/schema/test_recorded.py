"""The server's own `system_schema` changes, merged, against what the same server described at the end."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tailer.definitions.history import DefinitionHistory
from tailer.schema.cql_file import read_cql
from tailer.schema.decode import deltas
from tailer.schema.follow import SchemaState
from tailer.schema.model import Column, TableDefinition
from tests.helpers.sets import CASES, FRAMED, PLAIN, STAGES
from tests.unit.schema.recorded import schema_mutations

SETS = sorted({*PLAIN, *FRAMED, *STAGES})
SERVERS_OWN = ("system_auth", "system_distributed", "system_traces")

LOST_ALTER = {"50-crash-gap": "app.a"}
"""STAGES.md: the ALTER … WITH cdc = true of app.a was in a segment that the server removed."""


def followed(folder: Path) -> DefinitionHistory:
    history = DefinitionHistory()
    for at, rows in schema_mutations(folder):
        found = deltas(rows)
        if found:
            history.add(at, found)
    return history


def described(folder: Path) -> SchemaState:
    state = SchemaState()
    state.apply(read_cql(folder / "schema.cql"))
    return state


def comparable(definition: TableDefinition) -> TableDefinition:
    """Without what each side knows in its own way: a dropped column's type, its time beyond milliseconds, and when one
    was added again."""
    return msgspec.structs.replace(definition, columns=tuple(map(_comparable, definition.columns)))


def _comparable(column: Column) -> Column:
    time = column.dropped_time // 1000 if column.dropped_time is not None else None
    return msgspec.structs.replace(
        column, type="" if column.dropped else column.type, dropped_time=time, added_time=None
    )


@pytest.mark.parametrize("name", SETS)
def test_the_log_s_changes_end_where_the_server_s_description_stands(sets_root: Path, name: str) -> None:
    history = followed(sets_root / name)
    log = {
        id: comparable(held)
        for id, held in history.state.definitions.items()
        if not held.dropped and held.keyspace not in SERVERS_OWN
    }
    file = {id: comparable(held) for id, held in described(sets_root / name).definitions.items()}
    assert log.keys() == file.keys()
    different = {file[id].name for id in file if log[id] != file[id]}
    assert different == {LOST_ALTER[name]} if name in LOST_ALTER else different == set()


@pytest.mark.parametrize("name", SETS)
def test_the_log_tells_how_long_deletions_are_kept(sets_root: Path, name: str) -> None:
    state = followed(sets_root / name).state
    user = {id for id, held in state.definitions.items() if held.keyspace not in SERVERS_OWN}
    assert {state.gc_grace[id] for id in user} == {864_000}, "the server's default: no set says otherwise"


@pytest.mark.parametrize("name", CASES)
def test_the_recorded_alters_are_seen_at_their_positions(sets_root: Path, name: str) -> None:
    history = followed(sets_root / name)
    by_name = {"altered": [], "altered_type": [], "toggled": [], "dropped": [], "recreated": []}
    for event in history.events:
        for held in event.changed.values():
            if held.keyspace == "cdc" and held.table in by_name:
                by_name[held.table].append(held)
    assert [[c.name for c in held.columns if not c.dropped] for held in by_name["altered"]] == [
        ["id", "ck", "s", "a", "b", "c"],
        ["id", "ck", "s", "a", "b", "c", "d"],
        ["id", "ck", "f", "s", "a", "b", "c", "d", "e"],
        ["id", "ck", "f", "s", "a", "c", "d", "e"],
        ["id", "ck", "f", "a", "d", "e"],
        ["id", "ck", "f", "a", "b", "d", "e"],
        ["id", "clus", "f", "a", "b", "d", "e"],
    ]
    assert [[field.name for field in held.types["evolving"]] for held in by_name["altered_type"]] == [
        ["a", "b"],
        ["a", "b", "c"],
        ["a", "bb", "c"],
        ["a", "bb", "c"],
    ]
    gone = by_name["altered_type"][-1].columns[-1]
    assert (gone.name, gone.type, gone.dropped) == ("gone", "frozen<evolving>", True)
    assert [held.cdc for held in by_name["toggled"]] == [True, False, True]
    assert [held.dropped for held in by_name["dropped"]] == [False, True]
    lives = by_name["recreated"]
    assert [(held.dropped, [c.name for c in held.columns]) for held in lives] == [
        (False, ["id", "v"]),
        (True, ["id", "v"]),
        (False, ["id", "ck", "w"]),
    ]
    assert lives[0].id == lives[1].id != lives[2].id


@pytest.mark.parametrize("name", CASES)
def test_as_of_gives_at_each_event_what_a_fresh_replay_gives(sets_root: Path, name: str) -> None:
    history = followed(sets_root / name)
    valid: dict[str, TableDefinition] = {}
    for event in history.events:
        valid.update(event.changed)
        assert dict(history.as_of(event.at)) == valid
    first = history.events[0].at
    assert dict(history.as_of(first._replace(offset=first.offset - 1))) == {}


@pytest.mark.parametrize("name", CASES)
def test_a_file_of_the_end_under_the_whole_log_changes_no_live_key_and_no_type(sets_root: Path, name: str) -> None:
    """The file knows columns too early; what the log says of keys, types and ids counts from its first row on."""
    plain, based = followed(sets_root / name), DefinitionHistory()
    based.add(plain.events[0].at._replace(segment=0, offset=0), read_cql(sets_root / name / "schema.cql"))
    for at, rows in schema_mutations(sets_root / name):
        found = deltas(rows)
        if found:
            based.add(at, found)
    for event in plain.events:
        there = based.as_of(event.at)
        for id, held in event.changed.items():
            if held.keyspace in SERVERS_OWN:
                continue
            assert there[id].partition_key == held.partition_key
            assert there[id].clustering == held.clustering
            wanted = {c.name: c.type for c in held.columns if not c.dropped}
            assert wanted.items() <= {c.name: c.type for c in there[id].columns}.items()
            assert held.types.items() <= there[id].types.items()
