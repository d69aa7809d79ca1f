"""The last position that was committed under a key, out of the topic of positions. Writes nothing.

All positions stand in one partition, so that one reading finds one, however many partitions somebody gave the topic.
It is read from its end backwards, for whoever starts again was there not long ago.
"""

from __future__ import annotations

import time
from typing import Final

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tailer.sinks.kafka.clients import SLICE_SECONDS, Clients, patiently
from tailer.sinks.kafka.place_text import place_of
from tailer.sinks.outlet import Place, TargetAwayError

PARTITION: Final = 0

_FIRST_LOOK: Final = 1000
"""So many offsets back at first, and then ten times as many."""
_ASK_SECONDS: Final = 5.0


def last_place(clients: Clients, admin: AdminClient, topic: str, key: bytes, wait_seconds: float) -> Place | None:
    """What was committed last under the key, by whomever, before this call; None for nothing.

    An open transaction of another writer may stand in front of the end: it is waited for so long, for a transaction
    takes no longer than its timeout. Then TargetAwayError.
    """
    until = time.monotonic() + wait_seconds
    ends = _Ends(clients, admin, topic)
    end = ends.last(committed=False)
    while ends.last(committed=True) < end:
        if time.monotonic() > until:
            raise TargetAwayError(
                f"{clients.heard.where}: the end of topic {topic} cannot be read: a transaction of another writer "
                f"is open there for {wait_seconds:g} s"
            )
        time.sleep(SLICE_SECONDS / 5)
    first, look = ends.first(), _FIRST_LOOK
    if end <= first:
        return None
    reader = clients.reader()
    try:
        while True:
            begin = max(first, end - look)
            found, value = _last_of(clients, reader, TopicPartition(topic, PARTITION, begin), end, key)
            if found:
                return None if value is None else place_of(value, f"topic {topic}")
            if begin == first:
                return None
            look *= 10
    finally:
        reader.close()


class _Ends:
    """Where the partition of positions begins and ends."""

    def __init__(self, clients: Clients, admin: AdminClient, topic: str) -> None:
        self._heard = clients.heard
        self._admin = admin
        self._partition = TopicPartition(topic, PARTITION)

    def first(self) -> int:
        return self._asked(OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED)

    def last(self, *, committed: bool) -> int:
        """Behind the last message; with `committed` behind the last whose transaction is over, and all before it."""
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        return self._asked(OffsetSpec.latest(), level)

    def _asked(self, spec: OffsetSpec, level: IsolationLevel) -> int:
        def ask(seconds: float) -> int:
            asked = self._admin.list_offsets(
                {self._partition: spec}, isolation_level=level, request_timeout=_ASK_SECONDS
            )
            return int(asked[self._partition].result(_ASK_SECONDS).offset)

        return patiently(ask, self._admin.poll, self._heard, "reading positions")


def _last_of(
    clients: Clients, reader: Consumer, begin: TopicPartition, end: int, key: bytes
) -> tuple[bool, bytes | None]:
    """Whether there is a message with the key from `begin` to before `end`, and the value of the last one."""
    reader.assign([begin])
    found, value = False, None
    while True:
        message = patiently(lambda seconds: _next(reader, seconds, end), _nobody, clients.heard, "reading positions")
        if message is None:
            return found, value
        if message.key() == key:
            found, value = True, message.value()


def _next(reader: Consumer, seconds: float, end: int) -> Message | None:
    """The next message before `end`; None where there is none. KafkaException while it takes long."""
    message = reader.poll(seconds)
    if message is None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
    error, at = message.error(), message.offset()
    if error is None or error.code() == KafkaError._PARTITION_EOF:
        if at is None or at >= end:
            return None
        if error is None:
            return message
    elif error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
        raise KafkaException(error)
    # Not the end that was asked for; or rights of a group, which is not needed to read.
    raise KafkaException(KafkaError(KafkaError._TIMED_OUT))


def _nobody(seconds: float) -> None:
    """The reader was polled already."""
