"""Threads of many nodes take turns; one that hangs holds nobody up, and whoever waits hears of the last."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from tailer.spark.turns import PASS_SECONDS, TELL_SECONDS, Turns

PATIENCE = 60.0


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Told:
    """Counts what is said, and can be waited at."""

    def __init__(self) -> None:
        self.count = 0
        self._heard = threading.Semaphore(0)

    def __call__(self) -> None:
        self.count += 1
        self._heard.release()

    def wait(self) -> None:
        assert self._heard.acquire(timeout=PATIENCE)


class Worker:
    """Takes a turn, keeps it until it is let go, and gives it back."""

    def __init__(self, turns: Turns) -> None:
        self.has, self._go = threading.Event(), threading.Event()
        self._turns = turns
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def let_go(self) -> None:
        self._go.set()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()

    def _run(self) -> None:
        turn = self._turns.take()
        self.has.set()
        self._go.wait(PATIENCE)
        self._turns.give(turn)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def turns(clock: Clock, told: Told) -> Iterator[Turns]:
    found = Turns(told, clock)
    yield found
    found.free()


def until(true: Callable[[], bool]) -> None:
    waited = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if true():
            return
        waited.wait(0.005)
    raise AssertionError("it never came to it")


def queued(turns: Turns, count: int) -> list[Worker]:
    """Workers in the order of their turns: the first has it."""
    found = [Worker(turns)]
    assert found[0].has.wait(PATIENCE)
    for number in range(1, count):
        found.append(Worker(turns))
        until(lambda number=number: turns.waiting == number)
    return found


def test_one_at_a_time_in_the_order_they_came(turns: Turns) -> None:
    workers = queued(turns, 4)
    for number, worker in enumerate(workers):
        assert worker.has.wait(PATIENCE)
        assert not any(later.has.is_set() for later in workers[number + 1 :])
        worker.let_go()


def test_the_last_of_many_tells(turns: Turns, told: Told) -> None:
    first, second, third = queued(turns, 3)
    first.let_go()
    second.let_go()
    assert told.count == 0
    third.let_go()
    assert told.count == 1


def test_what_came_is_told_while_others_go_on(turns: Turns, told: Told, clock: Clock) -> None:
    first, second, _third = queued(turns, 3)
    first.let_go()
    clock.now += TELL_SECONDS
    second.let_go()
    assert told.count == 1


def test_one_that_hangs_is_passed_over(turns: Turns, told: Told, clock: Clock) -> None:
    hangs, second, third = queued(turns, 3)
    turns.pass_over()
    assert not second.has.is_set()
    clock.now += PASS_SECONDS
    turns.pass_over()
    assert second.has.wait(PATIENCE)
    assert not third.has.is_set()
    # What it comes to in the end takes no other's turn away.
    hangs.let_go()
    assert not third.has.is_set()
    told.wait()
    second.let_go()
    third.let_go()


def test_without_turns_everybody_goes_on(turns: Turns) -> None:
    workers = queued(turns, 3)
    turns.free()
    assert all(worker.has.wait(PATIENCE) for worker in workers)
    assert Worker(turns).has.wait(PATIENCE)
    for worker in workers:
        worker.let_go()
