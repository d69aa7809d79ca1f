"""Which of the documented errors one of Kafka's is: what goes away by itself is tried again, and nothing else is."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip("confluent_kafka")

from confluent_kafka import KafkaError

from tailer.errors import CdcError, RefusedError, SinkError, UsageError
from tailer.sinks.kafka.faults import told
from tailer.sinks.kafka.heard import Heard
from tailer.sinks.outlet import TargetAwayError


@pytest.mark.parametrize(
    ("code", "kind", "exit_code"),
    [
        (KafkaError._AUTHENTICATION, UsageError, 2),
        (KafkaError.SASL_AUTHENTICATION_FAILED, UsageError, 2),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, UsageError, 2),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, UsageError, 2),
        (KafkaError._INVALID_ARG, UsageError, 2),
        (KafkaError._FENCED, RefusedError, 6),
        (KafkaError.MSG_SIZE_TOO_LARGE, SinkError, 7),
        (KafkaError.POLICY_VIOLATION, SinkError, 7),
        (KafkaError._TRANSPORT, TargetAwayError, 8),
        (KafkaError._ALL_BROKERS_DOWN, TargetAwayError, 8),
        (KafkaError._TIMED_OUT, TargetAwayError, 8),
        (KafkaError.NOT_ENOUGH_REPLICAS, TargetAwayError, 8),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, TargetAwayError, 8),
        (KafkaError.INVALID_PRODUCER_ID_MAPPING, TargetAwayError, 8),
        (KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, TargetAwayError, 8),
    ],
)
def test_each_has_its_exit_code(code: int, kind: type[CdcError], exit_code: int) -> None:
    error = told(KafkaError(code, "what the broker says"), "sending rows", "Kafka (a:9092)")
    assert (type(error), error.code) == (kind, exit_code)
    assert str(error).startswith("Kafka (a:9092): sending rows")
    assert "what the broker says" in str(error)


def test_a_certificate_that_is_not_trusted_is_told_apart_from_a_connection_that_broke() -> None:
    distrust = KafkaError(KafkaError._SSL, "SSL handshake failed: certificate verify failed: broker certificate")
    broke = KafkaError(KafkaError._SSL, "SSL handshake failed: Disconnected")
    assert [told(error, "connecting", "Kafka").code for error in (distrust, broke)] == [2, 8]


def test_what_is_useless_to_wait_for_is_told_and_forgotten_at_the_next_beginning() -> None:
    heard = Heard("Kafka (a:9092)", [].append)
    heard.error(KafkaError(KafkaError._TRANSPORT, "refused"))
    heard.error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    heard.check("connecting")
    assert heard.last is not None
    assert heard.last.str() == "refused"
    heard.error(KafkaError(KafkaError._AUTHENTICATION, "no such user"))
    with pytest.raises(UsageError, match="no such user"):
        heard.check("connecting")
    heard.begin()
    heard.check("connecting")
    assert heard.last is None


def test_why_all_are_down_is_what_the_last_connection_said() -> None:
    heard, down = Heard("Kafka", [].append), KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
    late = KafkaError(KafkaError._TIMED_OUT, "too late")
    assert heard.why(late) == "too late"
    heard.error(down)
    assert heard.why(late) == "1/1 brokers are down"
    heard.logger.info("FAIL [rdkafka#producer-1] [thrd:a:9092/bootstrap]: a:9092/bootstrap: Disconnected")
    assert heard.why(late) == "1/1 brokers are down: a:9092/bootstrap: Disconnected"
    heard.last = None
    assert heard.why(late) == "too late: a:9092/bootstrap: Disconnected"
    heard.error(KafkaError(KafkaError._TRANSPORT, "refused"))
    assert heard.why(late) == "refused"


def test_lines_of_the_clients_log_come_once_of_each_kind_and_not_those_of_connections() -> None:
    said: list[str] = []
    logger = Heard("Kafka", said.append).logger
    logger.log(logging.ERROR, "FAIL [rdkafka#producer-1] Connect to ipv4#127.0.0.1:1 failed")
    logger.log(logging.INFO, "INIT [rdkafka#producer-1] librdkafka v2")
    for _ in range(3):
        logger.log(logging.WARNING, "CONFWARN [rdkafka#producer-1] property is deprecated")
    assert said == ["warning: Kafka's client: CONFWARN [rdkafka#producer-1] property is deprecated"]
    assert not logger.propagate or logger.parent is None
