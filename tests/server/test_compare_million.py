"""`cdc-tail compare` over a million cells of a real server that is written to all the while: it finds the one that
differs, the row that is missing and the one too many, and none where there is none.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tailer.image_state.file import ImageFile
from tailer.image_state.one_transaction import Transaction
from tailer.images import Image, Merger, Settings
from tests.helpers.cli import Result, run_cli
from tests.helpers.jvm.program import running
from tests.oracle.jsontext import loads
from tests.server.followers import CommandFollower
from tests.server.harness import Node

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.soak]

TABLE = "large.cells"
CREATE = (
    "CREATE KEYSPACE large WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    f"CREATE TABLE {TABLE} (id int, ck int, a int, b text, c bigint, d double, e text, PRIMARY KEY (id, ck)) "
    "WITH cdc = true",
)
ROWS = 200_000
"""Of five cells each."""
AT_ONCE = 256
BUSY = 500
"""Partitions that are written to all the while."""


class Following(CommandFollower):
    def arguments(self, cdc_raw: Path, work: Path) -> list[str]:
        self.state = work / "images"
        return [*super().arguments(cdc_raw, work), "--image", "after", "--image-state", str(self.state)]


def fill(session: Any) -> None:
    for statement in CREATE:
        session.execute(statement)
    insert = session.prepare(f"INSERT INTO {TABLE} (id, ck, a, b, c, d, e) VALUES (?, ?, ?, ?, ?, ?, ?)")
    for first in range(0, ROWS, AT_ONCE):
        some = range(first, min(first + AT_ONCE, ROWS))
        rows = [(*divmod(number, 10), number, f"text {number}", number * 7, number / 3, "e") for number in some]
        for waiting in [session.execute_async(insert, row) for row in rows]:
            waiting.result()


@contextmanager
def written(node: Node) -> Iterator[None]:
    """While some of the rows change without a pause."""
    stop = threading.Event()

    def write() -> None:
        with node.session() as session:
            update = session.prepare(f"UPDATE {TABLE} SET a = ?, e = ? WHERE id = ? AND ck = ?")
            number = 0
            while not stop.is_set():
                number += 1
                session.execute(update, (number, f"e{number}", number % BUSY, number % 10))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def compared(node: Node, follower: Following) -> Result:
    where = [str(node.cdc_raw), "--consumer", "c", "--image-state", str(follower.state)]
    server = ["--server", f"{node.address}:{node.cql_port}"]
    return run_cli(["compare", *where, *server, "--table", TABLE, "--settle", "10", "--output", "json"])


def told_falsely(state: Path, images: Mapping[tuple[int, int], dict[str, Any]]) -> None:
    """Have the state believe what no server ever said: another value, a row that was deleted, one that was not."""
    changed, gone = (change_of(images[at]) for at in ((10_000, 3), (12_000, 4)))
    more = {**change_of(images[14_000, 5]), "clustering": '{"ck":77}'}
    rows = [
        {**changed, "op": "update", "columns": '{"b":"other"}'},
        {**gone, "op": "delete_row"},
        {**more, "op": "insert", "columns": '{"a":1}'},
    ]

    def work(transaction: Transaction) -> list[Image]:
        merger = Merger(transaction.store, ["local"], Settings(0))
        return [image for row in rows for image in merger.entry([row], time.time_ns() // 1000)]

    with ImageFile(state) as file:
        assert len(file.write(work)) == 3


def change_of(image: Mapping[str, Any]) -> dict[str, Any]:
    """A change of an image's row, at the place of that one, a microsecond later than it."""
    names = ("keyspace", "table", "table_id", "token", "node", "segment", "offset", "row", "event_id")
    none = dict.fromkeys(("columns", "range", "cells", "ttl", "expires_at"))
    keys = {name: json.dumps(image[name]) for name in ("partition_key", "clustering")}
    times = {"write_ts": int(image["write_ts"]) + 1, "is_static": False}
    return {**none, **{name: image[name] for name in names}, **keys, **times}


def test_each_is_found_among_a_million(server_here: None, tmp_path: Path) -> None:
    folder = tmp_path / "cassandra"
    folder.mkdir()
    follower = Following("c", interrupted=True)
    with running(Node(folder)) as node:
        follower.start(node.cdc_raw, tmp_path)
        try:
            with node.session() as session:
                fill(session)
            node.sync()
            deadline = time.monotonic() + 300
            while len(follower.rows()) < ROWS:
                assert time.monotonic() < deadline, len(follower.rows())
                time.sleep(1)
            images = {
                (image["partition_key"]["id"], image["clustering"]["ck"]): image
                for image in map(loads, follower.rows())
            }
            with written(node):
                time.sleep(2)
                result = compared(node, follower)
                assert (result.code, result.lines) == (0, []), result.err
                assert f"{ROWS} rows" in result.err
            follower.pause()
            told_falsely(follower.state, images)
            follower.resume()
            with written(node):
                time.sleep(2)
                result = compared(node, follower)
        finally:
            follower.stop()
    assert follower.failures == []
    assert result.code == 9, result.err
    found = [json.loads(line) for line in result.lines]
    assert sorted((each["kind"], each["partition_key"]["id"], each["clustering"]["ck"]) for each in found) == [
        ("missing", 12_000, 4),
        ("surplus", 14_000, 77),
        ("value", 10_000, 3),
    ]
    (value,) = (each for each in found if each["kind"] == "value")
    assert (value["column"], value["images"]) == ("b", "other")
