"""Three real nodes, of which one is killed and comes back: every acknowledged write is in the rows.

Read by one Spark query elsewhere, and by one follower of all nodes that is killed again and again and gives images;
`make soak SOAK=cluster` has a follower beside each node too, kills more often, and does more to them all, for longer
(test_soak.py).
"""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass

import pytest

from tests.helpers.again import again
from tests.helpers.amount import ALL
from tests.server.cluster.check import Copies
from tests.server.cluster.cluster import Cluster
from tests.server.cluster.images import Imaged, imaged
from tests.server.cluster.imaging import ImageFollower, Killing
from tests.server.cluster.ledger import Entry
from tests.server.cluster.readers import READERS, WithImages
from tests.server.cluster.running import running

pytestmark = [pytest.mark.server, pytest.mark.slow]

KILLED = 2
"""The only node of its rack: it has a copy of everything."""

KILLS = int(os.environ.get("CDC_TAIL_SOAK", "3"))
"""Of the follower that gives images."""

LOOK_SECONDS = 0.05
KILL_SECONDS = 2.0, 6.0
LONGER = max(KILLS / 5, 1.0)
BEFORE_SECONDS, AWAY_SECONDS, AFTER_SECONDS = 6.0 * LONGER, 10.0 * LONGER, 4.0 * LONGER


@dataclass
class Seen:
    """What a run gave, once it was over. `away`: from when to when the node was."""

    entries: list[Entry]
    copies: Copies
    rows: int
    differences: dict[str, set[str]]
    failures: list[str]
    away: tuple[float, float]
    images: Imaged


@pytest.fixture(scope="module", params=sorted(READERS) if ALL else ["spark"])
def seen(server_here: None, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Seen:
    work = tmp_path_factory.mktemp("cluster")
    reader = READERS[request.param](work)
    cluster = Cluster(work, settings={"cdc_on_repair_enabled": False})
    imaging = ImageFollower(work)
    with running(cluster, WithImages(reader, imaging), work, lasting={1, 3}) as run:
        with again(Killing(imaging, KILLS, KILL_SECONDS).look, LOOK_SECONDS, "killing"):
            time.sleep(BEFORE_SECONDS)
            cluster.nodes[KILLED].kill()
            killed = time.time()
            time.sleep(AWAY_SECONDS)
            back = time.time()
            cluster.nodes[KILLED].start_again()
            cluster.await_all_up()
            time.sleep(AFTER_SECONDS)
        run.workload.stop()
        cluster.await_no_hints()
        copies = run.await_rows()
        differences = run.differences()
        found = imaged(cluster, imaging, run.arrivals.rows)
        failures = [*reader.failures, *imaging.failures]
    return Seen(run.ledger.entries(), copies, len(run.arrivals.rows), differences, failures, (killed, back), found)


def test_every_acknowledged_write_is_in_the_rows(seen: Seen) -> None:
    assert seen.failures == []
    assert seen.copies.missing == []


def test_current_state_is_what_select_shows(seen: Seen) -> None:
    assert seen.differences == {}


def test_images_add_up_to_what_select_shows(seen: Seen) -> None:
    assert seen.images.kills == KILLS
    assert seen.images.differences == {}
    assert seen.images.torn == []


def test_each_write_has_its_image_once(seen: Seen) -> None:
    assert seen.images.must > 500
    assert seen.images.unlike == []
    # One for many copies; a deletion of several rows has one for each of them, and what expires is no write.
    causes = {image["event_id"] for image in seen.images.images if image["event_id"]}
    assert len(causes) < len(seen.entries) < seen.rows


def test_hints_bring_the_node_what_it_missed(seen: Seen) -> None:
    """With them every write is with every replica, but for what the node had not synced when it was killed."""
    killed, back = seen.away
    missed = [nodes for entry, nodes in seen.copies.of if killed < entry.sent and (entry.acknowledged or 0) < back]
    assert len(missed) > 100
    assert all(f"n{KILLED}" in nodes for nodes in missed)
    for keyspace, replicas in (("three", 3), ("two", 2)):
        nodes = Counter(seen.copies.nodes_of(keyspace))
        assert set(nodes) <= {replicas, replicas - 1}, keyspace
        assert nodes[replicas] > 0.9 * nodes.total(), keyspace


def test_the_run_was_worth_it(seen: Seen) -> None:
    """All kinds of change at both levels through every node, some refused, and no more rows than replicas explain."""
    acknowledged = [entry for entry, _ in seen.copies.of]
    assert len(acknowledged) > 500
    assert {entry.write.op for entry in acknowledged} == {
        "insert", "update", "delete_row", "delete_range", "delete_partition",
    }  # fmt: skip
    assert {entry.level for entry in acknowledged} == {"ONE", "QUORUM"}
    assert {entry.coordinator for entry in acknowledged} == {1, 2, 3}
    assert any(entry.refusal for entry in seen.entries)
    assert 2 * len(acknowledged) < seen.rows < 6 * len(acknowledged)
