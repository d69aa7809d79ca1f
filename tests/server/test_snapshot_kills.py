"""A snapshot whose process is killed, and whose server is: it goes on where it was, and each row comes as it came."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import UsageError
from tailer.image_state.file import reading
from tailer.image_state.snapshots import snapshots_in
from tailer.snapshot.progress import Snapshot
from tests.helpers.jvm.program import running
from tests.helpers.rebuilt import spelled
from tests.oracle.jsontext import dumps, loads
from tests.server.harness import Node
from tests.server.test_snapshot import QUICK, Following

pytestmark = [pytest.mark.server, pytest.mark.slow]

KEYSPACE = "killed"
CREATE = (
    f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
    f"CREATE TABLE {KEYSPACE}.rows (id int, ck int, v text, PRIMARY KEY (id, ck)) WITH cdc = true",
)
PARTITIONS, ROWS = 600, 10
KILLS = int(os.environ.get("CDC_TAIL_SOAK", "3"))
ROWS_A_SECOND = PARTITIONS * ROWS // (4 * KILLS)
"""So many that it is not read before the last kill."""


@pytest.fixture
def full(server_here: None, tmp_path: Path) -> Iterator[Node]:
    folder = tmp_path / "cassandra"
    folder.mkdir()
    with running(Node(folder, heap="512m", options=[QUICK])) as node:
        with node.session() as session:
            for statement in CREATE:
                session.execute(statement)
            insert = session.prepare(f"INSERT INTO {KEYSPACE}.rows (id, ck, v) VALUES (?, ?, ?)")
            waiting = [
                session.execute_async(insert, (id, ck, f"v{id}")) for id in range(PARTITIONS) for ck in range(ROWS)
            ]
            for each in waiting:
                each.result()
            # Older than the floor, and gone before anybody looks.
            for id in range(0, PARTITIONS, 100):
                session.execute(f"DELETE FROM {KEYSPACE}.rows WHERE id = {id}")
        node.sync()
        yield node


def kill(follower: Following) -> None:
    process = follower._process
    assert process is not None, "it runs"
    process.send_signal(signal.SIGKILL)
    process.wait()
    follower._process = None
    follower._run()


def snapshot(state: Path) -> Snapshot | None:
    try:
        with reading(state) as seen:
            return next(iter(snapshots_in(seen)), None)
    except UsageError:
        return None


def ended(state: Path, seconds: float) -> Snapshot:
    deadline = time.monotonic() + seconds
    while True:
        found = snapshot(state)
        if found is not None and found.ended:
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


def differing(node: Node, images: list[dict[str, Any]]) -> set[str]:
    rows = {dumps([image["partition_key"], image["clustering"]]): image["after"] for image in images}
    with node.session() as session:
        selected = {spelled(loads(row[0])) for row in session.execute(f"SELECT JSON * FROM {KEYSPACE}.rows")}
    return {spelled(row) for row in rows.values() if row is not None} ^ selected


def test_killed_again_and_again(full: Node, tmp_path: Path) -> None:
    """No range is read twice, and what comes twice is the same, byte for byte. Behind it segments are let go."""
    chance = random.Random(5)
    state = tmp_path / "images"
    follower = Following(full, "--rows-per-second", str(ROWS_A_SECOND), "--image-state", str(state))
    follower.start(full.cdc_raw, tmp_path)
    done: list[int] = []
    try:
        while snapshot(state) is None:
            time.sleep(0.05)
        for _ in range(KILLS):
            time.sleep(chance.uniform(1.5, 3.5))
            kill(follower)
            done.append((snapshot(state) or ended(state, 1)).rows)
        last = ended(state, 60 + 10 * KILLS)
    finally:
        follower.stop()
    assert follower.failures == []
    rows = PARTITIONS * ROWS - len(range(0, PARTITIONS, 100)) * ROWS
    assert last.rows == rows
    assert done == sorted(done)
    assert done[-1] > 0
    lines: dict[str, str] = {}
    for line in follower.rows():
        image = loads(line)
        assert lines.setdefault(dumps([image["partition_key"], image["clustering"], image["seq"]]), line) == line
    assert len(lines) == rows
    assert differing(full, [loads(line) for line in lines.values()]) == set()


def test_a_server_that_goes_is_waited_for(full: Node, tmp_path: Path) -> None:
    state = tmp_path / "images"
    follower = Following(full, "--rows-per-second", str(ROWS_A_SECOND), "--image-state", str(state))
    follower.start(full.cdc_raw, tmp_path)
    try:
        while (found := snapshot(state)) is None or not found.rows:
            time.sleep(0.05)
        full.kill()
        time.sleep(3)
        before = (snapshot(state) or found).rows
        full.start_again()
        last = ended(state, 60 + 10 * KILLS)
    finally:
        follower.stop()
    assert follower.failures == []
    assert 0 < before < last.rows == PARTITIONS * ROWS - len(range(0, PARTITIONS, 100)) * ROWS
    assert "the snapshot waits" in follower.said()
    assert differing(full, follower.images()) == set()
