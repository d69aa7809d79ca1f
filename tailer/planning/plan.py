"""The planner: what one look at a folder allows to be read now, from a given offset on. Pure.

It takes a `View` (what the folder shows, judged by `planning/survey.py`) and a `Reach` function that tells how far one
segment can be read, and gives spans in log order and the offset behind them. No clock, no file, no journal in here:
the same arguments give the same plan.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from heapq import merge
from typing import Final

import msgspec

from tailer.errors import CdcError
from tailer.planning.appeared import (
    NONE_APPEARED,
    AppearedSegments,
    Judged,
    begun,
    gone_error,
    judge,
    out_of_order,
    unexplained_error,
    waits_behind,
)
from tailer.planning.loss import losses, lost
from tailer.position import Position, Span
from tailer.segments.view import View, ids_above, ids_of
from tailer.state.ids import NO_IDS, Ids
from tailer.state.journal_records import AppearedRecord
from tailer.state.offset import Memory, NodeOffset


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one segment can be read from an offset: the new offset, and the span if anything lies between.

    `done`: the log's end was reached. `waiting`: promised bytes cannot be seen yet. `error`: what stands at `end`.
    """

    end: int
    span: Span | None = None
    done: bool = False
    waiting: bool = False
    error: CdcError | None = None
    notices: tuple[str, ...] = ()


SEGMENTS_MAX: Final = 48
"""Segments that one plan reads at most: all of them are open until their rows are read."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Where a plan stands behind what it reads of one segment. `memory`: what is to be remembered there."""

    offset: NodeOffset
    memory: Callable[[], Memory] = field(compare=False)

    def reached(self, segment: int) -> int:
        """How far the plan reads a segment."""
        return self.offset.o if segment == self.offset.s else dict(self.offset.p)[segment]

    def within(self, segment: int, at: int) -> NodeOffset:
        """The offset of who has taken the segment's rows up to `at` alone, and all before them."""
        if segment == self.offset.s:
            return msgspec.structs.replace(self.offset, o=at, done=False)
        late = tuple((each, at if each == segment else end) for each, end in self.offset.p)
        return msgspec.structs.replace(self.offset, p=late)


ReachSegment = Callable[[int, int, int], Reach]
"""(segment, offset, byte budget above 0) -> Reach. At least one section, whatever the budget."""


@dataclass(slots=True)
class Plan:
    """What may be read now. `spans` in log order, late segments first; `offset` stands behind them.

    `passed`: segments without sidecar that the position moved beyond. `error` is raised once everything before it was
    delivered. `held`: (unfinished segment, higher segment whose promised rows wait behind it). `absent`: see
    `absent.py`. `edges`: by segment; one without sidecar that was passed over has none, the next one's stands behind
    it. `appeared`, `undecided`, `unexplained`, `gone`: see `appeared.Judged`.
    """

    offset: NodeOffset
    memory: Memory
    spans: list[Span] = field(default_factory=list)
    passed: list[int] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    error: CdcError | None = None
    held: tuple[int, int] | None = None
    waiting: bool = False
    absent: bool = False
    edges: dict[int, Edge] = field(default_factory=dict)
    appeared: tuple[AppearedRecord, ...] = ()
    undecided: tuple[int, ...] = ()
    unexplained: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()


def plan(
    view: View,
    offset: NodeOffset,
    memory: Memory,
    reach: ReachSegment,
    budget: int,
    *,
    wide: bool = False,
    dropped: int | None = None,
    forgotten: int = 0,
    segments: int = SEGMENTS_MAX,
    appeared: AppearedSegments = NONE_APPEARED,
    settled: bool = False,
    taken: Ids = NO_IDS,
) -> Plan:
    """The next plan from `offset` on, of about `budget` logical bytes and so many `segments` at most.

    `wide`: segments without sidecar hold wanted rows too (`--table` with tables without cdc). `dropped`: the folder is
    a native log's, which says up to which segment its limit took some away (0: none): gaps in ids mean nothing.
    `forgotten`: of lower ids that nobody has read it is not known any more whether they were there. `appeared`: what
    the state knows of segments that appeared below others; `settled`: no later look will show more. `taken`: what
    `clean --force` took from this consumer.
    """
    memory = begun(view, offset, memory, out_of_order(appeared))
    judged = judge(view, offset, memory, appeared, settled=settled, taken=taken)
    work = _Planner(view, offset, judged, reach, budget, wide, dropped, segments, appeared)
    work.late_segments()
    work.check_appeared(forgotten)
    work.main_line()
    return work.finish()


