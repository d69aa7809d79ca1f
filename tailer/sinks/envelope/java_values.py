"""Values as Debezium's connector for Cassandra gives them to Kafka's JSON converter, by their types.

Its defaults, but for digits: a decimal is written with all of them where the connector makes a double of it, and a
varint where it keeps the lowest 64 bits.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tailer.sinks.envelope.spelling import Spelling, blob, duration, text_of
from tailer.types import CqlType
from tailer.types.times import parse_date, parse_key_time, parse_timestamp

_DAYS_PER_MONTH: Final = 30
_DAY_NANOS: Final = 86_400_000_000_000

_TEXTS: Final = frozenset({"ascii", "text", "uuid", "timeuuid", "inet"})
"""Types that the connector has as strings."""


def _inet(value: msgspec.Raw) -> str:
    """As Java prints an address that has no name."""
    return "/" + text_of(value)


def _duration(value: msgspec.Raw) -> int:
    """Nanoseconds, all months of one length."""
    months, days, nanos = duration(value)
    return (months * _DAYS_PER_MONTH + days) * _DAY_NANOS + nanos


def _keyed(key: CqlType) -> bool:
    return key.kind in _TEXTS


JAVA: Final = Spelling(
    {
        "blob": blob,
        "date": lambda value: parse_date(text_of(value)),
        "duration": _duration,
        "inet": _inet,
        "time": lambda value: parse_key_time(text_of(value)),
        "timestamp": lambda value: parse_timestamp(text_of(value)),
    },
    "field{}".format,
    _keyed,
)
