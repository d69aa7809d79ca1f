"""What is remembered of offsets that were handed out, until whoever took them has made them durable. Values only.

A checkpoint holds offsets alone. What the planner remembered at one decides what it calls a hole, late or lost behind
it, so an offset that may come back after a restart needs the memory that belonged to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from tailer.planning.batch_tasks import place
from tailer.position import Position
from tailer.state.consumers import Mark, NodeState
from tailer.state.offset import Memory, NodeOffset

RestartAt = Callable[[NodeOffset], Position]


class Marks:
    """First the consumer's own offset, then those handed out since, in their order."""

    def __init__(self, marks: Sequence[Mark]) -> None:
        self._marks = list(marks)

    @property
    def first(self) -> Mark:
        return self._marks[0]

    @property
    def last(self) -> Mark:
        return self._marks[-1]

    def add(self, mark: Mark) -> None:
        """One more was handed out."""
        if mark.offset != self.last.offset:
            self._marks.append(mark)

    def moved(self, offset: NodeOffset, restart: RestartAt) -> Marks | None:
        """Those that are left when the consumer stands at `offset`; None where that would be back."""
        at = next((number for number, mark in enumerate(self._marks) if mark.offset == offset), None)
        if at is not None:
            return Marks(self._marks[at:])
        if place(offset) <= place(self.first.offset):
            return None
        later = [mark for mark in self._marks if place(mark.offset) > place(offset)]
        return Marks([Mark(offset, self.memory_at(offset), restart(offset)), *later])

    def memory_at(self, offset: NodeOffset) -> Memory:
        """What the planner remembered at an offset that was handed out."""
        exact = next((mark for mark in self._marks if mark.offset == offset), None)
        if exact is not None:
            return exact.memory
        # Not every mark is saved (see `state`): where none is, nothing but the position had changed since the last
        # one. Holes beyond the offset were not passed yet.
        before = [mark for mark in self._marks if place(mark.offset) <= place(offset)]
        memory = before[-1].memory if before else Memory()
        return msgspec.structs.replace(memory, holes=memory.holes.below(offset.s))

    def state(self, initial: NodeOffset | None) -> NodeState:
        """What the consumer file keeps: of the offsets ahead only those around a change of memory, for it is small."""
        first, marks = self.first, self._marks
        changes = {n for n in range(1, len(marks)) if marks[n].memory != marks[n - 1].memory}
        kept = tuple(marks[n] for n in range(1, len(marks)) if n in changes or n + 1 in changes)
        restart = first.restart or (first.offset.s, first.offset.o)
        return NodeState(first.offset, first.memory, restart, initial, kept)