class _Planner:
    """One run of `plan`: the walk's state, so that its steps are small functions."""

    def __init__(
        self,
        view: View,
        offset: NodeOffset,
        judged: Judged,
        reach: ReachSegment,
        budget: int,
        wide: bool,
        dropped: int | None,
        segments: int,
        appeared: AppearedSegments,
    ) -> None:
        memory = judged.memory
        self._view = view
        self._memory = memory
        self._appeared = appeared
        self._reach = reach
        self._budget = budget
        self._wide = wide
        self._segments = min(segments, SEGMENTS_MAX)
        self._losses = losses(view, memory, dropped)
        self._segment, self._end, self._done = offset.s, offset.o, offset.done
        self._given = offset
        self._passed_list: dict[int, int] = {}
        self._unread = dict(offset.p)
        self._out = Plan(
            offset,
            memory,
            appeared=judged.seen,
            undecided=judged.undecided,
            unexplained=judged.unexplained,
            gone=judged.gone,
        )
        self._holes = memory.holes
        self._last: int | None = None
        self._ids = ids_of(view)
        self._gone = [segment for segment in memory.seen.from_id(memory.lost_below) if segment not in view]

    def late_segments(self) -> None:
        """Segments in `p`, then those that turned up in a hole."""
        for segment, at in self._given.p:
            del self._unread[segment]
            seen = self._view.get(segment)
            if seen is not None and seen.closed is not None and at >= seen.closed:
                # Read to its end in the offset before this one, which still names it: that is how a batch between the
                # two offsets is planned again. From here on nothing needs it.
                continue
            if seen is None or not seen.log:
                self._late_gone(segment, at)
            elif seen.sidecar or (self._wide and not seen.lone) or seen.finished == "stopped":
                self._passed_list[segment] = self._read_late(segment, at)
                self._note_edge(segment)
            elif not seen.lone:
                self._passed_list[segment] = at
        for segment in self._in_holes():
            # A link made when space came free. Its rows come with a later offset: the end of this one must name it as
            # read up to 0, or nobody who plans this batch again could tell that it was not there yet.
            if not self._view[segment].log:
                continue
            if waits_behind(segment, self._given, self._view, self._appeared):
                continue
            self._passed_list.setdefault(segment, 0)
            self._holes = self._holes.without([(segment, segment)])
            # The plan ends here: the rows of this segment come before those of segments that were written later. A
            # segment that keeps its place in the order comes before all higher ones.
            if segment in self._appeared:
                self._last = self._given.s
        if self._last is None and self._appeared:
            late = out_of_order(self._appeared)
            waiting = [known.behind for each, known in late.items() if each in self._holes]
            self._last = min(waiting, default=None)

    def check_appeared(self, forgotten: int) -> None:
        """A segment that turns up below what is remembered was read, cleaned, or is new: nobody can tell."""
        if self._out.gone:
            self._out.error = self._out.error or gone_error(self._out.gone)
        if self._out.unexplained:
            self._out.error = self._out.error or unexplained_error(self._out.unexplained)
        first = bisect_left(self._ids, self._memory.begun)
        for segment in self._ids[first : bisect_left(self._ids, forgotten)]:
            seen = self._view[segment]
            known = not seen.log or seen.cleaned or segment < self._memory.lost_below
            if known or segment in self._memory.holes or segment in self._passed_list:
                continue
            what = f"segment {segment} has turned up, and of those below {forgotten} nothing is remembered any more"
            self._out.error = self._out.error or lost(Position(segment, 0), what)

    def _in_holes(self) -> Iterator[int]:
        """Ids below the position for which no file was there when they were passed, and that are there now."""
        ids = self._ids
        for first, last in self._memory.holes.from_id(ids[0]).below(self._given.s).ranges if ids else ():
            yield from ids[bisect_left(ids, first) : bisect_right(ids, last)]

    def _late_gone(self, segment: int, at: int) -> None:
        if segment < self._memory.lost_below:
            return
        if segment in self._memory.seen:
            self._out.error = self._out.error or lost(Position(segment, at), "a segment that had a sidecar is gone")
            self._passed_list[segment] = at
        elif (notice := self._losses.late_gone(segment)) is not None:
            self._out.notices.append(notice)

    def _read_late(self, segment: int, at: int) -> int:
        if self._budget <= 0:
            return at
        found = self._reach(segment, at, self._budget)
        self._take(found)
        self._out.waiting = self._out.waiting or found.waiting
        if found.error is not None:
            self._out.error = self._out.error or found.error
        return found.end

    def main_line(self) -> None:
        """The segment of the position, then the next ones, as far as order allows."""
        if self._out.error is not None or self._budget <= 0 or self._swept():
            return
        while self._read_current() and self._next_segment():
            pass

    def _swept(self) -> bool:
        """The limit deleted what lies behind the position, which was read to its segment's end."""
        if self._done:
            self._out.error = self._losses.swept(self._segment)
        return self._out.error is not None

    def _read_current(self) -> bool:
        """Read on in the current segment; True when its log was read to the end and the budget lasts."""
        if self._done:
            return True
        here = self._view.get(self._segment)
        if here is None or not here.log:
            self._out.error = lost(Position(self._segment, self._end), "the segment that was being read is gone")
            return False
        found = self._reach(self._segment, self._end, self._budget)
        self._take(found)
        self._end, self._done = found.end, found.done
        self._note_edge(self._segment)
        if found.error is not None:
            self._out.error = found.error
        if not self._done:
            self._out.waiting = self._out.waiting or found.waiting
            self._hold(self._segment)
        return self._done and self._budget > 0 and self._out.error is None

    def _note_edge(self, segment: int) -> None:
        """The plan could end here: whoever has taken its rows up to here stands as if it had."""
        offset, holes = self._stands(), self._holes
        self._out.edges[segment] = Edge(offset, partial(_remember, self._view, self._memory, offset, holes))

    def _stands(self) -> NodeOffset:
        late = tuple(sorted({**self._unread, **self._passed_list}.items()))
        place = {"s": self._segment, "o": self._end, "done": self._done, "p": late}
        return msgspec.structs.replace(self._given, **place)

    def _hold(self, segment: int) -> None:
        """Rows of higher segments wait: the flush thread closes segments out of order, so a higher id ends nothing."""
        if self._budget <= 0:
            return
        above = ids_above(self._view, segment)
        behind = next((higher for higher in above if self._view[higher].promised), None)
        if behind is not None:
            self._out.held = (segment, behind)

    def _take(self, found: Reach) -> None:
        self._out.notices.extend(found.notices)
        if found.span is not None:
            self._out.spans.append(found.span)
            self._budget -= found.span.bytes
        # The next plan goes on. Late segments that have nothing new count for nothing: they come with each plan.
        if len(self._out.spans) >= self._segments:
            self._budget = 0

    def _next_segment(self) -> bool:
        """Move to the next segment that counts; False when there is none yet."""
        if self._swept():
            return False
        passed: list[int] = []
        for segment in self._ahead():
            if self._last is not None and segment > self._last:
                return False
            seen = self._view.get(segment)
            # A sidecar without log from before the start, or of a loss that was accepted, says nothing new.
            if seen is not None and not seen.log and segment < max(self._memory.start, self._memory.lost_below):
                continue
            if seen is None or seen.orphan:
                self._out.error = lost(Position(segment, 0), "a segment whose sidecar was seen has no log")
                return False
            if not seen.log:
                # A sidecar whose log was not listed: half a listing, or a loss. The next look tells, a second apart.
                self._out.waiting = True
                return False
            if not seen.sidecar and seen.finished != "stopped":
                # Only once a higher one has an end is it passed: until then its own sidecar may be about to come, and
                # its rows are before theirs.
                passed.append(segment)
                continue
            if seen.end == 0 and seen.finished is None:
                self._hold(segment)
                return False
            self._pass_over(passed, segment)
            self._segment, self._end, self._done = segment, 0, False
            return self._out.error is None and self._budget > 0
        return False

    def _ahead(self) -> Iterator[int]:
        """Ids above the position: those that are there, and those whose sidecar was seen before. None below where the
        consumer began."""
        at = max(self._segment, self._memory.begun - 1)
        return merge(ids_above(self._view, at), self._gone[bisect_right(self._gone, at) :])

    def _pass_over(self, passed: list[int], target: int) -> None:
        for segment in passed:
            self._out.passed.append(segment)
            self._passed_list[segment] = self._read_late(segment, 0) if self._wide else 0
        # Ids of which nothing was seen are holes, kept from before the offset leaves: only a segment that turns up in
        # one is late, any other below the position was read, or cleaned and linked anew. Before the start is history.
        first = max(self._segment, self._memory.start - 1) + 1
        for segment in [*passed, target]:
            if first < segment and self._memory.start:
                self._holes = self._holes.with_ranges([(first, segment - 1)])
                if (notice := self._losses.gap(first, segment - 1)) is not None:
                    self._out.notices.append(notice)
            first = segment + 1

    def finish(self) -> Plan:
        out = self._out
        out.offset = self._stands()
        out.memory = _remember(self._view, self._memory, out.offset, self._holes)
        return out


def _remember(view: View, memory: Memory, offset: NodeOffset, holes: Ids) -> Memory:
    """What the next plan must know of this look: all of it may be gone then, and only that tells a loss."""
    at, late = offset.s, {segment for segment, _ in offset.p}
    near = [view[segment] for segment in late if segment <= at and segment in view]
    above = [view[segment] for segment in ids_above(view, at)]
    shown = [seen.segment for seen in (*near, *above) if seen.sidecar and not seen.orphan]
    without = [seen.segment for seen in above if seen.log and not seen.sidecar]
    past = [segment for segment in late if segment <= at and segment in memory.seen]
    seen = memory.seen.from_id(at + 1).with_ids([*past, *shown])
    here = view.get(at)
    return msgspec.structs.replace(
        memory,
        start=memory.start or min((segment for segment, seen in view.items() if seen.log), default=0),
        highest=max([memory.highest, *ids_of(view)[-1:]]),
        seen=seen,
        bare=memory.bare.from_id(at + 1).with_ids(without).minus(seen),
        holes=holes,
        last_with_sidecar=at if here is not None and here.sidecar and not here.orphan else memory.last_with_sidecar,
    )
