"""A thread of one node: what asks the node's file system runs there, so that one that hangs blocks nobody else.

Knows no node and no offset: it does one thing at a time, whoever asks for it goes on, and takes what came of it later.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from tailer.spark.turns import Turns

T = TypeVar("T")


class Outcome(Generic[T]):
    """What a piece of work gave: a value, or what it raised."""

    __slots__ = ("_error", "_value")

    def __init__(self, work: Callable[[], T]) -> None:
        self._error: BaseException | None = None
        try:
            self._value = work()
        except BaseException as error:
            # Raised where it is taken; a thread has nobody to tell.
            self._error = error

    def get(self) -> T:
        """The value. Raises what the work raised."""
        if self._error is not None:
            raise self._error
        return self._value


class NodeThread(Generic[T]):
    """Started by the first work. `turns` are taken for it, or `answered` is called behind it, both in the thread.

    The process ends without it: work that never comes back keeps nobody.
    """

    def __init__(self, name: str, turns: Turns, answered: Callable[[], None]) -> None:
        self._name = name
        self._turns = turns
        self._answered = answered
        self._todo: queue.SimpleQueue[tuple[Callable[[], T], bool] | None] = queue.SimpleQueue()
        self._outcome: Outcome[T] | None = None
        self._thread: threading.Thread | None = None
        self.busy = False
        """Work was begun, and what came of it not taken yet."""

    def begin(self, work: Callable[[], T], *, waits: bool) -> None:
        """Do it, once what was begun before was taken. `waits`: for a disk most of the time, so it takes no turn."""
        assert not self.busy, "one thing at a time"
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"cdc-tail-{self._name}", daemon=True)
            self._thread.start()
        self.busy, self._outcome = True, None
        self._todo.put((work, waits))

    def take(self) -> Outcome[T] | None:
        """What came of it; None while nothing did."""
        outcome = self._outcome
        if outcome is not None:
            self.busy, self._outcome = False, None
        return outcome

    def end(self, last: Callable[[], T]) -> None:
        """`last` is the last work, behind what was begun; nobody takes what comes of it."""
        self._todo.put((last, True))
        self._todo.put(None)

    def ended(self, seconds: float) -> bool:
        """Whether all is done, within so many seconds."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self._thread is None or not self._thread.is_alive()

    def _run(self) -> None:
        while (todo := self._todo.get()) is not None:
            work, waits = todo
            if waits:
                self._outcome = Outcome(work)
                self._answered()
            else:
                turn = self._turns.take()
                self._outcome = Outcome(work)
                self._turns.give(turn)
