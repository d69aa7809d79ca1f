"""The tutorials as they stand: their CQL on a real server, their one command into a real target, and what they show.

Replaced are only the places: the log folder, the server's and the target's address. `--snapshot-settle` is shorter.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.helpers.cli import ROOT, program
from tests.helpers.jvm.program import running
from tests.helpers.kafka_broker import Broker
from tests.helpers.kafka_broker import available as broker_available
from tests.helpers.kafka_topics import read
from tests.helpers.postgres import PASSWORD, Postgres, UnavailableError
from tests.server.harness import Node

pytestmark = [pytest.mark.server, pytest.mark.slow]

PAGES: Final = ROOT / "docs" / "tutorials"
BLOCK: Final = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
WAIT_SECONDS: Final = 120
QUICK: Final = "-XX:TieredStopAtLevel=1"


class Tutorial:
    """A page: its CQL before and behind, its command, and the blocks that show something."""

    def __init__(self, name: str) -> None:
        blocks = BLOCK.findall((PAGES / f"{name}.md").read_text())
        self.before, self.behind, *self.queries = [text for kind, text in blocks if kind == "sql"]
        _, self.command = [text for kind, text in blocks if kind == "sh"]
        self.shown = [text for kind, text in blocks if not kind]

    def words(self, node: Node, places: Mapping[str, str]) -> list[str]:
        """The command, with this machine's places."""
        text = self.command.replace("\\\n", " ")
        own = {"/var/lib/cassandra/cdc_raw": str(node.cdc_raw), "127.0.0.1": f"{node.address}:{node.cql_port}"}
        for there, here in {**own, **places}.items():
            assert there in text, f"{there} is in the command"
            text = text.replace(there, here)
        first, *rest = shlex.split(text)
        assert first == "cdc-tail"
        return [*rest, "--snapshot-settle", "2"]


def execute(node: Node, statements: str) -> None:
    with node.session() as session:
        for statement in filter(None, map(str.strip, statements.split(";"))):
            session.execute(statement)
    node.sync()


def await_equal(found: Callable[[], Any], expected: Any) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while (now := found()) != expected:
        assert time.monotonic() < deadline, now
        time.sleep(0.5)


def played(
    tutorial: Tutorial, node: Node, work: Path, places: Mapping[str, str], found: Callable[[], Any], expected: list[Any]
) -> None:
    """`expected`: what is found behind the snapshot, and behind the changes. Its command is begun again in between."""
    execute(node, tutorial.before)
    for statements, then in zip(("", tutorial.behind), expected, strict=True):
        with (work / "stderr").open("ab") as errors:
            process = subprocess.Popen(program(tutorial.words(node, places)), cwd=work, stderr=errors)
        try:
            execute(node, statements)
            await_equal(found, then)
        finally:
            process.terminate()
            assert process.wait(30) in (0, 130, 143), (work / "stderr").read_text()


@pytest.fixture
def node(server_here: None, tmp_path: Path) -> Iterator[Node]:
    folder = tmp_path / "cassandra"
    folder.mkdir()
    with running(Node(folder, heap="512m", options=[QUICK])) as made:
        yield made


def cells(table: str) -> list[list[str]]:
    """The rows of a table as psql prints one."""
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()[2:]]


def test_postgresql(node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    try:
        server = Postgres()
        server.start()
    except UnavailableError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    tutorial = Tutorial("postgresql")

    def found() -> list[list[str]]:
        with psycopg.connect(server.to) as connection:
            there = connection.execute("SELECT to_regclass('orders')").fetchone()
            if there is None or there[0] is None:
                return []
            rows = connection.execute("SELECT id, state, total::text, tags::text FROM orders ORDER BY id").fetchall()
        return [["" if value is None else str(value) for value in row] for row in rows]

    try:
        expected = [cells(text) for text in tutorial.shown]
        played(tutorial, node, tmp_path, {"postgresql://ann@db/shop": server.to}, found, expected)
    finally:
        server.remove()


def test_kafka(node: Node, tmp_path: Path) -> None:
    if reason := broker_available():
        pytest.skip(f"no Kafka broker: {reason}")
    broker = Broker(tmp_path / "kafka", {})
    broker.start()
    tutorial = Tutorial("kafka")
    whole = {"id": 17, "state": "new", "tags": ["gift"], "total": 12.5}
    first, second = (None, whole), (whole, {**whole, "state": "paid"})
    for (before, after), text in zip((first, second), tutorial.shown, strict=True):
        # What the page prints, as far as it prints it.
        assert f'"after":{json.dumps(after, separators=(",", ":")).replace("12.5", "12.50")}' in text
        assert ('"before":null' in text) == (before is None)

    def found() -> list[Any]:
        messages = read(broker, "shop.orders")
        return [(json.loads(each.key or b""), each.row["before"], each.row["after"]) for each in messages]

    try:
        key = {"id": 17}
        expected = [[(key, *first)], [(key, *first), (key, *second)]]
        played(tutorial, node, tmp_path, {"kafka-1:9092": broker.bootstrap}, found, expected)
    finally:
        broker.kill()


def test_delta(node: Node, tmp_path: Path) -> None:
    import duckdb
    from deltalake import DeltaTable

    tutorial, folder = Tutorial("delta"), tmp_path / "orders"
    (query,) = tutorial.queries

    def found() -> list[list[str]]:
        if not DeltaTable.is_deltatable(str(folder)):
            return []
        orders = DeltaTable(str(folder)).to_pyarrow_table()
        rows = sorted(orders.to_pylist(), key=lambda row: row["seq"])
        newest = duckdb.from_arrow(orders).query("orders", query).fetchall()
        assert [json.loads(row[0]) for row in newest] == [json.loads(row["after"]) for row in rows[-1:]]
        return [[row["op"], row["after"]] for row in rows]

    expected = [[line.split(None, 1) for line in text.strip().splitlines()[1:]] for text in tutorial.shown]
    played(tutorial, node, tmp_path, {"/data/orders": str(folder)}, found, expected)
