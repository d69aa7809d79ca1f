"""`cdc-tail compare` beside a real server: what images know is what it says, each difference is named, and what is only
on its way is none.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import Result, run_cli
from tests.server.followers import CommandFollower
from tests.server.harness import Node

pytestmark = [pytest.mark.server, pytest.mark.slow]

KEYSPACE = "compared"
CREATE = (
    f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
    f"CREATE TYPE {KEYSPACE}.address (street text, number int, zip text)",
    f"CREATE TABLE {KEYSPACE}.plain (a int, b text, ck int, v int, w text, s text static, PRIMARY KEY ((a, b), ck)) "
    "WITH cdc = true AND CLUSTERING ORDER BY (ck DESC)",
    f'CREATE TABLE {KEYSPACE}."Odd" (id int PRIMARY KEY, l list<int>, s set<text>, m map<text, int>, '
    'open address, f float, "D" decimal, t timestamp, nothing text) WITH cdc = true',
    f"CREATE TABLE {KEYSPACE}.counts (id int PRIMARY KEY, hits counter) WITH cdc = true",
)
ROWS = 300


class Following(CommandFollower):
    """`cdc-tail follow --image`."""

    def arguments(self, cdc_raw: Path, work: Path) -> list[str]:
        return [*super().arguments(cdc_raw, work), "--image", "after"]


def fill(session: Any) -> None:
    """A table of each kind, with deletions and statics, and a partition that has nothing but a static row."""
    for statement in CREATE:
        session.execute(statement)
    plain = f"INSERT INTO {KEYSPACE}.plain (a, b, ck, v, w) VALUES (%s, %s, %s, %s, %s)"
    for number in range(ROWS):
        session.execute(plain, (number // 10, "p", number % 10, number, "x" * (number % 5)))
    session.execute(f"UPDATE {KEYSPACE}.plain SET s = 'shared' WHERE a = 3 AND b = 'p'")
    session.execute(f"UPDATE {KEYSPACE}.plain SET s = 'alone' WHERE a = 1000 AND b = 'p'")
    session.execute(f"DELETE FROM {KEYSPACE}.plain WHERE a = 4 AND b = 'p' AND ck > 6")
    session.execute(f"DELETE FROM {KEYSPACE}.plain WHERE a = 5 AND b = 'p'")
    session.execute(f"DELETE v FROM {KEYSPACE}.plain WHERE a = 6 AND b = 'p' AND ck = 1")
    odd = f'{KEYSPACE}."Odd"'
    values = "[3, 1, 2], {'b', 'a', ''}, {'k': 1}, {street: 's', number: 2}, NaN, 1.50, '2026-01-02T03:04:05Z'"
    for number in range(3):
        session.execute(f'INSERT INTO {odd} (id, l, s, m, open, f, "D", t) VALUES ({number}, {values})')
    session.execute(f"UPDATE {odd} SET l = l + [7], s = s - {{'a'}}, m['n'] = 2, open.number = null WHERE id = 1")
    session.execute(f"UPDATE {odd} SET l = [], s = {{}}, open = null WHERE id = 2")
    for number in (1, 1, 2):
        session.execute(f"UPDATE {KEYSPACE}.counts SET hits = hits + {number} WHERE id = {number}")


@pytest.fixture(scope="module")
def follower(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Following:
    made = Following("c", interrupted=False)
    made.start(node.cdc_raw, tmp_path_factory.mktemp("work"))
    return made


@pytest.fixture(scope="module")
def filled(node: Node, follower: Following) -> Iterator[Node]:
    """The tables, and a follower of images that takes them in."""
    try:
        with node.session() as session:
            fill(session)
        node.sync()
        yield node
    finally:
        follower.stop()
    assert follower.failures == []


def compared(node: Node, table: str, settle: float) -> Result:
    where = [str(node.cdc_raw), "--consumer", "c", "--server", f"{node.address}:{node.cql_port}"]
    return run_cli(["compare", *where, "--table", f"{KEYSPACE}.{table}", "--settle", str(settle), "--output", "json"])


@pytest.mark.parametrize("table", ["plain", "Odd", "counts"])
def test_what_images_know_is_what_the_server_says(filled: Node, table: str) -> None:
    deadline = time.monotonic() + 120
    while True:
        result = compared(filled, table, settle=1.0)
        # At first the rows are still on their way.
        if result.code == 0 or time.monotonic() > deadline:
            break
    assert (result.code, result.lines) == (0, []), result.err
    assert "no difference" in result.err
    assert " rows of which images know nothing" not in result.err


def test_what_is_on_its_way_is_no_difference(filled: Node) -> None:
    """Beside somebody who writes without a pause, behind whom the images are by as long as the log is not durable."""
    stop = threading.Event()

    def write() -> None:
        with filled.session() as session:
            number = 0
            while not stop.is_set():
                number += 1
                key = number % 20
                session.execute(f"INSERT INTO {KEYSPACE}.plain (a, b, ck, v) VALUES ({key}, 'p', 3, {number})")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        time.sleep(2)
        # Longer than a busy machine lets the writer, or the follower, wait.
        result = compared(filled, "plain", settle=5.0)
        assert (result.code, result.lines) == (0, []), result.err
    finally:
        stop.set()
        writer.join()


def test_each_difference_is_named(filled: Node, follower: Following) -> None:
    """One cell that changed, one row more and one less, of which the images do not hear."""
    filled.sync()
    assert compared(filled, "plain", settle=5.0).code == 0
    follower.stop()
    with filled.session() as session:
        session.execute(f"UPDATE {KEYSPACE}.plain SET w = 'other' WHERE a = 7 AND b = 'p' AND ck = 2")
        session.execute(f"INSERT INTO {KEYSPACE}.plain (a, b, ck, v) VALUES (8, 'p', 77, 1)")
        session.execute(f"DELETE FROM {KEYSPACE}.plain WHERE a = 9 AND b = 'p' AND ck = 4")
    result = compared(filled, "plain", settle=1.0)
    assert result.code == 9, result.err
    found = [json.loads(line) for line in result.lines]
    assert sorted((each["kind"], json.dumps(each["partition_key"]), each["clustering"]["ck"]) for each in found) == [
        ("missing", '{"a": 8, "b": "p"}', 77),
        ("surplus", '{"a": 9, "b": "p"}', 4),
        ("value", '{"a": 7, "b": "p"}', 2),
    ]
    (value,) = (each for each in found if each["kind"] == "value")
    assert (value["column"], value["images"], value["server"]) == ("w", "xx", "other")
    assert "3 differences" in result.err
    assert "is `follow --image` running?" in result.err
    refused(filled, f"ALTER TABLE {KEYSPACE}.plain DROP w", "the server refuses to read it by the definition", code=3)
    refused(filled, f"DROP TABLE {KEYSPACE}.plain", "is not the table that the images are of")


def refused(node: Node, statement: str, sentence: str, code: int = 2) -> None:
    """Behind a change of the table that the images have not heard of."""
    with node.session() as session:
        session.execute(statement)
    result = compared(node, "plain", settle=1.0)
    assert result.code == code, result.err
    assert sentence in result.err
