"""What an error of Kafka's means for a run: which of the documented errors it is. Calls nothing.

Whatever may go away by itself is a target that is away; what a person must mend says so with its own exit code.
"""

from __future__ import annotations

from typing import Final

from confluent_kafka import KafkaError

from tailer.errors import CdcError, RefusedError, SinkError, UsageError
from tailer.sinks.outlet import TargetAwayError

_PASSWORDS: Final = frozenset({
    KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.ILLEGAL_SASL_STATE,
})  # fmt: skip
_RIGHTS: Final = frozenset({
    KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
})  # fmt: skip
_FENCED: Final = frozenset({KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH})
_SETTINGS: Final = frozenset({KafkaError._INVALID_ARG, KafkaError.INVALID_TRANSACTION_TIMEOUT})
_REFUSED: Final = frozenset({
    KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD, KafkaError.POLICY_VIOLATION, KafkaError.TOPIC_EXCEPTION,
    KafkaError.INVALID_PARTITIONS, KafkaError.INVALID_REPLICATION_FACTOR, KafkaError.INVALID_CONFIG,
    KafkaError.RECORD_LIST_TOO_LARGE,
})  # fmt: skip


def is_refusal(error: KafkaError) -> bool:
    """Whether trying again cannot help: the client itself tries for ever."""
    return error.code() in _PASSWORDS


def is_fenced(error: KafkaError) -> bool:
    """Whether another producer took over, or the broker ended a transaction that took too long."""
    return error.code() in _FENCED


def told(error: KafkaError, doing: str, where: str) -> CdcError:
    """The error of a run for one of Kafka's. `doing`: what was tried; `where`: the cluster in words."""
    code, what = error.code(), f"{where}: {doing}"
    if code in _PASSWORDS:
        return UsageError(
            f"{what}: the brokers do not take the user or the password",
            found=error.str(),
            remedy="Correct sasl.username and sasl.password, in the file of --kafka-config or as "
            "CDC_TAIL_KAFKA_SASL_USERNAME and CDC_TAIL_KAFKA_SASL_PASSWORD.",
        )
    if code in _RIGHTS:
        return UsageError(
            f"{what}: no permission",
            found=error.str(),
            remedy="Give this user Write, Describe and DescribeConfigs on the topics, Read on that of the positions, "
            "and Write and Describe on the transactional id (prefix cdc-tail/).",
        )
    if code in _FENCED:
        return RefusedError(
            f"{what}: another run took over this node and consumer",
            found=error.str(),
            remedy="Let one of the two go on; or give this one a consumer of its own.",
        )
    if code in _SETTINGS:
        return UsageError(
            f"{what}: a property that Kafka does not take",
            found=error.str(),
            remedy="Correct it in the file of --kafka-config, or in the environment.",
        )
    if code in _REFUSED:
        return SinkError(f"{what}: refused", found=error.str(), remedy="The position has not moved; mend the topic.")
    return TargetAwayError(what, found=error.str())
