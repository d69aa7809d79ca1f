"""The last hour of each consumer's lag: the worst of each half minute, and never more than so much."""

from __future__ import annotations

import random

from tailer.node_page.history import STEP_SECONDS, STEPS, LagHistory
from tailer.retention.status import Amount, ConsumerStatus, Lag

NOON = 1_764_000_000.0


def status(consumer: str, seconds: float, node: str = "n1") -> ConsumerStatus:
    lag = Lag(round(seconds * 100), 1, seconds)
    return ConsumerStatus(consumer, node, "1:0", "1:0", False, lag, Amount(0, 0), True, NOON, "p", "h", 0, 0, [])


def test_the_worst_of_each_step_is_kept() -> None:
    history = LagHistory()
    for after, seconds in ((0, 3.0), (5, 9.0), (29, 1.0), (30, 2.0), (95, 4.0)):
        history.add([status("c", seconds)], NOON + after)
    (past,) = history.past(NOON + 95)
    assert past.seconds[-4:] == [9.0, 2.0, None, 4.0]
    assert past.bytes[-4:] == [900, 200, None, 400]
    assert len(past.seconds) == len(past.bytes) == STEPS
    assert set(past.seconds[:-4]) == {None}


def test_what_is_older_than_an_hour_goes() -> None:
    history = LagHistory()
    history.add([status("c", 7.0), status("gone", 1.0)], NOON)
    last = NOON + (STEPS - 1) * STEP_SECONDS
    history.add([status("c", 1.0)], last)
    assert [past.seconds[0] for past in history.past(last)] == [7.0, 1.0]
    history.add([status("c", 1.0)], last + STEP_SECONDS)
    (past,) = history.past(last + STEP_SECONDS)
    assert (past.consumer, past.seconds[0], past.seconds[-2:]) == ("c", None, [1.0, 1.0])


def test_against_all_samples() -> None:
    """A model that forgets nothing."""
    choose = random.Random(1)
    history, samples, now = LagHistory(), [], NOON
    for _ in range(3000):
        now += choose.choice((0.2, 3.0, 10.0, 100.0))
        samples.append((now, round(choose.random() * 50, 3)))
        history.add([status("c", samples[-1][1])], now)
    (past,) = history.past(now)
    for back in range(STEPS):
        step = now // STEP_SECONDS - back
        inside = [seconds for at, seconds in samples if at // STEP_SECONDS == step]
        assert past.seconds[STEPS - 1 - back] == (max(inside) if inside else None)


def test_so_much_and_no_more() -> None:
    history = LagHistory(kept_max=3)
    for number in range(100):
        history.add([status(f"c{name}", 1.0) for name in range(50)], NOON + number * 0.5)
    assert [past.consumer for past in history.past(NOON + 50)] == ["c0", "c1", "c2"]
    # Room is made by those that have gone.
    history.add([status("new", 1.0)], NOON + 4000)
    assert [past.consumer for past in history.past(NOON + 4000)] == ["new"]


def test_consumers_are_told_apart_by_node() -> None:
    history = LagHistory()
    history.add([status("c", 1.0, "n1"), status("c", 2.0, "n2")], NOON)
    assert [(past.node, past.seconds[-1]) for past in history.past(NOON)] == [("n1", 1.0), ("n2", 2.0)]


def test_a_clock_that_is_set_back_breaks_nothing() -> None:
    history = LagHistory()
    history.add([status("c", 1.0)], NOON)
    history.add([status("c", 5.0)], NOON - 600)
    (past,) = history.past(NOON)
    assert past.seconds[-1] == 5.0
    assert set(history.past(NOON - 600)[0].seconds) == {None}
