"""How far the rows of a step were taken, and where that stands in the log: what a restart goes on behind.

An offset for every batch of a step, which plans nothing and saves nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tailer.planning.plan import Edge
from tailer.reading.task import ReadTask
from tailer.rows.choice import AnyBatch
from tailer.state.offset import Memory, NodeOffset
from tailer.tail.step import Step


class TakenRows:
    """Of the step in hand. `is_native`: whether a segment is one of a service's own log."""

    def __init__(self, is_native: Callable[[int], bool]) -> None:
        self.offset: NodeOffset | None = None
        """Behind what was taken; None where nothing of the step was."""
        self._memory: Callable[[], Memory] = Memory
        self._is_native = is_native
        self._open: tuple[int, NodeOffset] | None = None
        self.whole = True
        """Whether all rows that were taken lie before `offset`."""

    def memory(self) -> Memory:
        """What is to be remembered at `offset`."""
        return self._memory()

    def forget(self) -> None:
        """The tail stands elsewhere."""
        self.offset = self._open = None
        self.whole = True

    def note(self, step: Step, task: ReadTask, batch: AnyBatch | None) -> None:
        """See `Tail.took`."""
        segment, self._open = task.span.segment, None
        if (edge := step.edges.get(segment)) is None:
            self.whole = self.whole and not (batch is not None and len(batch))
            return
        if batch is None:
            # What `--until` leaves of a span comes another time.
            whole = task.span.upper >= edge.reached(segment)
            self._stand(step, edge, edge.offset if whole else edge.within(segment, task.span.upper))
        elif len(batch):
            last = int(batch.column("offset")[-1])
            behind = edge.within(segment, last + 1)
            if self._is_native(segment):
                # A transaction's rows stand at its commit, and there may be more of them: the next batch tells.
                self._open = last, msgspec.structs.replace(behind, j=step.offset.j)
                behind = edge.within(segment, last)
            self._stand(step, edge, behind)
            self.whole = self._open is None

    def meet(self, batch: AnyBatch) -> None:
        """A batch comes behind what was taken: whether that ended a transaction is known now."""
        if self._open is not None and len(batch):
            # Where it goes on, only who takes this batch too has taken more of it.
            (at, behind), self._open = self._open, None
            if int(batch.column("offset")[0]) != at:
                self.offset, self.whole = behind, True

    def _stand(self, step: Step, edge: Edge, offset: NodeOffset) -> None:
        self.offset, self._memory = msgspec.structs.replace(offset, j=step.offset.j), edge.memory
        self.whole = True
