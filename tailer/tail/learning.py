"""Definitions that a tail needs beside those of its plans: where it starts, and of the segments that it passes.

Learns what no earlier run has learnt, and says what a later one need not learn again. Decides no position.
"""

from __future__ import annotations

from collections.abc import Iterable

from tailer.errors import DefinitionError
from tailer.position import Position
from tailer.state.consumers import NodeState
from tailer.state.learnt import Learnt
from tailer.state.offset import NodeOffset
from tailer.tail.parts import TailParts


class Learning:
    """Of one tail."""

    def __init__(self, parts: TailParts) -> None:
        self._parts = parts

    def take_over(self) -> None:
        """What the journal says: first the definitions, for others rest on them."""
        self._parts.definitions.sync()
        self._parts.log_ends.load()
        self._parts.learnt.load()
        self._parts.times.kept.load()

    def recall(self, held: NodeState) -> None:
        """What a consumer's file says of the segment that it stands in."""
        if held.learnt is not None:
            self._parts.learnt.take(held.learnt)
            self._parts.definitions.in_records.keep_restart(held.offset.position, Position(*held.restart))

    def held_at(self, offset: NodeOffset) -> Learnt | None:
        """What a later start at an offset need not search again of its segment; None where nothing is sure."""
        parts = self._parts
        restart = parts.definitions.in_records.restart(offset.position)
        if restart is None and parts.survey.is_native(offset.s):
            return None
        return parts.learnt.beside(offset.s, offset.o)

    def everything(self, offset: NodeOffset, planned: Position | None) -> None:
        """All that is there now, also ahead of the position. `planned`: see `Definitions.learn_collected`."""
        self._learn(self._parts.survey.segments(), offset, planned)

    def below(self, offset: NodeOffset) -> None:
        """What lies before a position where somebody starts."""
        before = [each for each in self._parts.survey.segments() if offset.rest_of(each) != 0]
        self._learn(before, offset, None)
        # They stand behind the others, so their definitions do, too.
        appeared = [each for each in before if each in self._parts.arrivals.known()]
        for segment in appeared:
            self._parts.reacher.learn(segment)
        self._parts.definitions.learn_collected(offset.position, offset.position)

    def around(self, offset: NodeOffset, restart: Position) -> None:
        """Definitions of a native log stand in each segment, and a consumer may have been moved over some."""
        if self._parts.survey.is_native(offset.s):
            self._learn(self._parts.survey.between(restart.segment, offset.s), offset, None)

    def planned(self, passed: Iterable[int], before: Position, behind: NodeOffset) -> DefinitionError | None:
        """What a plan from one position to another has met, and what it passed over: journalled when this returns.

        Gives the error of the first definition that cannot be decoded. What stands before it may be read.
        """
        self._parts.definitions.durability.begin(before)
        error = None
        for segment in sorted({*passed, *(segment for segment, _ in behind.p)}):
            self._parts.reacher.learn(segment)
        try:
            self._parts.definitions.learn_collected(before, behind.position)
        except DefinitionError as found:
            error = found
        parts = self._parts
        parts.log_ends.record([*parts.learnt.news(behind.s), *parts.times.news()])
        return error

    def _learn(self, segments: Iterable[int], offset: NodeOffset, planned: Position | None) -> None:
        appeared, late = self._parts.arrivals.known(), {segment for segment, _ in offset.p}
        for segment in segments:
            # The definitions of one that appeared below others count behind them: when it is read.
            if segment in late or segment not in appeared:
                self._parts.reacher.learn(segment, ahead=offset.rest_of(segment))
        self._parts.definitions.learn_collected(planned, offset.position)
