"""Checks every CRC of a folder, segment by segment, for `verify`. Says what is damage by the rules of the follower.

Where promised bytes end, and what a crash may leave behind them, is decided by `planning/reach.py`; here damage is only
collected, and the check goes on behind it where that is possible. Prints nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tailer.cli.check_min import BeforeMin
from tailer.errors import CdcError, CorruptError
from tailer.framing.section import MARKER_BYTES, NoSection
from tailer.limits import OFFSET_MAX
from tailer.planning.reach import Reacher
from tailer.planning.survey import Survey
from tailer.position import Position
from tailer.segments.fault import SKIP_ENTRY
from tailer.segments.run import Run, run_of
from tailer.segments.segment import SegmentFile
from tailer.state.offset import NodeOffset

_PAUSE_SECONDS: Final = 0.1

Progress = Callable[[int, int], None]
"""Called with a segment and the file offset up to which it was checked."""


@dataclass(slots=True)
class Checked:
    """What was found of one segment. `bytes`: plain bytes of good sections. `errors`: damage, or why there is no check.

    `unpromised`: good sections of an unfinished segment beyond what its sidecar vouches for.
    """

    segment: int
    file: str
    finished: str | None = None
    sections: int = 0
    entries: int = 0
    bytes: int = 0
    log_end: int = 0
    unpromised: int = 0
    notices: list[str] = field(default_factory=list)
    errors: list[CdcError] = field(default_factory=list)

    @property
    def damaged(self) -> bool:
        return any(isinstance(error, CorruptError) for error in self.errors)


class Checker:
    """Checks segments of one folder; not for use by several threads."""

    def __init__(self, survey: Survey, visible_within: float, progress: Progress) -> None:
        self._survey = survey
        self._progress = progress
        self._visible_within = visible_within
        self._found = Checked(0, "")
        self._before_min = BeforeMin("", 0)

    def check(self, segment: int) -> Checked:
        """Every CRC of one segment, up to its log's end, or to its last good section while it is written."""
        self._survey.look(NodeOffset(s=segment, done=False))
        self._found = Checked(segment, self._survey.log_name(segment), self._survey.sighting(segment).finished)
        self._before_min = BeforeMin(self._found.file, self._survey.sighting(segment).first)
        try:
            file = self._survey.file(segment)
            offset = self._promised(file)
            if self._found.finished is None and not self._found.errors:
                self._unpromised(file, offset)
        except FileNotFoundError:
            self._found.notices.append("deleted meanwhile")
        except CdcError as error:
            self._found.errors.append(error)
        return self._found

    def _promised(self, file: SegmentFile) -> int:
        """What the log promises, damage noted; returns the logical offset that was reached."""
        reacher = Reacher(self._survey, self._collect, visible_within=self._visible_within)
        offset = 0
        while True:
            reach = reacher(file.segment, offset, OFFSET_MAX)
            self._found.notices.extend(reach.notices)
            if reach.error is not None:
                self._found.errors.append(reach.error)
                behind = self._behind(file, reach.error)
                if behind is None:
                    return reach.end
                # Whoever waited once for this segment's bytes knows enough.
                reacher, offset = Reacher(self._survey, self._collect, visible_within=0), behind
            elif reach.waiting:
                time.sleep(min(_PAUSE_SECONDS, self._visible_within))
                self._survey.look(NodeOffset(s=file.segment, done=False))
                offset = reach.end
            elif reach.done or reach.end <= offset:
                self._found.log_end = reach.end
                return reach.end
            else:
                offset = reach.end

    def _collect(self, segment: int, run: Run) -> None:
        found = self._found
        found.sections += len(run.sections)
        found.entries += len(run.starts)
        found.bytes += run.edge - int(run.sections[0]) - MARKER_BYTES * len(run.sections)
        found.log_end = run.edge
        found.errors.extend(self._before_min.errors(segment, run))
        self._progress(segment, run.at)

    def _behind(self, file: SegmentFile, error: CdcError) -> int | None:
        """The end of the section that the damage is in, after noting the rest of it; None for damage to the chain."""
        if error.at is None or not isinstance(error, CorruptError):
            return None
        start, at = file.place(error.at.offset)
        section = next(file.sections(start, at))
        if isinstance(section, NoSection):
            return None
        try:
            _, entries = file.entries(section)
        except CorruptError:
            return section.end
        self._found.entries += len(entries.starts)
        self._found.errors += [
            CorruptError(
                fault.error.value,
                at=Position(file.segment, section.start + MARKER_BYTES + fault.offset),
                file=file.path.name,
                expected=fault.expected,
                found=fault.found,
                remedy=SKIP_ENTRY,
            )
            for fault in entries.faults[1:]
        ]
        return section.end

    def _unpromised(self, file: SegmentFile, offset: int) -> None:
        """Sections that are written and not yet promised: the first that does not check is one in the making."""
        if file.header() is None:
            return
        for section in file.sections(*file.place(offset)):
            if isinstance(section, NoSection):
                if not section.why.clean:
                    self._found.notices.append(f"beyond the promised end: {section.why.value} at {section.start}")
                return
            try:
                data, entries = file.entries(section)
            except CorruptError:
                return
            if entries.faults:
                return
            self._collect(file.segment, run_of(section, data, entries, native=file.known_header().native))
            self._found.unpromised += 1
