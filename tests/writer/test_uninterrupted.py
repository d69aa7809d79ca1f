"""Work that signals come into: it is done whole, and their handlers are called behind it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from writer_hooks.uninterrupted import uninterrupted


class Struck(Exception):
    """What a handler raises."""


called: list[int] = []


def handle(number: int, frame: FrameType | None) -> None:
    called.append(number)
    raise Struck(number)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    called.clear()
    before = {number: signal.signal(number, handle) for number in (signal.SIGUSR1, signal.SIGUSR2)}
    yield
    for number, found in before.items():
        signal.signal(number, found)


def work(done: list[str], *numbers: int) -> str:
    for number in numbers:
        signal.raise_signal(number)
        done.append("went on")
    assert called == []
    return "made"


def test_it_gives_what_the_work_gives() -> None:
    done: list[str] = []
    assert uninterrupted(lambda: work(done)) == "made"
    assert signal.getsignal(signal.SIGUSR1) is handle


def test_a_handler_is_called_behind_the_work() -> None:
    done: list[str] = []
    with pytest.raises(Struck):
        uninterrupted(lambda: work(done, signal.SIGUSR1))
    assert (done, called) == (["went on"], [signal.SIGUSR1])
    assert signal.getsignal(signal.SIGUSR1) is handle


def test_every_signal_has_its_handler_called() -> None:
    done: list[str] = []
    with pytest.raises(Struck) as last:
        uninterrupted(lambda: work(done, signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR1))
    assert (len(done), called) == (3, [signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR1])
    assert last.value.args == (signal.SIGUSR1,)
    assert signal.getsignal(signal.SIGUSR2) is handle


def test_what_the_work_raises_comes_out() -> None:
    with pytest.raises(ZeroDivisionError):
        uninterrupted(lambda: 1 // 0)
    assert signal.getsignal(signal.SIGUSR1) is handle


def test_a_forked_child_has_its_handlers() -> None:
    def fork() -> int:
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        try:
            signal.raise_signal(signal.SIGUSR1)
        except Struck:
            os._exit(7)
        finally:
            os._exit(1)

    assert uninterrupted(fork) == 7


def test_in_another_thread_there_is_nothing_to_put_off() -> None:
    made: list[str] = []
    thread = threading.Thread(target=lambda: made.append(uninterrupted(lambda: "made")))
    thread.start()
    thread.join()
    assert made == ["made"]
