"""The planner: what one look at a folder allows to be read now, from a given offset on. Pure.

It takes a `View` (what the folder shows, judged by `planning/survey.py`) and a `Reach` function that tells how far one
segment can be read, and gives spans in log order and the offset behind them. No clock, no file, no journal in here:
the same arguments give the same plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tailer.errors import ACCEPT, CdcError, LossError
from tailer.position import Position, Span
from tailer.segments.view import View
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


ReachSegment = Callable[[int, int, int], Reach]
"""(segment, offset, byte budget) -> Reach. At least one section, whatever the budget."""


@dataclass(slots=True)
class Plan:
    """What may be read now. `spans` in log order, late segments first; `offset` stands behind them.

    `passed`: segments without sidecar that the position moved beyond. `error` is raised once everything before it was
    delivered. `held`: (unfinished segment, higher segment whose promised rows wait behind it).
    """

    offset: NodeOffset
    memory: Memory
    spans: list[Span] = field(default_factory=list)
    passed: list[int] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    error: CdcError | None = None
    held: tuple[int, int] | None = None
    waiting: bool = False


def plan(
    view: View,
    offset: NodeOffset,
    memory: Memory,
    reach: ReachSegment,
    budget: int,
    *,
    wide: bool = False,
    dropped: int | None = None,
) -> Plan:
    """The next plan from `offset` on, of about `budget` logical bytes.

    `wide`: segments without sidecar hold wanted rows too (`--table` with tables without cdc). `dropped`: the folder is
    a native log's, which says up to which segment its limit took some away (0: none): gaps in ids mean nothing.
    """
    work = _Planner(view, offset, memory, reach, budget, wide, dropped)
    work.late_segments()
    work.main_line()
    return work.finish()


class _Planner:
    """One run of `plan`: the walk's state, so that its steps are small functions."""

    def __init__(
        self,
        view: View,
        offset: NodeOffset,
        memory: Memory,
        reach: ReachSegment,
        budget: int,
        wide: bool,
        dropped: int | None,
    ) -> None:
        self._view = view
        self._memory = memory
        self._reach = reach
        self._budget = budget
        self._wide = wide
        self._dropped = dropped
        self._segment, self._end, self._done = offset.s, offset.o, offset.done
        self._given = offset
        self._passed_list: dict[int, int] = {}
        self._out = Plan(offset, memory)
        self._holes = list(memory.holes)

    def late_segments(self) -> None:
        """Segments in `p`, then those that turned up in a hole."""
        for segment, at in self._given.p:
            seen = self._view.get(segment)
            if seen is not None and seen.closed is not None and at >= seen.closed:
                continue
            if seen is None or not seen.log:
                self._late_gone(segment, at)
            elif seen.sidecar or (self._wide and not seen.lone) or seen.finished == "stopped":
                self._passed_list[segment] = self._read_late(segment, at)
            elif not seen.lone:
                self._passed_list[segment] = at
        for segment in sorted(self._view):
            if segment < self._given.s and self._memory.in_hole(segment) and self._view[segment].log:
                self._passed_list.setdefault(segment, 0)
                self._holes = _without(self._holes, segment)

    def _late_gone(self, segment: int, at: int) -> None:
        if segment in self._memory.seen and segment >= self._memory.lost_below:
            self._out.error = self._out.error or _lost(Position(segment, at), "a segment that had a sidecar is gone")
            self._passed_list[segment] = at
        elif segment >= self._memory.lost_below and self._dropped is None:
            self._out.notices.append(
                f"segment {segment} went without ever showing a sidecar: it held no captured change"
            )

    def _read_late(self, segment: int, at: int) -> int:
        found = self._reach(segment, at, self._budget)
        self._take(found)
        self._out.waiting = self._out.waiting or found.waiting
        if found.error is not None:
            self._out.error = self._out.error or found.error
        return found.end

    def main_line(self) -> None:
        """The segment of the position, then the next ones, as far as order allows."""
        if self._out.error is not None or self._swept():
            return
        while self._read_current() and self._next_segment():
            pass

    def _swept(self) -> bool:
        """The cap deleted the segment of the position and went on past it."""
        at, memory = self._segment, self._memory
        if self._dropped is not None:
            return self._done and self._took_unread()
        if not self._done or at == 0 or at < memory.lost_below or at != memory.last_with_sidecar:
            return False
        here = self._view.get(at)
        higher = sorted(segment for segment in self._view if segment > at)
        if (here is not None and (here.log or here.cleaned)) or not higher:
            return False
        if higher[0] <= memory.lost_below:
            return False
        missing = next((number for number in range(at + 1, higher[0]) if number not in memory.bare), None)
        if missing is None:
            return False
        self._out.error = _lost(
            Position(missing, 0), f"segment {at} was read and is gone, and segments between it and {higher[0]} with it"
        )
        return True

    def _took_unread(self) -> bool:
        """The limit of a native log deleted segments that were not read: those it deletes held changes."""
        at, memory = self._segment, self._memory
        dropped = self._dropped or 0
        if at == 0 or not memory.start or dropped <= at or dropped < max(memory.start, memory.lost_below):
            return False
        first = min((segment for segment in memory.seen if at < segment <= dropped), default=at + 1)
        self._out.error = _lost(
            Position(first, 0),
            f"the limit of the log took away segments up to {dropped}, and {at} is the last one read",
        )
        return True

    def _read_current(self) -> bool:
        """Read on in the current segment; True when its log was read to the end and the budget lasts."""
        if self._done:
            return True
        here = self._view.get(self._segment)
        if here is None or not here.log:
            self._out.error = _lost(Position(self._segment, self._end), "the segment that was being read is gone")
            return False
        found = self._reach(self._segment, self._end, self._budget)
        self._take(found)
        self._end, self._done = found.end, found.done
        if found.error is not None:
            self._out.error = found.error
        if not self._done:
            self._out.waiting = self._out.waiting or found.waiting
            self._hold(self._segment)
        return self._done and self._budget > 0 and self._out.error is None

    def _hold(self, segment: int) -> None:
        if self._budget <= 0:
            return
        behind = next(
            (higher for higher in sorted(self._view) if higher > segment and self._view[higher].promised), None
        )
        if behind is not None:
            self._out.held = (segment, behind)

    def _take(self, found: Reach) -> None:
        self._out.notices.extend(found.notices)
        if found.span is not None:
            self._out.spans.append(found.span)
            self._budget -= found.span.bytes

    def _next_segment(self) -> bool:
        """Move to the next segment that counts; False when there is none yet."""
        if self._dropped is not None and self._took_unread():
            return False
        passed: list[int] = []
        for segment in self._ahead():
            seen = self._view.get(segment)
            # A sidecar without log from before the start, or of a loss that was accepted, says nothing new.
            if seen is not None and not seen.log and segment < max(self._memory.start, self._memory.lost_below):
                continue
            if seen is None or seen.orphan:
                self._out.error = _lost(Position(segment, 0), "a segment whose sidecar was seen has no log")
                return False
            if not seen.log:
                self._out.waiting = True
                return False
            if not seen.sidecar and seen.finished != "stopped":
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
        """Ids above the position: those that are there, and those whose sidecar was seen before."""
        known = {segment for segment in self._memory.seen if segment >= self._memory.lost_below}
        return iter(sorted(segment for segment in {*self._view, *known} if segment > self._segment))

    def _pass_over(self, passed: list[int], target: int) -> None:
        for segment in passed:
            self._out.passed.append(segment)
            self._passed_list[segment] = self._read_late(segment, 0) if self._wide else 0
        first = max(self._segment, self._memory.start - 1) + 1
        for segment in [*passed, target]:
            if first < segment and self._memory.start:
                self._holes.append((first, segment - 1))
                self._tell_gap(first, segment - 1)
            first = segment + 1

    def _tell_gap(self, first: int, last: int) -> None:
        """A restart's jump in ids and segments that came and went between two looks cannot be told apart."""
        if self._dropped is not None:
            return
        if last - first < len(self._memory.bare) and all(
            number in self._memory.bare for number in range(first, last + 1)
        ):
            return
        which = f"segment {first} was" if first == last else f"segments {first} to {last} were"
        self._out.notices.append(
            f"{which} never seen here (normal after a restart of the server): may have held changes"
        )

    def finish(self) -> Plan:
        out = self._out
        late = tuple(sorted(self._passed_list.items()))
        out.offset = NodeOffset(self._given.j, self._segment, self._end, self._done, late)
        out.memory = _remember(self._view, self._memory, out.offset, tuple(self._holes))
        return out


