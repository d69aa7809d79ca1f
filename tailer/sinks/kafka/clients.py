"""Kafka's clients as an outlet needs them, made of its settings; and calls that merely take long."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Final, NamedTuple, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from tailer.sinks.kafka.faults import told
from tailer.sinks.kafka.heard import Heard
from tailer.sinks.kafka.settings import Settings, of_any_client
from tailer.sinks.outlet import TargetAwayError

T = TypeVar("T")

AWAY_SECONDS: Final = 10.0
"""With nothing done for so long the cluster is away: whoever waits longer starts again from a new connection."""
CONNECT_SECONDS: Final = 5.0
SLICE_SECONDS: Final = 0.5
"""One call waits no longer, so that what the clients say meanwhile is heard, and Ctrl-C is."""

_DEFAULTS: Final = {
    "client.id": "cdc-tail",
    # A topic is made when that was asked for, and not by looking for it.
    "allow.auto.create.topics": "false",
    # A cluster that is back is found soon: by default up to ten seconds pass between two tries.
    "reconnect.backoff.max.ms": "1000",
}
_PRODUCER: Final[dict[str, Any]] = {
    "enable.idempotence": "true",
    "delivery.report.only.error": True,
    # A topic's own bound counts, by which a row is refused before it is sent.
    "message.max.bytes": "1000000000",
}
_NOT_YET: Final = frozenset({
    KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT_QUEUE,
    KafkaError._WAIT_COORD, KafkaError.REQUEST_TIMED_OUT, KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR, KafkaError.CONCURRENT_TRANSACTIONS,
})  # fmt: skip


def error_of(failure: KafkaException) -> KafkaError:
    """What an exception of the clients is of."""
    error: KafkaError = failure.args[0]
    return error


class Clients(NamedTuple):
    """Makes them. The same settings for all, as far as each knows them."""

    settings: Settings
    heard: Heard

    def producer(self, transactional_id: str | None, failed: list[KafkaError]) -> Producer:
        """With an id it writes in transactions. `failed`: takes why messages were not taken.

        Nothing that holds the producer may be given to it: its threads would live on until cycles are collected.
        """
        own = {} if transactional_id is None else {"transactional.id": transactional_id}
        wanted = {**_DEFAULTS, **_PRODUCER, **self.settings, **own}

        def report(error: KafkaError | None, message: object) -> None:
            if error is not None:
                failed.append(error)

        return self._made(Producer, {**wanted, "on_delivery": report})

    def admin(self) -> AdminClient:
        return self._made(AdminClient, {**_DEFAULTS, **of_any_client(self.settings)})

    def reader(self) -> Consumer:
        """Reads what was committed, where it is told to, and keeps no offsets."""
        own = {
            "group.id": "cdc-tail",
            "isolation.level": "read_committed",
            "enable.auto.commit": "false",
            "enable.partition.eof": "true",
            "auto.offset.reset": "error",
            # The end is told when a fetch comes back empty.
            "fetch.wait.max.ms": "10",
        }
        return self._made(Consumer, {**_DEFAULTS, **of_any_client(self.settings), **own})

    def _made(self, kind: Callable[[dict[str, Any]], T], settings: dict[str, Any]) -> T:
        try:
            return kind({**settings, "error_cb": self.heard.error, "logger": self.heard.logger})
        except KafkaException as failure:
            raise told(error_of(failure), "connecting", self.heard.where) from None


def served(call: Callable[[float], T], seconds: float) -> T:
    """What a call of a client gives, in which it hands over what it has to say.

    It raises a fatal error from there; a report on a message that comes behind it is called all the same, and Python
    makes another error of both: what it was is raised.
    """
    try:
        return call(seconds)
    except SystemError as failure:
        if isinstance(failure.__cause__, KafkaException):
            raise failure.__cause__ from None
        raise


def patiently(
    call: Callable[[float], T],
    poll: Callable[[float], object],
    heard: Heard,
    doing: str,
    patience: float = AWAY_SECONDS,
) -> T:
    """What a call gives that is given some seconds; called again while it merely takes long.

    `poll`: lets its client say what it has to. Raises what `told` makes of the error.
    """
    until = time.monotonic() + patience
    while True:
        began = time.monotonic()
        try:
            return served(call, SLICE_SECONDS)
        except KafkaException as failure:
            error = error_of(failure)
        except FutureTimeoutError:
            error = KafkaError(KafkaError._TIMED_OUT)
        try:
            served(poll, 0)
        except KafkaException as failure:
            # No call of this client will succeed any more.
            error = error_of(failure)
        heard.check(doing)
        if not (error.retriable() or error.code() in _NOT_YET):
            raise told(error, doing, heard.where)
        if time.monotonic() > until:
            raise away(heard, doing, error, patience)
        time.sleep(max(0.0, began + SLICE_SECONDS / 5 - time.monotonic()))


def away(heard: Heard, doing: str, error: KafkaError, patience: float = AWAY_SECONDS) -> TargetAwayError:
    """The cluster does not answer; what was heard of its connections says why."""
    return TargetAwayError(f"{heard.where}: {doing}: no answer for {patience:g} s", found=heard.why(error))
