"""How far one segment can be read now: walks its sections, checks every marker, section and entry on the way.

This is where architecture section 3 draws the line between "not yet", a log's end, and corruption. Decodes no mutation;
what it reads is handed to `collect`, so that definitions are learnt in the same pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tailer.errors import CdcError, CorruptError
from tailer.framing.forms import CHECK_SHARE
from tailer.framing.section import MARKER_BYTES, NoSection, Section
from tailer.jit.ready import expect
from tailer.limits import HEADER_BYTES_MAX, OFFSET_MAX
from tailer.planning.heads import Heads, IsNewest
from tailer.planning.learnt import LearntSegments
from tailer.planning.plan import Reach
from tailer.planning.sighting import Closed, Sighting
from tailer.planning.survey import Survey
from tailer.position import Position, Span
from tailer.segments.fault import SKIP_SEGMENT, Fault, check_section, goes_on, marker_fault, pointer_fault
from tailer.segments.run import Run, run_of
from tailer.segments.runs import read_run
from tailer.segments.segment import SegmentFile
from tailer.state.learnt import RULES, Learnt

Collect = Callable[[int, Run], None]
"""Called with the segment and the sections in it that were found good."""


@dataclass(slots=True)
class _Walk:
    """How far one walk came: the edge reached, its file offset, and what stopped it."""

    start: int
    at: int
    edge: int
    fault: Fault | None = None
    section: Section | None = None
    """The section that `fault` is in, None for a marker."""


class Reacher:
    """`plan.ReachSegment` over a survey. What was closed or given up meanwhile stands in `closed` and `losses`.

    `pass_over`: called in the place of `collect` for sections of which all is `learnt` that they say of definitions.
    `only_captured`: rows of tables that do not capture are not wanted, so that heads without others are left out;
    `is_newest`: see `Heads`.
    """

    def __init__(
        self,
        survey: Survey,
        collect: Collect,
        *,
        visible_within: float,
        quarantine: bool = False,
        accept_loss: bool = False,
        pass_over: Collect | None = None,
        learnt: LearntSegments | None = None,
        only_captured: bool = False,
        is_newest: IsNewest | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.closed: list[int] = []
        self.losses: list[Position] = []
        self._survey = survey
        self._collect = collect
        self._pass_over = pass_over or collect
        self._visible_within = visible_within
        self._quarantine = quarantine
        self._accept_loss = accept_loss
        self._clock = clock
        self._heads = Heads(collect, is_newest) if only_captured else None
        self._waiting: dict[int, tuple[int, float]] = {}
        self._learnt = learnt if learnt is not None else LearntSegments()

    def __call__(self, segment: int, offset: int, budget: int) -> Reach:
        sighting = self._survey.sighting(segment)
        try:
            file = self._survey.file(segment)
            if segment in self._waiting:
                _refresh(file)
            if file.header() is None:
                return self._no_header(segment, offset, sighting)
            if sighting.finished is None:
                return self._growing(file, sighting, offset, budget)
            self._waiting.pop(segment, None)
            return self._ended(file, sighting, offset, budget)
        except FileNotFoundError:
            # Deleted between the look and now: the next look tells what that means, if there is one. So it does where
            # an archived segment was found damaged.
            return Reach(offset, waiting=not (self._survey.frozen and self._survey.has_log(segment)))
        except CorruptError as damage:
            # The header. Nothing was promised yet where no end was published; else its bytes are durable, and this
            # reader may only not see them yet.
            fault = Fault(offset, True, False, damage)
            if sighting.finished is None and sighting.end == 0:
                return Reach(offset)
            if sighting.finished is None:
                return self._not_visible(segment, offset, None, fault)
            return self._corrupt(segment, offset, None, fault)
        except CdcError as error:
            return Reach(offset, error=error)

    def learn(self, segment: int, *, ahead: int | None = None) -> CdcError | None:
        """Hand the sections of a segment to `collect` up to its last good marker, from where the last walk ended.

        Gives what keeps promised bytes from being read, if anything does. It is reported when their rows are wanted.
        `ahead`: its rows from this offset on are read soon, so that what is walked of them is kept, as far as there is
        room.
        """
        learnt, closed = self._learnt.of(segment), self._survey.closed.get(segment)
        if learnt is not None and closed is not None and closed.end <= learnt.end:
            return None
        try:
            with self._survey.opened(segment) as file:
                if file.header() is None:
                    return None
                start, at = self._place(file, 0) if learnt is None else (learnt.end, learnt.at)
                sighting = self._survey.sighting(segment)
                promised = max(sighting.end, sighting.published)
                if learnt is not None and start >= promised and isinstance(next(file.sections(start, at)), NoSection):
                    return None
                # No limit: definitions need not be durable. They only name bytes, and a row that needs them stands
                # behind them in the same log.
                walk = self._walk(file, start, at, limit=None, budget=None, learns=True, ahead=ahead)
                file.remember(walk.edge, walk.at)
                self._forget_gone()
            return walk.fault.error if walk.edge < promised and walk.fault is not None else None
        except FileNotFoundError:
            return None
        except CdcError as error:
            return error

    def _forget_gone(self) -> None:
        left = self._learnt.forget_gone(self._survey.segments)
        if left is not None and self._heads is not None:
            self._heads.keep_only(left)

    def _place(self, file: SegmentFile, offset: int) -> tuple[int, int]:
        """The section edge to read on from, logical and in the file: a head that nobody wants is left out."""
        first = self._survey.sighting(file.segment).first
        edge = self._heads.begin(file, first) if self._heads is not None and first else None
        if edge is not None and offset < first:
            return edge
        if (known := self._learnt.edge(file.segment, offset)) is not None:
            file.remember(*known)
        return file.place(offset)

    def _walk(
        self,
        file: SegmentFile,
        start: int,
        at: int,
        limit: int | None,
        budget: int | None,
        published: int = 0,
        *,
        learns: bool = False,
        ahead: int | None = None,
    ) -> _Walk:
        """Sections from an edge on while they check, end at or before `limit`, and `budget` is not used up.

        `limit` and `published` are section edges: a section that reaches over one of them and does not check is no
        section, its marker's pointer is wrong. What was read is about to be read again for its rows; with `learns` that
        is for what ends behind `ahead` alone, and later.
        """
        walk = _Walk(start, at, start)
        self._expect(file.segment, start, budget)
        most = OFFSET_MAX if budget is None else budget
        while walk.edge - start < most:
            end = OFFSET_MAX if limit is None else limit
            run = read_run(file, walk.edge, walk.at, end, most - (walk.edge - start), keep=not learns)
            if run is None:
                run = self._look(file, walk, limit, published)
            if run is None:
                break
            known = self._learnt.is_known(file.segment, walk.edge, run.edge)
            (self._pass_over if known else self._collect)(file.segment, run)
            if self._heads is not None:
                self._heads.define(file, run)
            if ahead is not None and run.edge > ahead:
                file.kept.keep_ahead(run)
            walk.edge, walk.at = run.edge, run.at
        self._note_learnt(file, walk)
        return walk

    def _note_learnt(self, file: SegmentFile, walk: _Walk) -> None:
        """Whatever it was for, a walk that goes on from where all is learnt need not be made again to learn."""
        learnt = self._learnt.of(file.segment)
        if learnt is None:
            header = file.known_header().length
            begin = self._place(file, 0)[0]
            learnt = Learnt(file.segment, begin, 0, 0 if begin == header else begin, RULES)
        if walk.start <= learnt.end < walk.edge:
            self._learnt.note(Learnt(file.segment, walk.edge, walk.at, learnt.begin, RULES))

    def _expect(self, segment: int, start: int, budget: int | None) -> None:
        """How much is about to be checked, as far as the sidecar tells."""
        sighting = self._survey.sighting(segment)
        ahead = max(sighting.end, sighting.published, sighting.number or 0) - start
        expect(max(ahead if budget is None else min(ahead, budget), 0) // CHECK_SHARE)

    def _look(self, file: SegmentFile, walk: _Walk, limit: int | None, published: int) -> Run | None:
        """The one section at the walk's edge; None where the walk ends there, with the fault if there is one."""
        found = next(file.sections(walk.edge, walk.at))
        if isinstance(found, NoSection):
            walk.fault = marker_fault(file, found)
            return None
        if limit is not None and found.start >= limit:
            return None
        over = limit is not None and found.end > limit
        # No section reaches over a published end, so one that does and is bad has a bad pointer. Its entries say
        # nothing, and to put them aside would give up good sections that the pointer hides.
        doubt = found.end if over else published if found.start < published < found.end else 0
        fault, data, entries = check_section(file, found, doubt)
        if fault is not None:
            walk.fault, walk.section = fault, None if fault.marker else found
            return None
        # Good, but over the limit: the sidecar's number stands inside it, it was cut while it was written.
        return None if over else run_of(found, data, entries, native=file.known_header().native)

    def _growing(self, file: SegmentFile, sighting: Sighting, offset: int, budget: int) -> Reach:
        """A segment that may grow: sections up to the sidecar's end; all of them must be visible in the end."""
        start, at = self._place(file, offset)
        walk = self._walk(file, start, at, sighting.end, budget)
        # Put aside only when the time to see it is over: a network file system may still show old bytes of an entry.
        while walk.section is not None and self._may_skip(file.segment, walk):
            walk = self._skip(file, walk, sighting.end, budget)
        reach = self._reached(file, offset, start, at, walk)
        promised = sighting.end > walk.edge and walk.fault is not None
        if not promised or walk.fault is None:
            self._waiting.pop(file.segment, None)
            return reach
        return self._not_visible(file.segment, reach.end, reach.span, walk.fault)

    def _may_skip(self, segment: int, walk: _Walk) -> bool:
        return self._quarantine and self._overdue(segment, walk.edge)

    def _skip(self, file: SegmentFile, walk: _Walk, limit: int | None, budget: int, published: int = 0) -> _Walk:
        """Go on behind a section whose bad entries the reader will put into quarantine."""
        assert walk.section is not None
        left = budget - (walk.section.end - walk.start)
        if left <= 0:
            return _Walk(walk.start, walk.section.next_at, walk.section.end)
        further = self._walk(file, walk.section.end, walk.section.next_at, limit, left, published)
        if further.edge == walk.section.end and further.fault and further.fault.marker and not further.fault.clean:
            return _Walk(walk.start, walk.at, walk.edge, pointer_fault(file, walk.section, further.fault))
        further.start = walk.start
        return further

    def _overdue(self, segment: int, edge: int) -> bool:
        if self._visible_within <= 0:
            return True
        since = self._waiting.get(segment)
        return since is not None and since[0] == edge and self._clock() - since[1] >= self._visible_within

    def _not_visible(self, segment: int, end: int, span: Span | None, fault: Fault) -> Reach:
        """Promised bytes do not check yet: look again with a fresh descriptor, and call it corruption in the end."""
        since = self._waiting.get(segment)
        if since is None or since[0] != end:
            self._waiting[segment] = (end, self._clock())
        if self._overdue(segment, end):
            return Reach(end, span, error=fault.error)
        return Reach(end, span, waiting=True)

    def _no_header(self, segment: int, offset: int, sighting: Sighting) -> Reach:
        if sighting.finished is None and sighting.end == 0:
            return Reach(offset)
        error = CorruptError(
            "the segment has no header",
            at=Position(segment, 0),
            file=self._survey.log_name(segment),
            expected="a header",
            found="zeros or too few bytes",
            remedy=SKIP_SEGMENT,
        )
        fault = Fault(offset, True, True, error)
        if sighting.finished is None:
            return self._not_visible(segment, offset, None, fault)
        # A file of zeros was made and never written. With a byte in it, or an end that was ever published, there
        # was a header once.
        begun = any(self._survey.file(segment).read(0, HEADER_BYTES_MAX))
        if begun or sighting.published > 0 or sighting.number is not None:
            return self._corrupt(segment, offset, None, fault)
        return self._close(segment, offset, None, 0, ())

    def _ended(self, file: SegmentFile, sighting: Sighting, offset: int, budget: int) -> Reach:
        """A finished segment: everything before its published end must check; behind it the log may end in ruins."""
        start, at = self._place(file, offset)
        recorded = self._survey.closed.get(file.segment)
        if recorded is not None:
            return self._recorded(file, offset, start, at, recorded, budget)
        # What was delivered was durable: the log cannot end before it, whatever the sidecar says now.
        published = max(sighting.published, offset, start)
        # A restart wrote the file's length over the last end, so what was durable is unknown. A crash's remains and
        # corruption look alike then, but for one thing: behind remains there is no later marker that checks.
        blind = sighting.published == 0 and sighting.number is not None
        walk = self._walk(file, start, at, None, budget, sighting.published)
        while walk.section is not None and self._quarantine and self._promised(file, walk, published, blind):
            walk = self._skip(file, walk, None, budget, sighting.published)
        reach = self._reached(file, offset, start, at, walk)
        fault = walk.fault
        if fault is None:
            return reach
        if fault.offset < published or (not fault.clean and self._promised(file, walk, published, blind)):
            return self._corrupt(file.segment, reach.end, reach.span, fault)
        # The log ends here. Entries of a torn section that stand before the bad one are whole and count: the span
        # covers the section, and its `upper` cuts it.
        end = max(fault.offset, offset)
        span = reach.span
        if walk.section is not None and fault.offset > walk.section.start + MARKER_BYTES:
            lower = max(offset, start)
            span = Span(file.segment, start, walk.section.end, at, lower, fault.offset)
        else:
            end = reach.end
        notices = () if fault.clean else (self._ruins(file.segment, fault, end),)
        return self._close(file.segment, end, span, max(published, walk.edge if blind else published), notices)

    def _promised(self, file: SegmentFile, walk: _Walk, published: int, blind: bool) -> bool:
        """Whether the log was promised to go on at the fault, or plainly does."""
        assert walk.fault is not None
        if walk.fault.offset < published:
            return True
        if not blind:
            return False
        return goes_on(file, walk.at)

    def _ruins(self, segment: int, fault: Fault, end: int) -> str:
        at = Position(segment, end)
        return f"{self._survey.log_name(segment)}: the log ends at {at}; a crash left what follows ({fault.error.what})"

    def _recorded(self, file: SegmentFile, offset: int, start: int, at: int, recorded: Closed, budget: int) -> Reach:
        """A log end on record stands, whatever the file shows behind it.

        Rows up to it may be out, and another run may have gone on from there: to judge anew could only contradict that.
        """
        if offset >= recorded.end:
            return Reach(offset, done=True)
        walk = _Walk(start, at, start)
        while walk.edge < recorded.end:
            step = self._walk(file, walk.edge, walk.at, None, min(recorded.end, start + budget) - walk.edge)
            walk.edge, walk.at = step.edge, step.at
            if step.fault is not None and step.fault.offset < recorded.end and not (self._quarantine and step.section):
                reach = self._reached(file, offset, start, at, walk)
                return self._corrupt(file.segment, reach.end, reach.span, step.fault)
            if step.section is not None:
                walk.edge, walk.at = step.section.end, step.section.next_at
            if walk.edge - start >= budget:
                break
        span = Span(file.segment, start, walk.edge, at, max(offset, start), min(walk.edge, recorded.end))
        done = walk.edge >= recorded.end
        file.remember(walk.edge, walk.at)
        return Reach(recorded.end if done else walk.edge, span, done=done)

    def _reached(self, file: SegmentFile, offset: int, start: int, at: int, walk: _Walk) -> Reach:
        file.remember(walk.edge, walk.at)
        if walk.edge <= start:
            return Reach(offset)
        return Reach(walk.edge, Span(file.segment, start, walk.edge, at, max(offset, start), walk.edge))

    def _close(self, segment: int, end: int, span: Span | None, published: int, notices: tuple[str, ...]) -> Reach:
        self._survey.closed[segment] = Closed(end, published)
        self.closed.append(segment)
        return Reach(end, span, done=True, notices=notices)

    def _corrupt(self, segment: int, end: int, span: Span | None, fault: Fault) -> Reach:
        if not (fault.marker and self._accept_loss):
            return Reach(end, span, error=fault.error)
        self.losses.append(Position(segment, end))
        notice = f"segment {segment}: everything from {Position(segment, end)} on is given up (--accept-loss)"
        return self._close(segment, end, span, max(end, self._survey.sighting(segment).published), (notice,))


def _refresh(file: SegmentFile) -> None:
    """A fresh descriptor: a network file system may show an old one stale bytes."""
    try:
        file.reopen()
    except FileNotFoundError:
        # Its name is gone: the descriptor that is held still reads it.
        return
