"""The outlet for Kafka: rows as messages, and the position behind them as one more message of the same transaction.

Rows are kept as messages until they are committed, and are sent then: so a transaction lasts as long as the sending,
and what a cluster that was away has not taken is sent again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tailer.errors import RefusedError, SinkError
from tailer.sinks.base import Rows
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.messages import Message
from tailer.sinks.envelope.options import NAME, options_of
from tailer.sinks.envelope.topics import TopicNames
from tailer.sinks.kafka.clients import Clients
from tailer.sinks.kafka.heard import Heard
from tailer.sinks.kafka.held import Held, hold
from tailer.sinks.kafka.place_text import key_bytes, transactional_id, value_bytes
from tailer.sinks.kafka.positions import PARTITION, last_place
from tailer.sinks.kafka.record_size import batch_size
from tailer.sinks.kafka.sending import Outgoing, Sending, transaction_seconds
from tailer.sinks.kafka.settings import ADDRESSES, Settings, settings_of
from tailer.sinks.kafka.topics_there import Topic, TopicsThere
from tailer.sinks.outlet import Outlet, OutletContext, Place
from tailer.sinks.outlet_options import bounds_of, check_named


def open_outlet(to: str, values: Mapping[str, Any], context: OutletContext) -> Outlet:
    """Of `--to kafka`, not connected yet. UsageError."""
    settings = settings_of(values["brokers"], values["kafka_config"], os.environ)
    check_named(context.key, "Kafka")
    return KafkaOutlet(settings, values, context)


class _Connection(NamedTuple):
    topics: TopicsThere
    sending: Sending


class KafkaOutlet:
    """An Outlet. Each row is there once for whoever reads what was committed; without transactions at least once."""

    def __init__(self, settings: Settings, values: Mapping[str, Any], context: OutletContext) -> None:
        self.name = f"Kafka ({settings[ADDRESSES]})"
        self.keeps_place = not values["at_least_once"]
        self.bounds = bounds_of(values)
        self._key = context.key
        self._refused = context.refused
        self._create: bool = values["create_topics"]
        self._partitions: int | None = values["partitions"]
        self._positions: str = values["positions_topic"]
        self._names = TopicNames(values["topic"], context.key.node)
        options = options_of(values, NAME, context.key.node)
        self._images = context.images is not None
        self._envelope = Envelope(
            options, context.tables, context.typed, images=self._images, versions=context.versions
        )
        self._clients = Clients(settings, Heard(self.name, context.say))
        self._connection: _Connection | None = None
        self._stands: Place | None = None
        self._held: list[Held] = []

    def open(self) -> Place | None:
        """See Outlet. Whoever had the position before is shut out first; then it is read."""
        self._disconnect()
        self._clients.heard.begin()
        admin = self._clients.admin()
        topics = TopicsThere(self._clients, admin, self._create, self._partitions)
        topics.reach(self._positions)
        if not self.keeps_place:
            self._connection = _Connection(topics, Sending(self._clients, None))
            return None
        topics.positions(self._positions)
        sending = Sending(self._clients, transactional_id(self._key))
        self._connection = _Connection(topics, sending)
        sending.take_over()
        wait = transaction_seconds(self._clients.settings)
        self._stands = last_place(self._clients, admin, self._positions, key_bytes(self._key), wait)
        return self._stands

    def write(self, batch: Rows) -> int:
        """See Outlet."""
        messages = self._envelope.messages(batch.to_arrow(), int(time.time() * 1000))
        self._held.append(hold(batch, messages))
        return sum(held.bytes for held in self._held)

    def commit(self, before: Place | None, behind: Place) -> None:
        """See Outlet."""
        if self.keeps_place and before != self._stands:
            raise RefusedError(
                f"{self.name} keeps another position than this run goes on from",
                expected=None if before is None else before.offset,
                found=None if self._stands is None else self._stands.offset,
            )
        assert self._connection is not None, "the outlet is open"
        topics, sending = self._connection
        self._leave_out_refused(topics)
        sending.send(self._outgoing(topics, behind))
        self._stands = behind
        self.settled()

    def settled(self) -> None:
        """See Outlet."""
        self._held.clear()

    def close(self) -> None:
        """See Outlet."""
        self._disconnect()
        self._held.clear()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.sending.close()
            self._connection = None

    def _outgoing(self, topics: TopicsThere, behind: Place) -> Iterator[Outgoing]:
        for held in self._held:
            for message in held.messages:
                topic = self._topic(topics, message.keyspace, message.table)
                # A change of no partition of the table is as good in one partition of the topic as in another.
                partition = 0 if message.token is None else message.token % topic.partitions
                yield Outgoing(topic, partition, message.key, message.value, message.headers)
        if self.keeps_place:
            topic = topics.positions(self._positions)
            yield Outgoing(topic, PARTITION, key_bytes(self._key), value_bytes(behind), ())

    def _leave_out_refused(self, topics: TopicsThere) -> None:
        """What its topic would not take; the other rows stay."""
        for number, held in enumerate(self._held):
            there = [self._topic(topics, *table) for table in held.tables]
            if not any(held.longest > topic.bytes_max or (held.keyless and topic.needs_key) for topic in there):
                continue
            schemas, needless = self._schemas(held), set[int]()
            refused: dict[int, SinkError] = {}
            for message in held.messages:
                topic = self._topic(topics, message.keyspace, message.table)
                if topic.needs_key and message.row in schemas:
                    needless.add(message.row)
                    continue
                error = _refusal(message, topic)
                if error is not None:
                    refused.setdefault(message.row, error)
            for row, error in refused.items():
                self._refused(held.batch, row, error)
            if refused or needless:
                self._held[number] = held.without({*refused, *needless})

    def _schemas(self, held: Held) -> frozenset[int]:
        """Images that tell of other columns. A compacted topic has no room for what has no key, and who reads one no
        need of these: each image of a row says the columns that it has."""
        if not self._images:
            return frozenset()
        told = zip(held.messages.row.to_pylist(), held.messages.op.to_pylist(), strict=True)
        return frozenset(row for row, op in told if op == "schema")

    def _topic(self, topics: TopicsThere, keyspace: str, table: str) -> Topic:
        return topics.of(self._names.of(keyspace, table))


def _refusal(message: Message, topic: Topic) -> SinkError | None:
    """Why the topic would not take a message."""
    row = f"row {dict(message.headers)['event_id'].decode()} of {message.keyspace}.{message.table}"
    size = batch_size(message.key, message.value, message.headers)
    if size > topic.bytes_max:
        return SinkError(
            f"{row} is too large for topic {topic.name}",
            expected=f"at most {topic.bytes_max} bytes (max.message.bytes)",
            found=f"{size}",
            remedy="Raise max.message.bytes of the topic, or put such rows aside with --on-error quarantine.",
        )
    if topic.needs_key and message.key is None:
        return SinkError(
            f"{row} has no key, and topic {topic.name} takes none without: it is compacted",
            remedy="Set cleanup.policy=delete for the topic, or put such rows aside with --on-error quarantine.",
        )
    return None
