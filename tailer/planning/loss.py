"""What is lost, told from one look and what is remembered of earlier ones. Pure.

A server's log and a service's own lose segments in different ways, so each has its rules. Decides nothing about what is
read: the plan asks here before it goes on, and a run that accepts a loss is told here where it may go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Protocol

import msgspec

from tailer.errors import ACCEPT, LossError
from tailer.position import Position
from tailer.segments.view import SegmentView, View, ids_above
from tailer.state.offset import Memory, NodeOffset


class Losses(Protocol):
    """The rules of one kind of log."""

    def swept(self, at: int) -> LossError | None:
        """Whether something between `at`, which was read to its end, and what there is now was taken away."""
        ...

    def late_gone(self, segment: int) -> str | None:
        """What is worth a notice when a segment is gone that was passed over and never had a sidecar."""
        ...

    def gap(self, first: int, last: int) -> str | None:
        """What is worth a notice when ids from `first` to `last` are passed that are not there."""
        ...


def losses(view: View, memory: Memory, dropped: int | None) -> Losses:
    """The rules of the folder's kind. `dropped`: see `plan`."""
    return ServerLosses(view, memory) if dropped is None else RecordLosses(view, memory, dropped)


@dataclass(frozen=True, slots=True)
class ServerLosses:
    """Cassandra deletes segments without captured changes at will, and with the cap also those that have some.

    A gap in the ids therefore says nothing by itself: ids jump when the server starts, and what never held a change
    goes without a word. What tells is the witness, the last segment with a sidecar that was read. The server itself
    never deletes one of those, so when it is gone, and not by `clean`, the cap took it; and the cap takes the oldest
    first, so it went on through everything up to the next segment that there is.
    """

    view: View
    memory: Memory

    def swept(self, at: int) -> LossError | None:
        memory, here = self.memory, self.view.get(at)
        if at == 0 or at < memory.lost_below or at != memory.last_with_sidecar:
            return None
        higher = next(ids_above(self.view, at), None)
        if (here is not None and (here.log or here.cleaned)) or higher is None or higher <= memory.lost_below:
            return None
        # A segment that was seen without a sidecar may have gone as it was: it held no captured change.
        missing = memory.bare.first_not_in(at + 1)
        if missing >= higher:
            return None
        return lost(
            Position(missing, 0), f"segment {at} was read and is gone, and segments between it and {higher} with it"
        )

    def late_gone(self, segment: int) -> str | None:
        # With a cap it may also have got its sidecar and gone between two looks. That cannot be told apart.
        return f"segment {segment} went without ever showing a sidecar: it held no captured change"

    def gap(self, first: int, last: int) -> str | None:
        if self.memory.bare.has_all(first, last):
            return None
        which = f"segment {first} was" if first == last else f"segments {first} to {last} were"
        return f"{which} never seen here (normal after a restart of the server): may have held changes"


@dataclass(frozen=True, slots=True)
class RecordLosses:
    """A service's own log says itself up to which segment its limit took some away (`dropped`), so nothing is guessed.

    It deletes nothing else that a reader has not seen, and it never drops what held no change: gaps mean nothing.
    """

    view: View
    memory: Memory
    dropped: int

    def swept(self, at: int) -> LossError | None:
        memory, dropped = self.memory, self.dropped
        # What went before the first start belongs to a history that nobody promised.
        if not memory.start or dropped <= at or dropped < max(memory.start, memory.lost_below):
            return None
        if any(seen.log and seen.cleaned for seen in self._up_to_dropped(at)):
            # What is archived is read first: the limit took what lies behind it.
            return None
        begin = at + 1 if at else memory.start
        first = min((segment for segment in memory.seen.above(at) if segment <= dropped), default=begin)
        read = f"{at} is the last one read" if at else "none was read"
        what = f"the limit of the log took away segments up to {dropped}, and {read}"
        return lost(Position(first, 0), what)

    def _up_to_dropped(self, at: int) -> Iterator[SegmentView]:
        """What there still is behind `at` of what the limit took away."""
        return (self.view[each] for each in takewhile(lambda id: id <= self.dropped, ids_above(self.view, at)))

    def late_gone(self, segment: int) -> str | None:
        return None

    def gap(self, first: int, last: int) -> str | None:
        return None


def lost(at: Position, what: str) -> LossError:
    return LossError(f"Changes are lost: {what}; the first position not read is {at}", at=at, remedy=ACCEPT)


def accept_loss(
    view: View, offset: NodeOffset, memory: Memory, dropped: int | None = None
) -> tuple[NodeOffset, Memory, Position]:
    """Go on behind what is gone: the offset and memory to plan from, and the position where reading continues.

    The position stays where it was, marked done; ids below the next segment that is there are written off. `dropped`:
    see `plan`.
    """
    here = view.get(offset.s)
    there = here is not None and here.log
    ids = sorted(segment for segment, seen in view.items() if seen.log and segment > offset.s)
    gone = {s for s in memory.seen if s not in view or not view[s].log}
    gone |= {s for s, seen in view.items() if seen.orphan}
    if dropped is not None and dropped > offset.s:
        gone.add(dropped)
    ahead = [s for s in gone if s > offset.s and s >= memory.lost_below]
    if ahead or not there:
        # Up to what is there now and no further: a later loss is to be an error of its own, not part of this consent.
        first_gone = min(ahead, default=offset.s)
        upto = next((s for s in ids if s > first_gone), max([offset.s, memory.highest, *gone]) + 1)
        # What is archived is still to be read, before the rest of what the limit took.
        archived = (s for s in ids if first_gone < s <= (dropped or 0) and view[s].cleaned)
        upto = max(upto, 0 if any(archived) else (dropped or 0) + 1)
        to = Position(upto, 0)
    else:
        # Only a late segment is gone: nothing of the main line is written off.
        upto, to = memory.lost_below, offset.position
    late = tuple((segment, at) for segment, at in offset.p if segment in view and view[segment].log)
    moved = msgspec.structs.replace(offset, done=offset.done or not there, p=late)
    seen = memory.seen.without((s, s) for s in memory.seen.below(upto) if s not in view or not view[s].log)
    return moved, msgspec.structs.replace(memory, seen=seen, lost_below=upto), to
