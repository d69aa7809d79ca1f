"""Subscriptions: whoever reads in the writer's own process takes batches, in a thread or a task, and commits.

Where steps come from is `own_steps.py`. Writes no segment.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tailer.position import Position
from tailer.tail.follow import WAIT_SECONDS
from tailer.tail.step import Step
from writer_hooks.own_steps import SLICE_SECONDS, OwnSteps, Seen, SubscriptionStats

if TYPE_CHECKING:
    import pyarrow


class Subscription:
    """Iterate over it, or `await` each batch of `async for`; `commit` what is safe. One thread or task at a time.

    Without rows to wait for, `take` gives None after its timeout; iteration ends when the log is closed and everything
    was handed out.
    """

    def __init__(self, steps: OwnSteps) -> None:
        self._steps = steps
        self._tail = steps.tail
        self._unsafe = False
        self._batches: Iterator[tuple[pyarrow.RecordBatch, Seen | None]] = iter(())
        self._thread: ThreadPoolExecutor | None = None

    @property
    def consumer(self) -> str | None:
        """Whose position is kept; None keeps none."""
        return self._steps.consumer

    @property
    def open(self) -> bool:
        """Not closed yet."""
        return self._steps.open

    @property
    def position(self) -> Position:
        """Behind everything that was handed out, but for the batches of the step in hand."""
        return self._steps.position

    def take(self, timeout: float | None = None) -> pyarrow.RecordBatch | None:
        """The next rows; None when there are none within `timeout` seconds (for ever by default), or ever again."""
        until = None if timeout is None else time.monotonic() + timeout
        # Who asks for more has what came before.
        self._steps.taken()
        while True:
            found = next(self._batches, None)
            if found is not None:
                batch, seen = found
                self._steps.handed_out(batch.num_rows, seen)
                self._unsafe = True
                return batch
            step = self._steps.next(until)
            if step is None:
                return None
            self._batches = self._read(step)

    def commit(self) -> None:
        """Everything that was handed out is safe: a restart goes on behind it. Durable when this returns.

        In the middle of a step's batches the position stays before that step.
        """
        self._steps.taken()
        self._steps.save(self._tail.to_save())
        self._unsafe = False

    def stats(self) -> SubscriptionStats:
        """Numbers of this moment."""
        return self._steps.stats()

    def close(self) -> None:
        """Ends it; what was not committed comes again at the next start."""
        if self.open:
            self._steps.close()
            if self._thread is not None:
                self._thread.shutdown()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        while (batch := self.take()) is not None:
            yield batch

    async def __aiter__(self) -> AsyncIterator[pyarrow.RecordBatch]:
        # Rows are made by the processor alone, so they are made in a thread: the loop stays free.
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="cdc-subscription")
        loop = asyncio.get_running_loop()
        while self.open:
            batch = await loop.run_in_executor(self._thread, self.take, SLICE_SECONDS)
            if batch is not None:
                yield batch
            elif self._steps.at_end():
                return

    def _read(self, step: Step) -> Iterator[tuple[pyarrow.RecordBatch, Seen | None]]:
        """The step's batches; when the last is handed out, the tail stands behind the step."""
        last = None
        for task in step.tasks:
            self._steps.segments.add(task.span.segment)
            for batch in self._tail.read(task):
                if last is not None:
                    yield last
                last = batch.to_arrow(), self._steps.seen(batch)
        self._tail.advance(step)
        if last is not None:
            yield last
        elif not self._unsafe and time.monotonic() - self._steps.saved_at > WAIT_SECONDS:
            # Sections without rows for it: what it leaves behind may go.
            self.commit()
