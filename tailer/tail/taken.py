"""What `clean` took away from a consumer: what it must know of that when it begins, and how a loss of it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from tailer.errors import ACCEPT, CdcError, LossError
from tailer.state.cleaned import Cleaned
from tailer.state.home import Home
from tailer.state.ids import NO_IDS, Ids
from tailer.state.offset import Memory, NodeOffset


class Taken:
    """`registered`: the state in which the consumer holds segments back; None where nobody heeds it."""

    def __init__(self, cleaned: Cleaned, consumer: str | None, registered: Home | None) -> None:
        self._cleaned = cleaned
        self._consumer = str(consumer)
        self._registered = registered
        self.unread = cleaned.unread

    @property
    def forgotten(self) -> int:
        """Below which id a segment that appears is one of which nothing is known any more."""
        return self._cleaned.forgotten

    def registering(self, begin: Callable[[], None]) -> None:
        """Call `begin`: from finding where a consumer begins until that is saved, `clean` deletes nothing."""
        if self._registered is None:
            begin()
        else:
            self._registered.registering(begin)

    def fresh_memory(self, offset: NodeOffset, coming: Sequence[int] = ()) -> Memory:
        """What a position has to know that no consumer held until now: what `clean` took away ahead of it. `coming`:
        segments with lower ids that come behind it."""
        self._cleaned.refresh()
        return Memory(seen=self._cleaned.unread(offset.s, [*(segment for segment, _ in offset.p), *coming]))

    @property
    def lost(self) -> Ids:
        """What `clean --force` took from this consumer before it was read."""
        return NO_IDS if self._registered is None else self._cleaned.lost(self._consumer)

    def remembered(self, offset: NodeOffset, memory: Memory) -> Memory:
        """What `clean --force` took from this consumer it has seen, in a way: the planner tells that it is gone."""
        if not (lost := self.lost):
            return memory
        late = {segment for segment, _ in offset.p}
        ahead = {*lost.above(offset.s), *(each for each in late if each in lost)}
        new = {each for each in ahead if each >= memory.lost_below and each not in memory.seen}
        return msgspec.structs.replace(memory, seen=memory.seen.with_ids(new)) if new else memory

    def blame(self, error: CdcError | None) -> CdcError | None:
        """A loss by our own hand says so."""
        if not isinstance(error, LossError) or error.at is None or error.at.segment not in self.lost:
            return error
        what = f"Changes are lost: `clean --force` deleted segment {error.at.segment} before it was read to its end"
        return LossError(f"{what}; the first position not read is {error.at}", at=error.at, remedy=ACCEPT)
