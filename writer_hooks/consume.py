"""A consumer object in the writer's own process, in a thread or on an event loop: handed what is durable, and asked.

The contract is `ChangeConsumer`'s; rows come decoded from `decoded_ahead.py`. Knows no file and no buffer.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tailer.schema.model import TableDefinition
from tailer.tail.follow import WAIT_SECONDS
from tailer.tail.kept import Saving
from tailer.tail.run import ChangeConsumer, ConsumerState, begins_at, started
from writer_hooks.decoded_ahead import Ahead, Handed
from writer_hooks.own_steps import OwnSteps

if TYPE_CHECKING:
    import pyarrow

Stopping = Callable[[], bool]

Given = TypeVar("Given")


class AsyncChangeConsumer(Protocol):
    """A `ChangeConsumer` for an event loop: any of its methods may be a coroutine. One call at a time, on the loop."""

    def start(self, state: ConsumerState) -> Awaitable[None] | None: ...

    def on_definitions(self, changes: Sequence[TableDefinition]) -> Awaitable[None] | None: ...

    def on_changes(self, batch: pyarrow.RecordBatch) -> Awaitable[bool] | bool: ...

    def stop(self) -> Awaitable[None] | None: ...


class _Answers:
    """What a consumer said, and what is to be saved for it."""

    def __init__(self, steps: OwnSteps) -> None:
        self._steps = steps
        self._safe = True
        self._due: Saving | None = None

    def given(self, handed: Handed) -> None:
        """It has these, whatever it says."""
        if handed.rows is not None:
            self._safe = False
        rows = 0 if handed.rows is None else handed.rows.num_rows
        self._steps.handed_out(rows, handed.seen, handed.behind.offset.position)

    def said(self, handed: Handed, *, safe: bool) -> Saving | None:
        """What is to be saved before the next rows, if anything: places without rows only now and then."""
        if handed.rows is not None:
            self._safe = safe
        if not self._safe:
            self._due = None
            return None
        self._steps.taken()
        self._due = handed.behind
        now_and_then = time.monotonic() - self._steps.saved_at > WAIT_SECONDS
        return self.rest() if handed.rows is not None or now_and_then else None

    def rest(self) -> Saving | None:
        """What is safe and not saved."""
        due, self._due = self._due, None
        return due


def consume(steps: OwnSteps, consumer: ChangeConsumer, stopping: Stopping) -> None:
    """Until `stopping` says so or the log is closed and everything was handed out. Raises what the consumer raises."""
    answers = _Answers(steps)
    with closing(steps), started(consumer, steps.tail), closing(Ahead(steps)) as ahead:
        while not (stopping() or ahead.ended):
            handed = ahead.take()
            if handed is None:
                continue
            if handed.definitions:
                consumer.on_definitions(handed.definitions)
            answers.given(handed)
            safe = handed.rows is not None and bool(consumer.on_changes(handed.rows))
            if (saving := answers.said(handed, safe=safe)) is not None:
                steps.save(saving)
        if (saving := answers.rest()) is not None:
            steps.save(saving)


async def consume_async(open_steps: Callable[[], OwnSteps], consumer: AsyncChangeConsumer, stopping: Stopping) -> None:
    """The same on the running loop, which waits for nothing but the consumer's own methods.

    Cancelled, it calls `stop` and saves nothing more than was said to be safe.
    """
    aside, opened = _Aside(), list[OwnSteps]()
    try:
        await aside.do(lambda: opened.append(open_steps()))
        (steps,) = opened
        await _come(consumer.start(begins_at(steps.tail)))
        try:
            await _consume(aside, steps, consumer, stopping)
        finally:
            await _come(consumer.stop())
    finally:
        # Also where it was cancelled while it was opened.
        for steps in opened:
            await aside.do(steps.close)
        aside.close()


async def _consume(aside: _Aside, steps: OwnSteps, consumer: AsyncChangeConsumer, stopping: Stopping) -> None:
    answers, ahead = _Answers(steps), Ahead(steps)
    try:
        while not (stopping() or ahead.ended):
            handed = await aside.do(ahead.take)
            if handed is None:
                continue
            if handed.definitions:
                await _come(consumer.on_definitions(handed.definitions))
            answers.given(handed)
            safe = handed.rows is not None and bool(await _come(consumer.on_changes(handed.rows)))
            if (saving := answers.said(handed, safe=safe)) is not None:
                await aside.do(partial(steps.save, saving))
        if (saving := answers.rest()) is not None:
            await aside.do(partial(steps.save, saving))
    finally:
        await aside.do(ahead.close)


async def _come(answer: Any) -> Any:
    """What a method answers, be it a coroutine or not."""
    return await answer if inspect.isawaitable(answer) else answer


class _Aside:
    """A thread for what would hold the loop up, one thing after another."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cdc-run")

    async def do(self, work: Callable[[], Given]) -> Given:
        """What `work` gives. Cancelled, it is waited for nevertheless: nothing is left behind half done."""
        running = asyncio.get_running_loop().run_in_executor(self._thread, work)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            if (error := running.exception()) is not None:
                raise error from None
            raise

    def close(self) -> None:
        """What is in hand ends by itself."""
        self._thread.shutdown(wait=False)
