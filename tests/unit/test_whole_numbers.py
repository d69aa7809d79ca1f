"""Numbers in texts that others wrote: of any length, and none of them ends a program with Python's own error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tailer.errors import UsageError
from tailer.limits import whole_number
from tailer.metrics.otel import OTEL_METRIC_EXPORT_INTERVAL, _interval_ms
from tailer.options.kinds import whole
from tailer.position import Position
from tailer.schema.ring import replica_count
from tailer.schema.server import Server
from tailer.snapshot.wanted import _numbers

LONG = "9" * 5000


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("18446744073709551615", 2**64 - 1),
        ("9" * 20, 10**20 - 1),
        ("9" * 21, None),
        (LONG, None),
        ("", None),
        ("-1", None),
        ("+1", None),
        (" 1", None),
        ("1_0", None),
        ("1e3", None),
        ("\u0661", None),
        ("\u00b2", None),
    ],
)
def test_a_number_is_ascii_digits_that_64_bits_may_need(text: str, number: int | None) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda: Position.parse(f"{LONG}:0"), None),
        (lambda: Position.parse(f"1:{LONG}"), None),
        (lambda: whole(1, 5, "N").read(LONG), None),
        (lambda: replica_count(LONG), 0),
    ],
)
def test_a_long_one_is_none(read: Callable[[], Any], expected: object) -> None:
    assert read() == expected


@pytest.mark.parametrize(
    "read",
    [
        lambda: Server.parse(f"host:{LONG}"),
        lambda: _numbers(f"{LONG}.0"),
        lambda: _numbers(f"5.{LONG}"),
        lambda: _interval_ms({OTEL_METRIC_EXPORT_INTERVAL: LONG}),
    ],
)
def test_a_long_one_is_refused(read: Callable[[], Any]) -> None:
    with pytest.raises(UsageError):
        read()
