"""Rows decoded ahead of whoever takes them, in a thread that owns the tail: a bounded number of batches.

Each carries what a save behind it would write. Knows no consumer.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tailer.schema.model import TableDefinition
from tailer.tail.kept import Saving
from tailer.tail.run import ToldDefinitions
from tailer.tail.step import Step
from writer_hooks.own_steps import SLICE_SECONDS, OwnSteps, Seen

if TYPE_CHECKING:
    import pyarrow

AHEAD: Final = 4
"""Batches that wait to be taken; one more is in the thread's hand, and one in the consumer's."""


@dataclass(frozen=True, slots=True)
class Handed:
    """What comes next: definitions that are new with it, then rows, None where there are none.

    `behind`: what a save writes once they are safe. In the middle of a transaction it stands before it.
    """

    definitions: tuple[TableDefinition, ...]
    rows: pyarrow.RecordBatch | None
    seen: Seen | None
    behind: Saving


class Ahead:
    """Of one reader. `take` raises what the log raised, behind the batches before it."""

    def __init__(self, steps: OwnSteps) -> None:
        self._steps = steps
        self._told = ToldDefinitions()
        self._news: tuple[TableDefinition, ...] = ()
        self._waiting: queue.Queue[Handed | BaseException | None] = queue.Queue(AHEAD)
        self._asked = threading.Event()
        self.ended = False
        """The log is closed, and everything of it was taken."""
        self._thread = threading.Thread(target=self._work, name=f"cdc-ahead-{steps.consumer or 'run'}", daemon=True)
        self._thread.start()

    def take(self, timeout: float = 2 * SLICE_SECONDS) -> Handed | None:
        """The next; None where there is none in time, or ever again."""
        try:
            found = self._waiting.get(timeout=timeout)
        except queue.Empty:
            return None
        if isinstance(found, BaseException):
            raise found
        if found is None:
            self.ended = True
        return found

    def close(self) -> None:
        """Returns when the thread has let the tail go; what nobody took is left."""
        self._asked.set()
        self._thread.join()

    def _work(self) -> None:
        try:
            while not self._asked.is_set():
                step = self._steps.next(time.monotonic() + SLICE_SECONDS)
                if step is None:
                    if self._steps.at_end():
                        self._put(None)
                        return
                    continue
                for handed in self._read(step):
                    if not self._put(handed):
                        return
        except BaseException as error:
            # Whoever takes gets it; a thread has nobody else to tell.
            self._put(error)

    def _put(self, item: Handed | BaseException | None) -> bool:
        while not self._asked.is_set():
            try:
                self._waiting.put(item, timeout=SLICE_SECONDS)
            except queue.Full:
                continue
            return True
        return False

    def _read(self, step: Step) -> Iterator[Handed]:
        """A step's rows. Each batch is given when the next one is there: whether it ended a transaction is known then.

        The last one, or nothing but the place, is given when the tail stands behind the step.
        """
        tail, last, seen = self._steps.tail, None, None
        ready: tuple[TableDefinition, ...] = ()
        for task in step.tasks:
            self._steps.segments.add(task.span.segment)
            self._news += self._told.news(task)
            for batch in tail.read(task):
                if last is not None:
                    yield Handed(ready, last, seen, tail.to_save())
                tail.took(step, task, batch)
                last, seen, ready, self._news = batch.to_arrow(), self._steps.seen(batch), self._news, ()
            tail.took(step, task)
        tail.advance(step)
        if last is None:
            ready, self._news = self._news, ()
        yield Handed(ready, last, seen, tail.to_save())
