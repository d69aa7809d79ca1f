"""What the cluster says of topics: whether they are there, with how many partitions, which messages they take. Makes
them where that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from tailer.errors import SinkError, UsageError
from tailer.sinks.kafka.clients import CONNECT_SECONDS, Clients, error_of, patiently
from tailer.sinks.kafka.faults import told

POSITIONS: Final = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20), "min.cleanable.dirty.ratio": "0.1"}
"""How the topic of positions is made: the last one of each key stays, and a start reads little."""

_BROKERS_OWN: Final = -1
"""As the brokers are set."""
_CONFIG_SECONDS: Final = 5.0


class Topic(NamedTuple):
    """`bytes_max`: of a batch of messages. `needs_key`: it is compacted, and takes no message without a key."""

    name: str
    partitions: int
    bytes_max: int
    needs_key: bool


class TopicsThere:
    """Of one connection; each topic is asked for once. `partitions`: of those that are made; None: as the brokers
    are set. `create`: whether any are made."""

    def __init__(self, clients: Clients, admin: AdminClient, create: bool, partitions: int | None) -> None:
        self._clients = clients
        self._admin = admin
        self._create = create
        self._partitions = _BROKERS_OWN if partitions is None else partitions
        self._known: dict[str, Topic] = {}

    def reach(self, name: str) -> None:
        """Returns once the cluster answers what it knows of a topic. Raises TargetAwayError, UsageError."""
        patiently(
            lambda seconds: self._admin.list_topics(name, timeout=seconds),
            self._admin.poll,
            self._clients.heard,
            "connecting",
            CONNECT_SECONDS,
        )

    def of(self, name: str) -> Topic:
        """The topic, made if that is so. SinkError for one that is not there."""
        topic = self._known.get(name)
        if topic is None:
            if not self._there(name):
                if not self._create:
                    raise SinkError(
                        f"{self._clients.heard.where} has no topic {name}",
                        remedy=f"Make it: kafka-topics.sh --create --topic {name} --partitions 6 --replication-factor "
                        "3 --bootstrap-server …; or give --create-topics.",
                    )
                self._make(name, self._partitions, {})
            topic = self._known[name] = self._described(name)
        return topic

    def positions(self, name: str) -> Topic:
        """The topic for positions, which keeps the last one of each key. UsageError."""
        if name not in self._known:
            self._check_positions(name)
            self._known[name] = self._described(name)
        return self._known[name]

    def _check_positions(self, name: str) -> None:
        where = self._clients.heard.where
        if not self._there(name):
            if not self._create:
                raise UsageError(
                    f"{where} has no topic {name}, where positions stand",
                    remedy=f"Make it: kafka-topics.sh --create --topic {name} --partitions 1 --replication-factor 3 "
                    "--config cleanup.policy=compact --bootstrap-server …; or give --create-topics.",
                )
            self._make(name, 1, POSITIONS)
        policy = self._settings(name)["cleanup.policy"]
        if policy != "compact":
            raise UsageError(
                f"topic {name}, where positions stand, does not keep them ({where})",
                expected="cleanup.policy=compact",
                found=policy,
                remedy=f"kafka-configs.sh --alter --entity-type topics --entity-name {name} --add-config "
                "cleanup.policy=compact --bootstrap-server …",
            )

    def _described(self, name: str) -> Topic:
        settings = self._settings(name)
        compacted = "compact" in settings["cleanup.policy"].split(",")
        return Topic(name, len(self._metadata(name).partitions), int(settings["max.message.bytes"]), compacted)

    def _there(self, name: str) -> bool:
        found = self._metadata(name)
        if found.error is None:
            return True
        if found.error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
            return False
        raise told(found.error, f"topic {name}", self._clients.heard.where)

    def _metadata(self, name: str) -> Any:
        known = self._asked(lambda seconds: self._admin.list_topics(name, timeout=seconds), f"topic {name}")
        return known.topics[name]

    def _settings(self, name: str) -> dict[str, str]:
        wanted = ConfigResource(ResourceType.TOPIC, name)

        def ask(seconds: float) -> Mapping[str, Any]:
            (asked,) = self._admin.describe_configs([wanted], request_timeout=_CONFIG_SECONDS).values()
            found: Mapping[str, Any] = asked.result(_CONFIG_SECONDS)
            return found

        return {key: entry.value for key, entry in self._asked(ask, f"settings of topic {name}").items()}

    def _make(self, name: str, partitions: int, settings: dict[str, str]) -> None:
        wanted = NewTopic(name, num_partitions=partitions, replication_factor=_BROKERS_OWN, config=settings)

        def ask(seconds: float) -> None:
            (asked,) = self._admin.create_topics([wanted], request_timeout=_CONFIG_SECONDS).values()
            try:
                asked.result(_CONFIG_SECONDS)
            except KafkaException as failure:
                # Another node's run makes the same.
                if error_of(failure).code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

        self._asked(ask, f"making topic {name}")
        self._asked(lambda seconds: self._must_be_there(name), f"topic {name}")

    def _must_be_there(self, name: str) -> None:
        """A topic that was just made is known to all brokers a moment later."""
        if not self._there(name):
            raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))

    def _asked(self, call: Any, doing: str) -> Any:
        return patiently(call, self._admin.poll, self._clients.heard, doing)
