"""What is kept of a tail's consumer between runs: its position, and for whom else that counts. Decides nothing.

A consumer that feeds an outlet has two positions, for the target keeps one too (`planning/two_positions.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from tailer.planning.two_positions import Target, begin_at, memory_there
from tailer.position import Position
from tailer.state.consumers import Mark, NodeState
from tailer.state.journal_records import GenerationRecord
from tailer.state.learnt import Learnt
from tailer.state.offset import Memory, NodeOffset
from tailer.tail.parts import TailParts


class Saving(NamedTuple):
    """What a save writes, as a value: `learnt` None where nothing is sure."""

    offset: NodeOffset
    memory: Memory
    restart: Position
    learnt: Learnt | None


class Unsaved(NamedTuple):
    """A save that failed: `what` it would have written, and what stood there before, `saved`."""

    saved: NodeOffset
    what: Saving


class KeptPosition:
    """Of one run. Without a consumer nothing is kept.

    `generation`: how often the consumer of an outlet was moved by hand, from 1 on; 0 where it feeds none.
    """

    def __init__(self, parts: TailParts) -> None:
        self._consumer = parts.consumer
        self._options = parts.options
        self._journal = parts.journal
        self._wall = parts.wall
        self._state: NodeState | None = None
        self._initial: NodeOffset | None = None
        self.generation = 0

    def recall(self) -> NodeState | None:
        """Where an earlier run stood; None before the first one."""
        node = None if self._consumer is None else self._consumer.node(self._options.node)
        if node is not None:
            self._state, self._initial = node, node.initial
            self.generation = node.generation or int(self._options.outlet)
        return node

    def register(self, offset: NodeOffset) -> None:
        """A consumer begins here for the first time."""
        if self._options.outlet and self._consumer is not None:
            self._initial, self.generation = offset, self._first_generation(self._consumer.name)

    def _first_generation(self, consumer: str) -> int:
        """What a consumer of this name begins with: more where one was dropped."""
        records = self._journal.read()
        told = (r.generation for r in records if isinstance(r, GenerationRecord) and r.consumer == consumer)
        return max(told, default=1)

    def save(self, what: Saving) -> None:
        """Durable when this returns."""
        offset, memory, restart, learnt = what
        initial = self._initial if self._initial == offset else None
        self._write(NodeState(offset, memory, restart, initial, learnt=learnt, generation=self.generation))

    def announce(self, offset: NodeOffset, memory: Memory, restart: Position) -> None:
        """The target will keep this position from now on: what a restart there must know is durable then."""
        if self._state is not None and memory != self._state.memory:
            mark = Mark(offset, memory, restart)
            self._write(msgspec.structs.replace(self._state, ahead=(mark,), generation=self.generation))

    def begin_at(self, target: Target | None, where: str) -> tuple[NodeOffset, Memory | None]:
        """Where reading goes on with what the target keeps, and what is remembered there, None if that is further back.

        `where`: the target in words. Raises RefusedError.
        """
        assert self._state is not None, "an outlet has a consumer, and that has a position"
        held = msgspec.structs.replace(self._state, generation=self.generation)
        offset = begin_at(held, target, where)
        return offset, memory_there(held, offset)

    def _write(self, state: NodeState) -> None:
        if self._consumer is not None:
            self._consumer.save(self._options.node, state, moved=self._wall(), program=self._options.program)
            self._state = state
