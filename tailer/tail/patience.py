"""How long a target that is away is waited for: longer from try to try, and not for ever. Knows no target."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tailer.errors import CdcError
from tailer.sinks.outlet import TargetAwayError
from tailer.system_errors import lack_of_files, system_error
from tailer.tail.follow import Say

FIRST_SECONDS: Final = 0.1
MOST_SECONDS: Final = 10.0
STOPPED: Final = "stopped while the target was away: what it has not taken comes with the next run"
_SLICE_SECONDS: Final = 0.1

Told = Callable[["CdcError | None"], None]
"""Told at each try that finds the target away, and, by None, that it is there again."""


@contextmanager
def hearing(told: list[Told], *hearers: Told) -> Iterator[None]:
    """These are told, too, meanwhile."""
    told.extend(hearers)
    try:
        yield
    finally:
        for each in hearers:
            told.remove(each)


class StoppedError(Exception):
    """Not an error for anybody: the run was asked to stop while its target was away."""


class Patience:
    """Of one run. `limit`: seconds, from the first failure on, without one commit in between.

    `told`: who hears of it.
    """

    def __init__(
        self,
        limit: float,
        say: Say,
        stopping: Callable[[], bool] = lambda: False,
        told: Sequence[Told] = (),
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._limit = limit
        self._say = say
        self._stopping = stopping
        self._told = told
        self._clock = clock
        self._sleep = sleep
        self._since: float | None = None
        self._next = FIRST_SECONDS

    def wait(self, error: TargetAwayError) -> None:
        """Wait before the next try. Raises `error` when it was waited long enough, StoppedError when asked to stop.

        OwnLimitError where this process can open no more files: few libraries tell that from a target that is away.
        """
        if (lack := lack_of_files(1)) is not None:
            raise system_error("", lack) from error
        self._tell(error)
        if self._since is None:
            self._since = self._clock()
            self._say(f"warning: {error.sentence()} Trying again for {self._limit:g} s; nothing is lost.")
        left = self._since + self._limit - self._clock()
        if left <= 0:
            raise error
        until = self._clock() + min(self._next, left)
        self._next = min(2 * self._next, MOST_SECONDS)
        while (rest := until - self._clock()) > 0:
            if self._stopping():
                raise StoppedError
            self._sleep(min(rest, _SLICE_SECONDS))

    def over(self) -> None:
        """Something was committed."""
        if self._since is not None:
            self._tell(None)
            self._say(f"the target is there again after {self._clock() - self._since:.0f} s")
        self._since, self._next = None, FIRST_SECONDS

    def _tell(self, error: CdcError | None) -> None:
        for told in self._told:
            told(error)
