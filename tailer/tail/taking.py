"""How much of a step was taken: where its consumer stands meanwhile, for the tail itself stands before the step.

Offsets alone: saves nothing, and reads no row but its offset.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from tailer.planning.plan import Edge
from tailer.reading.task import ReadTask
from tailer.rows.choice import AnyBatch
from tailer.state.offset import Memory, NodeOffset
from tailer.tail.step import Step


class Taking:
    """One tail's. `is_native`: whether a segment is one of a service's own log."""

    def __init__(self, is_native: Callable[[int], bool]) -> None:
        self._is_native = is_native
        self._stands: tuple[NodeOffset, Callable[[], Memory]] | None = None
        self._within: tuple[int, Callable[[], None]] | None = None

    def clear(self) -> None:
        """The tail has moved: nothing of a step was taken."""
        self._stands = self._within = None

    @property
    def offset(self) -> NodeOffset | None:
        """Behind all that was taken of the step; None while that is nothing."""
        return None if self._stands is None else self._stands[0]

    @property
    def memory(self) -> Memory | None:
        """What is to be remembered there."""
        return None if self._stands is None else self._stands[1]()

    def took(self, step: Step, task: ReadTask, batch: AnyBatch | None = None) -> None:
        """The rows of a step were taken up to a batch of the task, or all of the task's.

        Nothing new is said of a segment that no position can stand in: one without sidecar, until the next one.
        """
        segment, self._within = task.span.segment, None
        edge = step.edges.get(segment)
        if edge is None:
            return
        if batch is None:
            # What `--until` leaves of a span comes another time.
            whole = task.span.upper >= edge.reached(segment)
            self._stand(step, edge.offset if whole else edge.within(segment, task.span.upper), edge)
        elif len(batch):
            last = int(batch.column("offset")[-1])
            behind = edge.within(segment, last + 1)
            if self._is_native(segment):
                # A transaction's rows stand at its commit, and there may be more of them: the next batch tells.
                self._within = last, partial(self._stand, step, behind, edge)
                behind = edge.within(segment, last)
            self._stand(step, behind, edge)

    def goes_on(self, batch: AnyBatch) -> None:
        """The next batch of a task: with another commit all rows of the last one have been taken."""
        if self._within is not None and len(batch) and int(batch.column("offset")[0]) != self._within[0]:
            self._within[1]()

    def _stand(self, step: Step, offset: NodeOffset, edge: Edge) -> None:
        self._stands = msgspec.structs.replace(offset, j=step.offset.j), edge.memory
