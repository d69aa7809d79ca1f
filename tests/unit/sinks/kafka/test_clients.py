"""Calls of Kafka's clients that take long or fail, with what they say from within."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("confluent_kafka")

from confluent_kafka import KafkaError, KafkaException

from tailer.errors import RefusedError
from tailer.sinks.kafka.clients import patiently, served
from tailer.sinks.kafka.heard import Heard
from tailer.sinks.outlet import TargetAwayError

FENCED = KafkaException(KafkaError(KafkaError._FENCED, "a newer one"))
LATE = KafkaException(KafkaError(KafkaError._TIMED_OUT, "too late"))


def heard() -> Heard:
    return Heard("Kafka (a:9092)", [].append)


def fails(error: Exception) -> Callable[[float], int]:
    def call(seconds: float) -> int:
        raise error

    return call


def over_another(error: BaseException) -> SystemError:
    """As Python makes it where a callback returns over a pending exception."""
    made = SystemError("returned a result with an exception set")
    made.__cause__ = error
    return made


def test_a_fatal_error_below_another_callback_is_what_is_raised() -> None:
    assert served(lambda seconds: 7, 1.0) == 7
    with pytest.raises(KafkaException) as raised:
        served(fails(over_another(FENCED)), 1.0)
    assert raised.value is FENCED
    for other in (over_another(ValueError()), SystemError()):
        with pytest.raises(SystemError):
            served(fails(other), 1.0)


def test_what_merely_takes_long_is_called_again() -> None:
    left = [LATE, LATE]

    def call(seconds: float) -> str:
        if left:
            raise left.pop()
        return "there"

    assert patiently(call, lambda seconds: None, heard(), "connecting", 5.0) == "there"


def test_what_takes_too_long_says_what_was_heard_of_it() -> None:
    own = heard()
    own.error(KafkaError(KafkaError._TRANSPORT, "Connection refused"))
    with pytest.raises(TargetAwayError, match=r"connecting: no answer for 0\.2 s: found Connection refused"):
        patiently(fails(LATE), lambda seconds: None, own, "connecting", 0.2)


@pytest.mark.parametrize("error", [FENCED, over_another(FENCED)])
def test_a_fatal_error_ends_it_wherever_it_comes_from(error: Exception) -> None:
    for call, poll in ((fails(error), lambda seconds: None), (fails(LATE), fails(error))):
        with pytest.raises(RefusedError, match="another run took over"):
            patiently(call, poll, heard(), "committing", 5.0)
