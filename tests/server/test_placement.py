"""What a real server says of itself: settings, where it stands, its ring; and a start by the times of its sidecars."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import tailer
from tailer.options.cassandra_yaml import server_settings
from tailer.schema.extras import Origin
from tailer.schema.ring import ALL_TOKENS
from tailer.schema.server import Server
from tailer.schema.server_place import ServerPlace, read_place
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import RingRecord, TimesRecord
from tailer.state.log_folder import state_folder
from tests.helpers.cli import run_cli
from tests.server.followers import CommandFollower
from tests.server.harness import Node

pytestmark = [pytest.mark.server, pytest.mark.slow]

APART_SECONDS = 12.0
"""Between two writes: more than a segment is open before its times are on record."""

KEYSPACES = {
    "simple": "{'class': 'SimpleStrategy', 'replication_factor': 1}",
    "near": "{'class': 'NetworkTopologyStrategy', 'datacenter1': 1}",
}


@pytest.fixture(scope="module")
def written(node: Node, tmp_path_factory: pytest.TempPathFactory) -> float:
    """A row in each keyspace, followed; then, apart from these, another: the moment in the middle."""
    follower = CommandFollower("times", interrupted=False)
    follower.start(node.cdc_raw, tmp_path_factory.mktemp("work"))
    try:
        with node.session() as session:
            for name, replication in KEYSPACES.items():
                session.execute(f"CREATE KEYSPACE {name} WITH replication = {replication}")
                session.execute(f"CREATE TABLE {name}.t (id int PRIMARY KEY, v text) WITH cdc = true")
                session.execute(f"INSERT INTO {name}.t (id, v) VALUES (1, 'early')")
            node.sync()
            time.sleep(APART_SECONDS / 2)
            middle = time.time()
            time.sleep(APART_SECONDS / 2)
            session.execute("INSERT INTO near.t (id, v) VALUES (2, 'late')")
            node.sync()
        deadline = time.monotonic() + 60
        while not any(
            isinstance(r, TimesRecord) for r in FolderJournal(state_folder(node.cdc_raw), writable=False).read()
        ):
            assert time.monotonic() < deadline, "no times of a sidecar on record"
            time.sleep(0.5)
    finally:
        follower.stop()
    return middle


def place_of(node: Node) -> ServerPlace:
    return read_place(Server(node.address, node.cql_port))


def test_its_settings_name_its_log(node: Node) -> None:
    found = server_settings(node.folder / "conf" / "cassandra.yaml", {})
    assert (found.folder, found.enabled, found.delay) == (node.cdc_raw, True, 0.2)


def test_where_it_stands_and_what_it_is_the_first_replica_of(node: Node, written: float) -> None:
    place = place_of(node)
    assert place.origin == Origin("cdc-tail", "datacenter1", "rack1")
    assert len(place.own.tokens) == 1
    assert place.others == ()
    found = place.primaries(node.address)
    # Alone it has every token, of its own system keyspaces too.
    assert {"simple", "near", "system", "system_schema"} <= found.keyspaces.keys()
    assert found.ranges == (ALL_TOKENS,)


@pytest.mark.parametrize("typed", [(), ("--typed", "near.t")])
def test_rows_say_it(node: Node, written: float, typed: tuple[str, ...]) -> None:
    server = ("--server", f"{node.address}:{node.cql_port}")
    options = ("--with-origin", "--with-primary", "--replicas", "primary", "--consumer", f"said{len(typed)}")
    yaml = node.folder / "conf" / "cassandra.yaml"
    result = run_cli(["follow", "--cassandra-yaml", yaml, "--once", "--output", "json", *server, *options, *typed])
    assert result.code in (0, 9), result.err
    assert "a change is durable within 0.2 s" in result.err
    prefix = "_" if typed else ""
    rows = [json.loads(line) for line in result.lines]
    assert len(rows) == (2 if typed else 3)
    for row in rows:
        said = [row[prefix + name] for name in ("cluster", "dc", "rack", "primary")]
        assert said == ["cdc-tail", "datacenter1", "rack1", True]
    assert any(isinstance(r, RingRecord) for r in FolderJournal(state_folder(node.cdc_raw), writable=False).read())


def test_a_start_by_time_is_behind_what_was_durable_before(node: Node, written: float, tmp_path: Path) -> None:
    with tailer.open(node.cdc_raw) as log:
        start = datetime.fromtimestamp(written, UTC).isoformat()
        found = [row["columns"] for batch in log.read(start=start) for row in batch.to_pylist()]
        assert found == ['{"v":"late"}']
        assert any("by the times kept of sidecars" in notice for notice in log.notices)
