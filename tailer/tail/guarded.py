"""What the runs of several nodes share: where rows go is called by one of them at a time, and each look is heard of."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from tailer.errors import CdcError, UsageError
from tailer.reading.task import ReadTask
from tailer.rows.choice import AnyBatch
from tailer.schema.model import TableDefinition
from tailer.schema.typed import TypedTable
from tailer.sinks.base import Rows, Sink
from tailer.sinks.outlet import Outlet, Place
from tailer.state.offset import NodeOffset
from tailer.tail.step import Step
from tailer.tail.tail import Tail
from tailer.tail.watch import Watch

Guard = Callable[[], AbstractContextManager[None]]
"""Makes what is held while rows are handed over."""

MakeSink = Callable[[Callable[[str], TableDefinition | None], TypedTable | None], Sink]
"""Of definitions by table id, and the typed form of the rows if they have one."""


class GuardedOutlet:
    """An Outlet that nobody else's calls run beside."""

    def __init__(self, outlet: Outlet, guard: Guard) -> None:
        self._outlet = outlet
        self._guard = guard
        self.name, self.keeps_place, self.bounds = outlet.name, outlet.keeps_place, outlet.bounds

    def open(self) -> Place | None:
        with self._guard():
            return self._outlet.open()

    def write(self, batch: Rows) -> int:
        with self._guard():
            return self._outlet.write(batch)

    def commit(self, before: Place | None, behind: Place) -> None:
        with self._guard():
            self._outlet.commit(before, behind)

    def settled(self) -> None:
        with self._guard():
            self._outlet.settled()

    def close(self) -> None:
        with self._guard():
            self._outlet.close()


class SharedSink:
    """One sink for the rows of several nodes, made when the first is there.

    `one_form`: it takes rows of one typed form only.
    """

    def __init__(self, make: MakeSink, *, one_form: bool) -> None:
        self._make = make
        self._one_form = one_form
        self._sink: Sink | None = None
        self._typed: TypedTable | None = None
        self._writing: Tail | None = None

    def of(self, tail: Tail, guard: Guard) -> Sink:
        """The sink of one node's rows. UsageError where its typed form is not that of the others."""
        with guard():
            self._made_for(tail)
            if self._one_form and self._typed != tail.typed:
                raise UsageError(
                    f"node {tail.options.node} has other columns of {tail.options.table} than the nodes before it",
                    remedy="Run one each, or take --output json, where each row has its own.",
                )
        return _NodeSink(self, tail, guard)

    def write(self, tail: Tail, batch: Rows) -> None:
        """Rows of one node, or of a snapshot that its log defines; for who holds the guard."""
        sink = self._made_for(tail)
        self._writing = tail
        sink.write(batch)

    def close(self) -> None:
        """No more rows will come, of any node."""
        if self._sink is not None:
            self._sink.close()

    def _made_for(self, tail: Tail) -> Sink:
        if self._sink is None:
            self._typed, self._sink = tail.typed, self._make(self._definition, tail.typed)
        return self._sink

    def _definition(self, table: str) -> TableDefinition | None:
        return None if self._writing is None else self._writing.definition(table)


class _NodeSink:
    """A Sink for one node's rows."""

    def __init__(self, shared: SharedSink, tail: Tail, guard: Guard) -> None:
        self._shared = shared
        self._tail = tail
        self._guard = guard

    def write(self, batch: Rows) -> None:
        with self._guard():
            self._shared.write(self._tail, batch)

    def close(self) -> None:
        """Others go on."""


class HeardWatch:
    """A Watch that tells another one, and lets be heard that the node answers."""

    def __init__(self, watch: Watch, beat: Callable[[], None]) -> None:
        self._watch = watch
        self._beat = beat
        self.began, self.delivered, self.saved = watch.began, watch.delivered, watch.saved
        self.away, self.left_out = watch.away, watch.left_out

    began: Callable[[Tail], None]
    delivered: Callable[[NodeOffset], None]
    saved: Callable[[], None]
    away: Callable[[CdcError | None], None]
    left_out: Callable[[int], None]

    def looked(self, step: Step) -> None:
        self._beat()
        self._watch.looked(step)

    def read(self, task: ReadTask, batch: AnyBatch, durable: float | None = None) -> None:
        self._beat()
        self._watch.read(task, batch, durable)
