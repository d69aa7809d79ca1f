"""What the tasks of one worker leave out: reported at once, then at most once a minute, and in all when no task may
come behind.

Spark does not say when a worker is done: it ends an idle one after a minute without running anything in it (`os._exit`
in pyspark's `daemon.py`), or never. So a thread that waits reports what tasks of the last minute have left unreported.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Final

from tailer.reading.counted_notices import CountedNotices
from tailer.reading.reader import Reader, count_left_out
from tailer.reading.replaced_texts import count_replaced
from tailer.spark.executor_log import say

Wait = Callable[[float, Callable[[], None]], None]
"""Calls something after so many seconds."""

_WHY: Final = " (onSchemaChange=ignore)"


def _wait(seconds: float, then: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, then)
    # It keeps no worker from ending.
    timer.daemon = True
    timer.start()


class TaskNotices:
    """Of one worker; any thread."""

    def __init__(
        self, notices: CountedNotices | None = None, say: Callable[[str], None] = say, wait: Wait = _wait
    ) -> None:
        self._notices = CountedNotices() if notices is None else notices
        self._say = say
        self._wait = wait
        self._waits = False
        self._lock = threading.Lock()

    def report(self, reader: Reader, *, last: bool) -> None:
        """Behind a task. `last`: the worker may be ended as soon as this one is done."""
        with self._lock:
            count_left_out(reader.left_out, _WHY, self._notices)
            count_replaced(reader.replaced, self._notices)
            self._report(last=last)

    def _report(self, *, last: bool) -> None:
        for notice in self._notices.take(last=last):
            self._say(notice)
        rest = self._notices.rest()
        if rest is not None and not self._waits:
            # Where no thread can be started the next task reports it: the rows of this one are given.
            with contextlib.suppress(RuntimeError):
                self._wait(rest, self._due)
                self._waits = True

    def _due(self) -> None:
        with self._lock:
            self._waits = False
            self._report(last=False)
