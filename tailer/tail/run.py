"""Consumers of a program's own: what a log brings is handed to an object, in this thread, another one, or a process.

The shape is that of Ignite's CDC consumer: `start`, definitions before the rows that need them, batches of rows, and
the answer whether the position may be saved. Knows no sink and no format.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tailer.errors import CdcError, SinkError, SystemFailedError
from tailer.options.kinds import NAME
from tailer.options.log_place import log_place
from tailer.options.to_python import python_options
from tailer.position import Position
from tailer.reading.task import ReadTask
from tailer.schema.model import TableDefinition
from tailer.tail.follow import say_last, steps
from tailer.tail.node_log import PATIENCE_SECONDS, node_log
from tailer.tail.open import open_tail
from tailer.tail.step import Step
from tailer.tail.tail import Tail

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True)
class ConsumerState:
    """Where a consumer begins: its name, whose log it is, the folder, and the position behind which rows come.

    `resumed`: an earlier run saved that position.
    """

    name: str | None
    node: str
    folder: Path
    position: Position
    resumed: bool


class ChangeConsumer(Protocol):
    """What `tailer.run` hands changes to. All calls come from one thread; an exception ends the run.

    `on_definitions` comes before the first rows that need them, again after a change and after a restart.
    `on_changes` answers whether the rows up to here are safe: True saves the position before the next batch is handed
    out; what was handed out and not saved comes again, with the same `event_id`, after a restart.
    """

    def start(self, state: ConsumerState) -> None: ...

    def on_definitions(self, changes: Sequence[TableDefinition]) -> None: ...

    def on_changes(self, batch: pyarrow.RecordBatch) -> bool: ...

    def stop(self) -> None: ...


class ToldDefinitions:
    """Which definitions a consumer knows."""

    def __init__(self) -> None:
        self._told: dict[str, TableDefinition] = {}

    def news(self, task: ReadTask) -> tuple[TableDefinition, ...]:
        """Those of wanted tables that are new or have changed; those changed inside the span too. Told from now on."""
        known = dict(task.definitions)
        for change in task.changes:
            known.update(change.definitions)
        wanted = task.selection.ids(known)
        news = {key: known[key] for key in known if key in wanted and self._told.get(key) != known[key]}
        self._told |= news
        return tuple(map(task.masks.shown, news.values()))


class Delivery:
    """Hands the steps of a tail to a consumer, and saves the position when everything before it was said to be safe."""

    def __init__(self, tail: Tail, consumer: ChangeConsumer) -> None:
        self._tail = tail
        self._consumer = consumer
        self._told = ToldDefinitions()
        self._safe = True

    def deliver(self, step: Step) -> None:
        """All of a step; the tail stands behind it then."""
        for task in step.tasks:
            self._tell(task)
            for batch in self._tail.read(task):
                self._tail.save_taken()
                self._safe = bool(self._consumer.on_changes(batch.to_arrow()))
                if self._safe:
                    self._tail.took(step, task, batch)
            if self._safe:
                self._tail.took(step, task)
        if not self._safe:
            self._tail.save_taken()
        self._tail.advance(step)
        if self._safe:
            self._tail.save()

    def _tell(self, task: ReadTask) -> None:
        if news := self._told.news(task):
            self._consumer.on_definitions(news)


def run(
    folder: str | PathLike[str],
    consumer: ChangeConsumer,
    *,
    name: str | None = None,
    tables: Sequence[str] = (),
    start: str = "earliest",
    once: bool = False,
    stopping: Callable[[], bool] = lambda: False,
    say: Callable[[str], None] = lambda line: None,
    **options: Any,
) -> None:
    """Hand a folder's changes to `consumer` until `stopping()` says so; with `once`, all that is there now.

    `name`: under which positions are kept, so that a later run goes on there; None keeps none. `start` is for the first
    run. `say` takes notices. `options` as in `tailer.open`. Raises what the consumer raises, and `tailer.errors`.
    """
    given = python_options({"tables": tables, **options}, program="tailer.run")
    consumer_name = None if name is None else NAME.take(name, "name")
    settings = replace(given, start=start, consumer=consumer_name).for_run(once=once)
    log = node_log(log_place(os.fspath(folder)), settings, PATIENCE_SECONDS)
    with open_tail(log, settings) as tail, started(consumer, tail):
        delivery = Delivery(tail, consumer)
        try:
            for step in steps(tail, once=once, say=say, stopping=stopping):
                delivery.deliver(step)
        finally:
            say_last(tail, say)


def begins_at(tail: Tail) -> ConsumerState:
    """What a consumer is told at its start."""
    options = tail.options
    return ConsumerState(options.consumer, options.node, Path(tail.where), tail.offset.position, tail.resumed)


@contextmanager
def started(consumer: ChangeConsumer, tail: Tail) -> Iterator[None]:
    """A consumer between its `start` and its `stop`."""
    consumer.start(begins_at(tail))
    try:
        yield
    finally:
        consumer.stop()


class Running:
    """A consumer that runs beside its caller, in a thread or a process. `stop` and `join` end it in order."""

    def __init__(self, worker: threading.Thread | SpawnProcess, stop: Callable[[], None], news: _News) -> None:
        self._worker = worker
        self._stop = stop
        self._news = news

    @property
    def alive(self) -> bool:
        return self._worker.is_alive()

    def stop(self) -> None:
        """Ask it to end behind the step in hand, which `join` waits for."""
        self._stop()

    def join(self, timeout: float | None = None) -> bool:
        """Whether it has ended within `timeout` seconds. Raises what ended it, if it was not asked to."""
        self._worker.join(timeout)
        if self._worker.is_alive():
            return False
        error = self._news.take(self._worker)
        if error is not None:
            raise error
        return True

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        self.join()


def run_in_thread(folder: str | PathLike[str], consumer: ChangeConsumer, **options: Any) -> Running:
    """`run`, in a thread of its own. Several stand side by side, each with its `name`."""
    name = f"cdc-tail-{options.get('name') or 'run'}"
    return in_thread(lambda stopping: run(folder, consumer, stopping=stopping, **options), name)


def in_thread(work: Callable[[Callable[[], bool]], None], name: str) -> Running:
    """`work` in a thread of this name; it is given what says whether it was asked to end."""
    asked = threading.Event()
    news = _News()

    def guarded() -> None:
        try:
            work(asked.is_set)
        except BaseException as error:
            # Whoever joins gets it; a thread has nobody else to tell.
            news.error = error

    thread = threading.Thread(target=guarded, name=name, daemon=True)
    thread.start()
    return Running(thread, asked.set, news)


def run_in_process(folder: str | PathLike[str], consumer: ChangeConsumer, **options: Any) -> Running:
    """`run`, in a process of its own, a fresh interpreter to which the consumer is pickled."""
    context = get_context("spawn")
    asked = context.Event()
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(folder, consumer, options, asked, sending), daemon=True)
    process.start()
    sending.close()
    return Running(process, asked.set, _News(receiving))


def _work(
    folder: str | PathLike[str], consumer: ChangeConsumer, options: dict[str, Any], asked: Event, sending: Connection
) -> None:
    try:
        run(folder, consumer, stopping=asked.is_set, **options)
    except Exception as error:
        sending.send(error if isinstance(error, CdcError) else SinkError(_told(error), remedy="See the consumer."))
        raise SystemExit(1) from None


def _told(error: Exception) -> str:
    return f"the consumer failed: {type(error).__name__}: {error}"


class _News:
    """What ended a run, from wherever it ran."""

    def __init__(self, receiving: Connection | None = None) -> None:
        self.error: BaseException | None = None
        self._receiving = receiving

    def take(self, worker: threading.Thread | SpawnProcess) -> BaseException | None:
        """Once the worker has ended."""
        if self._receiving is not None and not isinstance(worker, threading.Thread):
            try:
                self.error = self._receiving.recv() if self._receiving.poll() else None
            except EOFError:
                self.error = None
            self._receiving.close()
            self._receiving = None
            if self.error is None and worker.exitcode:
                how = f"exit code {worker.exitcode}" if worker.exitcode > 0 else f"signal {-worker.exitcode}"
                self.error = SystemFailedError(
                    f"the consumer's process ended by itself ({how})",
                    remedy="Start it again: it goes on from its last saved position.",
                )
        error, self.error = self.error, None
        return error
