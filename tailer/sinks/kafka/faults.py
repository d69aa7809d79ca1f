"""What an error of Kafka's means for a run: which of the documented errors it is. Calls nothing.

Whatever may go away by itself is a target that is away; what a person must mend says so with its own exit code.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from confluent_kafka import KafkaError

from tailer.errors import CdcError, RefusedError, SinkError, UsageError
from tailer.sinks.outlet import TargetAwayError


class _Meaning(NamedTuple):
    """Of some codes: what is told, and what to do."""

    codes: frozenset[int]
    kind: type[CdcError]
    what: str
    remedy: str


_PASSWORDS: Final = _Meaning(
    frozenset({
        KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.ILLEGAL_SASL_STATE,
    }),
    UsageError,
    "the brokers do not take the user or the password",
    "Correct sasl.username and sasl.password, in the file of --kafka-config or as CDC_TAIL_KAFKA_SASL_USERNAME and "
    "CDC_TAIL_KAFKA_SASL_PASSWORD.",
)  # fmt: skip
_RIGHTS: Final = _Meaning(
    frozenset({
        KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }),
    UsageError,
    "no permission",
    "Give this user Write, Describe and DescribeConfigs on the topics, Read on that of the positions, and Write and "
    "Describe on the transactional id (prefix cdc-tail/).",
)  # fmt: skip
_DISTRUSTED: Final = _Meaning(
    frozenset(),
    UsageError,
    "the brokers' certificate is not trusted",
    "Name the certificate of who signed it: ssl.ca.location in the file of --kafka-config.",
)
_FENCED: Final = _Meaning(
    frozenset({KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH}),
    RefusedError,
    "another run took over this node and consumer",
    "Let one of the two go on; or give this one a consumer of its own.",
)
_SETTINGS: Final = _Meaning(
    frozenset({KafkaError._INVALID_ARG, KafkaError.INVALID_TRANSACTION_TIMEOUT}),
    UsageError,
    "a property that Kafka does not take",
    "Correct it in the file of --kafka-config, or in the environment.",
)
_REFUSED: Final = _Meaning(
    frozenset({
        KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE, KafkaError.INVALID_RECORD,
        KafkaError.POLICY_VIOLATION, KafkaError.TOPIC_EXCEPTION, KafkaError.INVALID_PARTITIONS,
        KafkaError.INVALID_REPLICATION_FACTOR, KafkaError.INVALID_CONFIG,
    }),
    SinkError,
    "refused",
    "The position has not moved; mend the topic.",
)  # fmt: skip
_DISTRUST: Final = "certificate verify failed"
"""What OpenSSL says of it; a connection that merely broke has the same code."""


def is_refusal(error: KafkaError) -> bool:
    """Whether trying again cannot help: the client itself tries for ever."""
    return error.code() in _PASSWORDS.codes or _is_distrust(error)


def is_fenced(error: KafkaError) -> bool:
    """Whether another producer took over, or the broker ended a transaction that took too long."""
    return error.code() in _FENCED.codes


def told(error: KafkaError, doing: str, where: str) -> CdcError:
    """The error of a run for one of Kafka's. `doing`: what was tried; `where`: the cluster in words."""
    meanings = [each for each in (_PASSWORDS, _RIGHTS, _FENCED, _SETTINGS, _REFUSED) if error.code() in each.codes]
    meanings += [_DISTRUSTED] if _is_distrust(error) else []
    for _, kind, what, remedy in meanings:
        return kind(f"{where}: {doing}: {what}", found=error.str(), remedy=remedy)
    return TargetAwayError(f"{where}: {doing}", found=error.str())


def _is_distrust(error: KafkaError) -> bool:
    return error.code() == KafkaError._SSL and _DISTRUST in error.str()
