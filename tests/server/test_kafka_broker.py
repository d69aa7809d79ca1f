"""The Kafka harness itself: a broker that runs, keeps what it was given over a kill, and ends with its starter."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.cli import ROOT
from tests.helpers.jvm.program import running
from tests.helpers.kafka_broker import Broker, available

pytestmark = [pytest.mark.server, pytest.mark.slow]

TOPIC = "letters"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    reason = available()
    if reason is not None:
        pytest.skip(f"no Kafka broker: {reason}")
    with running(Broker(tmp_path_factory.mktemp("kafka"))) as made:
        yield made


def produce(broker: Broker, *values: bytes, transactional: str | None = None) -> None:
    from confluent_kafka import Producer

    # Idempotent: what has to be sent again, for the topic is only just made, keeps its order.
    settings = {"bootstrap.servers": broker.bootstrap, "acks": "all", "enable.idempotence": True}
    if transactional is not None:
        settings["transactional.id"] = transactional
    producer = Producer(settings)
    if transactional is not None:
        producer.init_transactions(30)
        producer.begin_transaction()
    for value in values:
        producer.produce(TOPIC, value)
    assert producer.flush(30) == 0
    if transactional is not None:
        producer.commit_transaction(30)


def consumed(broker: Broker, count: int) -> list[bytes]:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
    found: list[bytes] = []
    deadline = time.monotonic() + 30
    while len(found) < count and time.monotonic() < deadline:
        for message in consumer.consume(100, timeout=0.5):
            assert message.error() is None, message.error()
            found.append(message.value())
    consumer.close()
    return found


def test_it_keeps_what_it_was_given_over_a_kill_and_a_stop(broker: Broker) -> None:
    produce(broker, b"a", b"b")
    assert consumed(broker, 2) == [b"a", b"b"]
    broker.kill()
    assert not broker.running
    broker.start()
    produce(broker, b"c", transactional="writer")
    broker.stop()
    broker.start()
    assert consumed(broker, 3) == [b"a", b"b", b"c"]


def test_it_ends_with_the_process_that_started_it(broker: Broker, tmp_path: Path) -> None:
    starter = (
        "import sys; from pathlib import Path; from tests.helpers.kafka_broker import Broker\n"
        "broker = Broker(Path(sys.argv[1])); broker.start(); print(broker.pid, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", starter, str(tmp_path / "kafka")]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        started = int(process.stdout.readline())
        assert runs(started)
        process.kill()
    deadline = time.monotonic() + 10
    while runs(started) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not runs(started)


def runs(pid: int) -> bool:
    """Whether a process with that id is there and not merely waiting to be asked how it ended."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