def _remember(view: View, memory: Memory, offset: NodeOffset, holes: tuple[tuple[int, int], ...]) -> Memory:
    late = {segment for segment, _ in offset.p}
    with_sidecar = {segment for segment, seen in view.items() if seen.sidecar and not seen.orphan}
    without = {segment for segment, seen in view.items() if seen.log and not seen.sidecar}
    seen = {s for s in memory.seen | with_sidecar if s > offset.s or s in late}
    bare = {s for s in (memory.bare | without) if s > offset.s} - seen
    last = offset.s if offset.s in with_sidecar else memory.last_with_sidecar
    return Memory(
        start=memory.start or min((segment for segment, seen in view.items() if seen.log), default=0),
        highest=max([memory.highest, *view]),
        seen=frozenset(seen),
        bare=frozenset(bare),
        holes=holes,
        lost_below=memory.lost_below,
        last_with_sidecar=last,
    )


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
        first_gone = min(ahead, default=offset.s)
        upto = next((s for s in ids if s > first_gone), max([offset.s, memory.highest, *gone]) + 1)
        upto = max(upto, (dropped or 0) + 1)
        to = Position(upto, 0)
    else:
        # Only a late segment is gone: nothing of the main line is written off.
        upto, to = memory.lost_below, offset.position
    late = tuple((segment, at) for segment, at in offset.p if segment in view and view[segment].log)
    moved = NodeOffset(offset.j, offset.s, offset.o, offset.done or not there, late)
    kept = Memory(
        start=memory.start,
        highest=memory.highest,
        seen=frozenset(s for s in memory.seen if s >= upto or (s in view and view[s].log)),
        bare=memory.bare,
        holes=memory.holes,
        lost_below=upto,
        last_with_sidecar=memory.last_with_sidecar,
    )
    return moved, kept, to


def _without(holes: list[tuple[int, int]], segment: int) -> list[tuple[int, int]]:
    """The ranges with one id taken out."""
    kept: list[tuple[int, int]] = []
    for first, last in holes:
        if not first <= segment <= last:
            kept.append((first, last))
            continue
        if first < segment:
            kept.append((first, segment - 1))
        if segment < last:
            kept.append((segment + 1, last))
    return kept


def _lost(at: Position, what: str) -> LossError:
    return LossError(f"Changes are lost: {what}; the first position not read is {at}", at=at, remedy=ACCEPT)
