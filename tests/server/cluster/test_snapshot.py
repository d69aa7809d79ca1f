"""Tables of three real nodes that were full before anybody followed them, of which one is down when they are read.

Others keep hints for it, of writes and of deletions that are older than the snapshot's floor: they come when it is
back, and raise nothing that was deleted.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.image_state.file import reading
from tailer.image_state.identity import nodes_of
from tests.helpers.cli import Result, run_cli
from tests.helpers.rebuilt import spelled
from tests.oracle.jsontext import loads
from tests.server.cluster.awaited import awaited
from tests.server.cluster.cluster import WAIT_SECONDS, Cluster, ClusterNode, at_level
from tests.server.followers import CommandFollower
from tests.server.test_snapshot import CREATE, KEYSPACE, TABLES, Writer, folded, written
from tests.server.test_snapshot_spark import SparkFollowing, compared

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.soak]

DOWN = 2
WRITES = 600
REST_SECONDS = 120


class AtQuorum:
    """A session whose statements all are acknowledged by two of three."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def execute(self, statement: str) -> None:
        self._session.execute(at_level(statement, "QUORUM"), timeout=30)


class Following(CommandFollower):
    """`cdc-tail follow --image` over all nodes, from the newest position of each."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__("c", interrupted=False)
        self._cluster = cluster

    def arguments(self, cdc_raw: Path, work: Path) -> list[str]:
        asked = ["--output", "json", "--image", "after", "--from", "latest", "--snapshot-settle", "8"]
        return ["follow", *self.places(), *asked]

    def places(self) -> list[str]:
        """The logs, their servers, and whose images they are of."""
        nodes = self._cluster.nodes.values()
        logs = ",".join(f"{node.name}={node.cdc_raw}" for node in nodes)
        servers = ",".join(f"{node.name}={node.address}:{node.cql_port}" for node in nodes)
        return [logs, "--consumer", self.name, "--server", servers]

    def images(self) -> list[dict[str, Any]]:
        return [loads(line) for line in self.rows()]

    def said(self) -> str:
        return self._errors.read_text()


def test_hints_of_what_was_deleted_raise_nothing(server_here: None, tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        cluster.start()
        with cluster.session() as session:
            writer = filled(cluster, session)
            follower = Following(cluster)
            follower.start(tmp_path, tmp_path)
            awaited(lambda: stand(tmp_path, 3), "all nodes are followed", WAIT_SECONDS)
            lost = lose_one(cluster)
            # What it misses: updates of rows that it has, and deletions.
            writer.write(WRITES)
            with written(writer, 0.05):
                read = run_cli(["snapshot", *follower.places()])
                assert read.code == 0, read.err
                assert read.err.count("snapshot of ") == len(TABLES)
                given_back = give_back(cluster)
        cluster.await_no_hints()
        cluster.sync()
        deadline = time.monotonic() + REST_SECONDS
        while True:
            images = follower.images()
            different = {table: folded(images, table) ^ selected(cluster, table) for table in TABLES}
            if not any(different.values()) or not follower.running or time.monotonic() > deadline:
                break
            time.sleep(1)
        compared = {table: compare(cluster, follower, table) for table in TABLES}
        follower.stop()
        assert hinted(cluster, lost, given_back), "hints were given to it"
    assert follower.failures == []
    assert {table: rows for table, rows in different.items() if rows} == {}
    for table, result in compared.items():
        assert (table, result.code, result.lines) == (table, 0, []), result.err
        assert "of which images know nothing" not in result.err


@pytest.mark.spark
def test_so_they_do_not_in_spark(server_here: None, tmp_path: Path) -> None:
    """The node is lost between the place where its log stands and the floor, which lies twenty seconds behind that."""
    with Cluster(tmp_path) as cluster:
        cluster.start()
        with cluster.session() as session:
            writer = filled(cluster, session)
            follower = SparkFollowing(Following(cluster).places(), settle=40.0, rows_a_second=200)
            follower.start(tmp_path, tmp_path)
            awaited(follower.stands, "all nodes are followed", WAIT_SECONDS)
            lost = lose_one(cluster)
            writer.write(WRITES)
            with written(writer, 0.05):
                awaited(follower.is_read, "the tables are read", REST_SECONDS)
                given_back = give_back(cluster)
        cluster.await_no_hints()
        cluster.sync()
        deadline = time.monotonic() + REST_SECONDS
        while True:
            found = compared([loads(line) for line in follower.rows()], partial(selected, cluster))
            if not found.differing or not follower.running or time.monotonic() > deadline:
                break
            time.sleep(1)
        follower.stop()
        assert hinted(cluster, lost, given_back), "hints were given to it"
    assert follower.failures == []
    assert found.differing == {}, follower.said()


def filled(cluster: Cluster, session: Any) -> Writer:
    """Tables that were written, and deleted from, before anybody looked."""
    for statement in CREATE:
        session.execute(statement.replace("'replication_factor': 1", "'replication_factor': 3"))
    writer = Writer(AtQuorum(session), 3)
    writer.write(WRITES)
    cluster.sync()
    return writer


def lose_one(cluster: Cluster) -> float:
    """When it is lost to all."""
    cluster.nodes[DOWN].kill()
    # Until then coordinators wait for it, and what is not acknowledged nobody can hold them to.
    awaited(lambda: not any(down(cluster) in seen.live for seen in up(cluster)), "it is seen down", WAIT_SECONDS)
    return time.time()


def give_back(cluster: Cluster) -> float:
    """When it is started."""
    begun = time.time()
    cluster.nodes[DOWN].start_again()
    cluster.await_all_up()
    time.sleep(5)
    return begun


def hinted(cluster: Cluster, lost: float, given_back: float) -> int:
    """How many rows its log has that were written while it was down."""
    batches = tailer.open(cluster.nodes[DOWN].cdc_raw).read()
    times = [each for batch in batches for each in batch.column("write_ts").to_pylist() if each is not None]
    return sum(lost < each / 1_000_000 < given_back for each in times)


def stand(folder: Path, nodes: int) -> bool:
    """Whether so many nodes' logs are followed into the state that lies there."""
    found = list(folder.glob("n1/cdc_raw.cdc_tail/images/c"))
    if not found or not (found[0] / "data.mdb").exists():
        return False
    with reading(found[0]) as seen:
        return sum(bool(node.folder) for node in nodes_of(seen).values()) == nodes


def down(cluster: Cluster) -> str:
    return cluster.nodes[DOWN].address


def up(cluster: Cluster) -> list[ClusterNode]:
    return [node for node in cluster.nodes.values() if node.running]


def selected(cluster: Cluster, table: str) -> set[str]:
    return {spelled(loads(text)) for text in cluster.query(f"SELECT JSON * FROM {KEYSPACE}.{table}")}


def compare(cluster: Cluster, follower: Following, table: str) -> Result:
    """Whether all of a table is known, as all replicas have it."""
    node = cluster.nodes[1]
    logs, *consumer, _, _ = follower.places()
    name = f"{KEYSPACE}.{table}".replace('"', "")
    asked = ["--server", f"{node.address}:{node.cql_port}", "--table", name, "--consistency", "ALL", "--settle", "5"]
    return run_cli(["compare", logs, *consumer, *asked, "--output", "json"])
