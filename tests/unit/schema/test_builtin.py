"""The built-in layouts and names against what recorded servers wrote of themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tailer.schema.decode
from tailer.schema.builtin import builtin_definitions, system_table_id, system_tables
from tailer.schema.follow import SchemaState
from tests.helpers.sets import CASES
from tests.unit.schema.recorded import schema_mutations


@pytest.fixture
def servers_own(sets_root: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> SchemaState:
    monkeypatch.setattr(tailer.schema.decode, "IGNORED_KEYSPACES", frozenset[str]())
    state = SchemaState(ignored=frozenset())
    for _, rows in schema_mutations(sets_root / request.param):
        state.apply(tailer.schema.decode.deltas(rows))
    return state


@pytest.mark.parametrize("servers_own", CASES, indirect=True)
def test_layouts_have_all_that_the_server_s_have(servers_own: SchemaState) -> None:
    theirs = {
        id: held
        for id, held in servers_own.definitions.items()
        if held.keyspace == "system_schema" or held.name == "system.local"
    }
    assert len(theirs) >= 11
    for id, held in theirs.items():
        ours = builtin_definitions()[id]
        assert (ours.name, ours.partition_key, ours.clustering) == (held.name, held.partition_key, held.clustering)
        wanted = {(column.name, column.kind, column.type) for column in held.columns}
        assert wanted <= {(column.name, column.kind, column.type) for column in ours.columns}


@pytest.mark.parametrize("servers_own", CASES, indirect=True)
def test_every_system_table_has_a_name(servers_own: SchemaState) -> None:
    theirs = {id: held.name for id, held in servers_own.definitions.items() if held.keyspace.startswith("system")}
    assert len(theirs) >= 40
    assert theirs.items() <= system_tables().items()


def test_every_table_left_out_of_a_recording_has_a_name(sets_root: Path) -> None:
    left_out = json.loads((sets_root / "50-crash" / "meta.json").read_text("utf-8"))["excluded_table_ids"]
    assert {id: system_tables()[id.replace("-", "")] for id in left_out} == left_out


def test_ids_are_those_of_the_format_page() -> None:
    assert system_table_id("system_schema", "tables") == "afddfb9dbc1e30688056eed6c302ba09"
    assert system_table_id("system", "local") == "7ad54392bcdd35a684174e047860b377"
