"""What stands in a broker's topics, read by a client of its own: messages, and our positions by hand."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.helpers.kafka_broker import Broker

PATIENCE_SECONDS = 30
MARKER_SECONDS = 2.0
"""The broker writes the end of a transaction to its partitions behind its answer to who commits it."""


class Read(NamedTuple):
    """A message, and where it stood."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]

    @property
    def row(self) -> Any:
        assert self.value is not None
        return json.loads(self.value)


def read(broker: Broker, topic: str, *, committed: bool = True) -> list[Read]:
    """All messages of a topic up to its end, by partition and offset; `committed`: only those, and up to where an open
    transaction begins."""
    from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition

    if committed:
        _await_markers(broker, topic)
    with _consumer(broker, committed=committed) as consumer:
        known = consumer.list_topics(topic, timeout=PATIENCE_SECONDS).topics[topic]
        if known.error is not None:
            return []
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in known.partitions])
        left, found = set(known.partitions), []
        deadline = time.monotonic() + PATIENCE_SECONDS
        while left:
            assert time.monotonic() < deadline, f"{topic} has no end"
            for message in consumer.consume(1000, timeout=0.1):
                error = message.error()
                if error is None:
                    told = (message.partition(), message.offset(), message.key(), message.value())
                    found.append(Read(*told, dict(message.headers() or ())))
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    left.discard(message.partition())
    return sorted(found, key=lambda each: (each.partition, each.offset))


def _await_markers(broker: Broker, topic: str) -> None:
    """Until no transaction is open on a topic's partitions; not longer than their ends take."""
    with _consumer(broker, committed=True) as settled, _consumer(broker, committed=False) as all_:
        deadline = time.monotonic() + MARKER_SECONDS
        while _ends(settled, topic) != _ends(all_, topic) and time.monotonic() < deadline:
            time.sleep(0.05)


def _ends(consumer: Any, topic: str) -> dict[int, int]:
    """Of each partition: for who reads what is committed, where an open transaction begins."""
    known = consumer.list_topics(topic, timeout=PATIENCE_SECONDS).topics[topic]
    partitions = known.partitions if known.error is None else ()
    return {number: _end(consumer, topic, number) for number in partitions}


def _end(consumer: Any, topic: str, number: int) -> int:
    """A broker that has just started answers for a while that it does not lead a partition yet."""
    from confluent_kafka import KafkaError, KafkaException, TopicPartition

    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=PATIENCE_SECONDS)[1]
        except KafkaException as error:
            if error.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def places(broker: Broker, topic: str) -> dict[str, Any]:
    """What is committed last of each node: the value, whole."""
    return {json.loads(each.key or b"null")["node"]: each.row for each in read(broker, topic)}


def make_topic(broker: Broker, name: str, partitions: int = 1, **settings: str) -> None:
    """Settings with '_' for '.'."""
    from confluent_kafka.admin import AdminClient, NewTopic

    config = {key.replace("_", "."): value for key, value in settings.items()}
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    (made,) = admin.create_topics([NewTopic(name, partitions, 1, config=config)]).values()
    made.result(PATIENCE_SECONDS)


def settings_of(broker: Broker, topic: str) -> Mapping[str, str]:
    from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    (asked,) = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    return {name: entry.value for name, entry in asked.result(PATIENCE_SECONDS).items()}


def set_bound(broker: Broker, topic: str, message_bytes: int) -> None:
    """How long a message of a topic may be from now on."""
    from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    wanted = ConfigEntry("max.message.bytes", str(message_bytes), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[wanted])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    (asked,) = admin.incremental_alter_configs([resource]).values()
    asked.result(PATIENCE_SECONDS)


@contextmanager
def producer(broker: Broker, **settings: str) -> Iterator[Any]:
    """Another writer; with a `transactional_id` in a transaction, which is not committed. Settings with '_' for '.'."""
    from confluent_kafka import Producer

    made = Producer(
        {"bootstrap.servers": broker.bootstrap} | {key.replace("_", "."): settings[key] for key in settings}
    )
    if "transactional_id" in settings:
        made.init_transactions(PATIENCE_SECONDS)
        made.begin_transaction()
    yield made
    assert made.flush(PATIENCE_SECONDS) == 0


@contextmanager
def _consumer(broker: Broker, *, committed: bool) -> Iterator[Any]:
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "the-tests-own",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
    )
    try:
        yield consumer
    finally:
        consumer.close()
