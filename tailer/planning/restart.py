"""Where reading must begin so that every transaction that is open at a position is seen whole (architecture section 3).

In a native log each section's last record says it of the section's end; a server's log has no transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final

from tailer.errors import CdcError, LossError
from tailer.framing.section import NoSection, Section
from tailer.planning.survey import Survey
from tailer.position import Position
from tailer.segments.section_state import restart_behind
from tailer.segments.segment import SegmentFile
from tailer.segments.view import View
from tailer.state.offset import NodeOffset

SeenRestart = Callable[[Position], Position | None]
"""The restart at a section's end that was read before, None where it was not."""


def _nothing(edge: Position) -> Position | None:
    return None


def restart_of(offset: NodeOffset, survey: Survey, seen: SeenRestart = _nothing) -> Position:
    """The restart at an offset, as the folder was at the last look; the position itself where nothing is open."""
    at = offset.position
    if at.segment == 0 or not survey.is_native(at.segment):
        return at
    if offset.done and survey.own_restart(at.segment):
        # Its writer died: what was open then is so no more.
        return at
    found = seen(at) if at.offset else None
    if found is None:
        found = _read(at, survey)
    return at if found is None else min(found, at)


def check_restart(restart: Position, start: Position, view: View) -> None:
    """LossError where a transaction that is open at a start began in a segment that is gone."""
    here = view.get(restart.segment)
    if restart.segment >= start.segment or (here is not None and here.log):
        return
    raise LossError(
        f"Changes are lost: a transaction that is open at {start} began at {restart}, and that segment is gone",
        at=restart,
        remedy="Begin at `earliest`, which is what is still there.",
    )


def _read(at: Position, survey: Survey) -> Position | None:
    """By the last section at or before a position, in its segment or the one below."""
    below = (segment for segment in survey.segments_below(at.segment) if survey.is_native(segment))
    for segment, end in ((at.segment, at.offset), *((segment, _ALL) for segment in islice(below, 1))):
        if segment < at.segment and survey.own_restart(segment):
            return None
        try:
            with survey.opened(segment) as file:
                found = _last_state(file, end)
        except (FileNotFoundError, CdcError):
            # Reported where its rows are wanted.
            continue
        if found is not None:
            return found
    return None


_ALL: Final = 2**62


def _last_state(file: SegmentFile, end: int) -> Position | None:
    header = file.header()
    last: Section | None = None
    if header is not None and end > header.length:
        for section in file.sections(header.length, header.length):
            if isinstance(section, NoSection) or section.end > end:
                break
            last = section
    return None if last is None else restart_behind(file, last)
