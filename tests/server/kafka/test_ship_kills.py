"""A follower into data files and their shipper to Kafka while a service writes, killed again and again, and the broker
under them: every row is in its topic once.

Few kills here; `CDC_TAIL_SOAK=50` (make soak SOAK=kafka) as many as it says, and the broker only there: it takes many
seconds to start again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.kafka_broker import Broker
from tests.helpers.kafka_topics import places, read
from tests.helpers.ship_kills import KILLS, NODE, Pair, killed, ours, theirs

pytestmark = [pytest.mark.server, pytest.mark.slow]


def check(broker: Broker, folder: Path, topic: str, kill: Callable[[Pair], None]) -> None:
    own = f"positions-{folder.name}"

    def killed_and_looked_at(pair: Pair) -> None:
        kill(pair)
        seen(broker, topic)

    words = ["--brokers", broker.bootstrap, "--topic", topic, "--positions-topic", own, "--create-topics"]
    durable = killed(folder, "kafka", killed_and_looked_at, *words, "--retry-for", "5min")
    assert seen(broker, topic) == durable
    assert places(broker, own)[NODE]["offset"]["whole"]
    print(f"{KILLS} kills, {len(durable)} rows")


def seen(broker: Broker, topic: str) -> list[int]:
    """The rows that are committed: the first ones, each once."""
    found = [each.row["partition_key"]["id"] for each in read(broker, topic)]
    assert found == list(range(len(found)))
    return found


def test_our_processes_are_killed(broker: Broker, tmp_path: Path) -> None:
    check(broker, tmp_path, "ship-killed", ours)


@pytest.mark.skipif("CDC_TAIL_SOAK" not in os.environ, reason="a broker takes many seconds to start again: make soak")
def test_the_broker_is_killed(broker: Broker, tmp_path: Path) -> None:
    check(broker, tmp_path, "ship-broker-killed", theirs(broker.kill, broker.start))
