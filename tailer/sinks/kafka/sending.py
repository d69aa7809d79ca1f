"""One producer from its opening to its end: what it is given goes out together, or nothing of it counts.

In a transaction, or without one, acknowledged by all replicas in sync. After an error it is of no use any more: a new
one finishes or aborts what this one began. Knows no row and no position.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from typing import Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException

from tailer.errors import CdcError, RefusedError
from tailer.sinks.envelope.messages import Headers
from tailer.sinks.kafka.clients import AWAY_SECONDS, SLICE_SECONDS, Clients, away, error_of, patiently, served
from tailer.sinks.kafka.faults import is_fenced, told
from tailer.sinks.kafka.record_size import MORE_IN_BATCH, batch_size
from tailer.sinks.kafka.settings import BATCH_SIZE, TRANSACTION_MS, Settings
from tailer.sinks.kafka.topics_there import Topic
from tailer.sinks.outlet import TargetAwayError

BATCH_BYTES: Final = 1_000_000
"""The client makes no longer batches, unless it is told."""
SENDING: Final = "sending rows"

_BATCH_MORE: Final = 1000
"""What a batch may be longer than its messages."""
_TRANSACTION_MS: Final = 60_000
_ABORT_SECONDS: Final = 5.0


class Outgoing(NamedTuple):
    """A message for a partition of a topic."""

    topic: Topic
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Sending:
    """With a `transactional_id` in transactions; the first thing is `take_over` then."""

    def __init__(self, clients: Clients, transactional_id: str | None) -> None:
        self._heard = clients.heard
        self._failed: list[KafkaError] = []
        # It checks its settings: so they can be read then.
        self._producer = clients.producer(transactional_id, self._failed)
        self._transactional = transactional_id is not None
        self._transaction_seconds = transaction_seconds(clients.settings)
        self._batch_bytes = int(clients.settings.get(BATCH_SIZE, BATCH_BYTES)) + _BATCH_MORE
        self._began: float | None = None
        self._lost = False
        self._on_their_way: dict[str, int] = {}

    def take_over(self) -> None:
        """Shut out who wrote with this id before, and settle what they began: it is committed now, or void."""
        patiently(self._producer.init_transactions, self._producer.poll, self._heard, "taking over")

    def send(self, messages: Iterable[Outgoing]) -> None:
        """All of them together: when this returns they are there. Raises the errors of `told`; then nobody knows."""
        self._began = time.monotonic()
        try:
            # What it has to say of the time since the last sending explains nothing that comes.
            served(self._producer.poll, 0)
            self._heard.begin()
            self._send(messages)
        except KafkaException as failure:
            raise self._fate(self._told(error_of(failure))) from None
        except CdcError as error:
            raise self._fate(error) from None
        self._began = None

    def close(self) -> None:
        """Give up what is not settled, so that who reads need not wait for the transaction's timeout."""
        if self._transactional and self._began is not None and not self._lost:
            self._abort()
        self._producer.purge()
        with contextlib.suppress(KafkaException):
            # A fatal error is of messages that are given up.
            served(self._producer.flush, SLICE_SECONDS)

    def _send(self, messages: Iterable[Outgoing]) -> None:
        if self._transactional:
            self._producer.begin_transaction()
        for message in messages:
            self._give(message)
        self._flush()
        if self._transactional:
            patiently(self._producer.commit_transaction, self._producer.poll, self._heard, "committing")

    def _give(self, message: Outgoing) -> None:
        topic, partition, key, value, headers = message
        if topic.bytes_max < self._batch_bytes:
            self._keep_batches_small(topic, batch_size(key, value, headers))
        waited = 0.0
        while True:
            try:
                self._producer.produce(topic.name, value, key, partition, headers=list(headers))
                return
            except BufferError:
                # The client has its hands full: what it holds is on its way.
                if waited > AWAY_SECONDS:
                    raise away(self._heard, SENDING, KafkaError(KafkaError._QUEUE_FULL)) from None
                waited += self._let_out()

    def _let_out(self) -> float:
        """Wait until the queue is shorter; how long that took in vain."""
        before, began = len(self._producer), time.monotonic()
        served(self._producer.poll, SLICE_SECONDS)
        self._heard.check(SENDING)
        return 0.0 if len(self._producer) < before else time.monotonic() - began

    def _keep_batches_small(self, topic: Topic, size: int) -> None:
        """The client would make longer batches than this topic takes: before that all that is on its way arrives."""
        together = self._on_their_way.get(topic.name, 0) + size + MORE_IN_BATCH
        if together > topic.bytes_max:
            self._flush()
            together = size + MORE_IN_BATCH
        self._on_their_way[topic.name] = together

    def _flush(self) -> None:
        """Everything given is acknowledged. Waits as long as there is progress."""
        left, since = len(self._producer), time.monotonic()
        while True:
            now_left = served(self._producer.flush, SLICE_SECONDS)
            if self._failed:
                raise self._told(self._failed[0])
            if not now_left:
                self._on_their_way.clear()
                return
            self._heard.check(SENDING)
            if now_left < left:
                left, since = now_left, time.monotonic()
            elif time.monotonic() - since > AWAY_SECONDS:
                raise away(self._heard, SENDING, KafkaError(KafkaError._TIMED_OUT))

    def _told(self, error: KafkaError) -> CdcError:
        """The reason, which is not always what the call says: a message's failure, or that another producer took over,
        comes first, and every call behind it merely says that the transaction has failed."""
        try:
            served(self._producer.poll, 0)
        except KafkaException as failure:
            # A fatal error says more than the call that failed by it.
            error = error_of(failure)
        heard = [each for each in (*self._failed, error, self._heard.last) if each is not None]
        fenced = next(filter(is_fenced, heard), None)
        return told(fenced or heard[0], SENDING, self._heard.where)

    def _fate(self, error: CdcError) -> CdcError:
        """The broker ends a transaction that takes too long as if another producer had come: then none did."""
        overdue = self._began is not None and time.monotonic() - self._began > self._transaction_seconds
        if overdue and isinstance(error, RefusedError):
            error = TargetAwayError(f"{self._heard.where}: {SENDING}: it took longer than {TRANSACTION_MS}")
        # Nobody can be asked to abort it, or it is aborted already.
        self._lost = isinstance(error, TargetAwayError | RefusedError)
        return error

    def _abort(self) -> None:
        try:
            self._producer.abort_transaction(_ABORT_SECONDS)
        except KafkaException as failure:
            self._heard.say(
                f"warning: {self._heard.where}: a transaction could not be aborted ({error_of(failure).str()}): who "
                f"reads committed messages waits for it, {self._transaction_seconds:g} s at most"
            )


def transaction_seconds(settings: Settings) -> float:
    """How long a transaction may take before the broker aborts it."""
    return int(settings.get(TRANSACTION_MS, _TRANSACTION_MS)) / 1000
