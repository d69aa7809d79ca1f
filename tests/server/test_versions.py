"""A real server of each version whose logs are read: what it wrote is what comes out, before a kill and behind it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import run_cli
from tests.helpers.jvm.program import running
from tests.server.expected import differences, rows_from_dump
from tests.server.harness import Node
from tests.server.library import VERSIONS
from tests.server.settings import yaml_of
from tests.server.view import Keeper, ServerView

pytestmark = [pytest.mark.server, pytest.mark.slow]

MIB = 1024 * 1024
KEYSPACE = "versions"
CREATE = (
    f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
    f"CREATE TABLE {KEYSPACE}.rows (id int, ck text, v int, tags set<text>, PRIMARY KEY (id, ck)) "
    "WITH cdc = true AND CLUSTERING ORDER BY (ck DESC)",
)
KINDS = (
    f"CREATE TYPE {KEYSPACE}.address (street text, number int)",
    f"CREATE TABLE {KEYSPACE}.kinds (id int, at timestamp, s text static, home address, l list<int>, m map<text, int>, "
    "PRIMARY KEY (id, at)) WITH cdc = true AND CLUSTERING ORDER BY (at DESC)",
    f"CREATE TABLE {KEYSPACE}.counts (id int PRIMARY KEY, hits counter) WITH cdc = true",
    f"INSERT INTO {KEYSPACE}.kinds (id, at, home, l) VALUES (1, 1000, {{street: 's', number: 2}}, [1]) USING TTL 9999",
    f"UPDATE {KEYSPACE}.kinds SET home.number = null, l = l + [3], m['k'] = 1 WHERE id = 1 AND at = 1000",
    f"UPDATE {KEYSPACE}.kinds SET s = 'shared' WHERE id = 1",
    f"DELETE FROM {KEYSPACE}.kinds WHERE id = 1 AND at > 2000",
    f"DELETE FROM {KEYSPACE}.kinds WHERE id = 1 AND at = 1000",
    f"DELETE FROM {KEYSPACE}.kinds WHERE id = 1",
    f"UPDATE {KEYSPACE}.counts SET hits = hits + 7 WHERE id = 1",
    f"INSERT INTO {KEYSPACE}.kinds (id, at) VALUES (2, 1) IF NOT EXISTS",
    f"TRUNCATE {KEYSPACE}.kinds",
)
OPS = {"insert", "update", "delete_row", "delete_range", "delete_partition", "truncate"}
FIRST, SECOND = range(20), range(20, 30)
# Compiled by the quick compiler alone: no server lives long enough for the other.
QUICK = "-XX:TieredStopAtLevel=1"


@pytest.fixture(scope="module", params=VERSIONS)
def node(
    request: pytest.FixtureRequest, needs_server: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Node]:
    needs_server(request.param)
    folder = tmp_path_factory.mktemp("cassandra")
    with running(Node(folder, version=request.param, heap="512m", options=[QUICK])) as made:
        yield made


def insert(session: Any, numbers: range) -> None:
    for number in numbers:
        session.execute(
            f"INSERT INTO {KEYSPACE}.rows (id, ck, v, tags) VALUES (%s, %s, %s, {{'a', 'ж'}})",
            (number % 3, f"c{number}", number),
        )


def inserted(numbers: range) -> list[dict[str, object]]:
    return [
        {
            "op": "insert",
            "partition_key": {"id": number % 3},
            "clustering": {"ck": f"c{number}"},
            "columns": {"tags": {"replaced": True, "put": ["a", "ж"]}, "v": number},
        }
        for number in numbers
    ]


def read(node: Node) -> list[str]:
    """All rows of the log, as `--output json` has them."""
    result = run_cli(["follow", node.cdc_raw, "--once", "--output", "json"])
    assert result.code in (0, 9), result.err
    return result.lines


def short(lines: list[str]) -> list[dict[str, object]]:
    names = ("op", "partition_key", "clustering", "columns")
    return [{name: row[name] for name in names} for row in map(json.loads, lines)]


def test_what_it_wrote_is_read_before_a_kill_and_behind_it(node: Node) -> None:
    with node.session() as session:
        told = session.execute("SELECT release_version FROM system.local").one()
        assert told.release_version == VERSIONS[node.version]
        for statement in CREATE:
            session.execute(statement)
        insert(session, FIRST)
    node.sync()
    assert short(read(node)) == inserted(FIRST)
    node.kill()
    assert not node.running
    node.start_again()
    with node.session() as session:
        assert session.execute(f"SELECT count(*) FROM {KEYSPACE}.rows").one()[0] == len(FIRST)
        insert(session, SECOND)
    node.sync()
    assert short(read(node)) == inserted(FIRST) + inserted(SECOND)


def test_each_kind_of_change_is_read_as_its_own_reader_shows_it(node: Node, tmp_path: Path) -> None:
    with node.session() as session:
        for statement in KINDS:
            session.execute(statement)
    with Keeper(node.cdc_raw) as keeper:
        view = ServerView(node, keeper, tmp_path)
        view.look()
    lines = read(node)
    rows = [json.loads(line) for line in lines]
    assert {row["op"] for row in rows} == OPS
    assert differences(rows_from_dump(view.lines, {row["segment"] for row in rows}), lines) == []


def test_it_takes_settings_and_commands(node: Node) -> None:
    """`commitlog_segment_size`, which 4.0 has by another name, and what the other tests ask of a node."""
    segment = min(node.cdc_raw.glob("*.log"))
    assert segment.stat().st_size == MIB
    ((count, seconds),) = node.time(segment, 1)
    assert count > 0
    assert seconds > 0
    node.flush(KEYSPACE)
    node.recycle()
    node.drain()
    assert all(file.read_text().endswith("COMPLETED") for file in node.cdc_raw.glob("*_cdc.idx"))
    node.stop()
    assert not node.running


def test_units_stand_in_the_names_of_the_settings_of_40() -> None:
    settings = {"commitlog_sync_period": "2s", "cdc_total_space": "1GiB", "column_index_size": "4KiB"}
    assert json.loads(yaml_of({**settings, "cluster_name": "c", "num_tokens": None}, "4.0")) == {
        "commitlog_sync_period_in_ms": 2000,
        "cdc_total_space_in_mb": 1024,
        "column_index_size_in_kb": 4,
        "cluster_name": "c",
    }
