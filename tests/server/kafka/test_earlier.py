"""A position that an earlier version left in Kafka is gone on with: each row is there once."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.helpers.cli import run_cli
from tests.helpers.kafka_broker import Broker
from tests.helpers.kafka_topics import read
from tests.install.keep_kafka import MESSAGES, POSITIONS, command
from tests.install.keep_targets import begin

pytestmark = [pytest.mark.server, pytest.mark.slow]

KEPT = Path(__file__).parents[2] / "install" / "kept_kafka"


@pytest.mark.parametrize("version", sorted(path.name for path in KEPT.iterdir()))
def test_only_what_came_since_is_sent(
    version: str, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    with tarfile.open(KEPT / version) as tar:
        tar.extractall(tmp_path, filter="data")
    begin(tmp_path).grow(4)
    monkeypatch.chdir(tmp_path)
    mine = f"{POSITIONS}-{version.partition('.')[0]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(mine, 1, 1, config={"cleanup.policy": "compact"})])[mine].result()
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for key, value in json.loads((tmp_path / MESSAGES).read_text()):
        producer.produce(mine, bytes.fromhex(value), bytes.fromhex(key))
    assert producer.flush(30) == 0
    before = len(read(broker, "ks.t"))
    words = [mine if word == POSITIONS else word for word in command(broker)]
    for _ in range(2):
        # A second run finds nothing new.
        ran = run_cli(words)
        assert ran.code == 0, ran.err
    sent = [each.row for each in read(broker, "ks.t")]
    assert len(sent) - before == 1, sent
    assert 4 in [row["columns"]["v"] for row in sent]
