"""Rows at a pace, by a clock that the test moves."""

from __future__ import annotations

import pytest

from tailer.snapshot.pace import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


@pytest.mark.parametrize("rate", [1.0, 50.0, 10_000.0])
def test_so_many_rows_a_second(rate: float) -> None:
    clock = Clock()
    pace = Pace(rate, clock, clock.sleep)
    for _ in range(int(20 * rate)):
        pace.take()
    assert 20 * 0.95 <= clock.now <= 20 * 1.05


def test_what_takes_long_elsewhere_is_not_caught_up() -> None:
    """A burst of more than a moment's rows would be what the limit is against."""
    clock = Clock()
    pace = Pace(100.0, clock, clock.sleep)
    pace.take()
    clock.now += 60
    before = clock.now
    for _ in range(200):
        pace.take()
    assert clock.now - before >= 1.9


def test_without_a_limit_nobody_waits() -> None:
    clock = Clock()
    pace = Pace(None, clock, clock.sleep)
    for _ in range(1000):
        pace.take()
    assert clock.now == 0
