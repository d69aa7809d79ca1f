"""A folder that is empty and was not before: its file system is not mounted yet, as at boot, or somebody moved it away.

It is evidence of nothing. Nothing moves, nothing is lost and nothing is written off until the folder shows a segment:
then what is missing among those that are there is a loss as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tailer.errors import HeldBackError, SystemFailedError
from tailer.planning.plan import Plan
from tailer.planning.survey import Survey
from tailer.position import Position
from tailer.segments.segment import SegmentFile
from tailer.segments.source import Source
from tailer.state.offset import Memory, NodeOffset

MOUNT: Final = "Is its file system mounted? Mount it, or bring the files back."


def without_evidence(made: Plan, cleaned: Callable[[int], bool], offset: NodeOffset, memory: Memory) -> Plan:
    """What a plan by a look at an empty folder comes to. It says so, unless what there was is known to be cleaned."""
    last = max(offset.s, memory.highest)
    missing = offset.position if made.error is None else made.error.at
    if (made.error is None and last == 0) or (missing is not None and cleaned(missing.segment)):
        return made
    notice = f"warning: the folder is empty, and segment {last} was there before: it is waited for. {MOUNT}"
    return Plan(offset, memory, notices=[notice], absent=made.error is not None)


def nothing_to_read(where: str, at: Position) -> HeldBackError:
    """The error of a run that does not wait."""
    return HeldBackError(
        "the folder is empty, and not all that was there has been read", at=at, file=where, remedy=MOUNT
    )


def file_now(survey: Survey, segment: int, offset: NodeOffset) -> SegmentFile:
    """A segment's file, after another look if the last one did not show it. FileNotFoundError where it is gone.

    SystemFailedError where nothing is there at all.
    """
    try:
        return survey.file(segment)
    except FileNotFoundError:
        # Appeared after the last look, or is gone.
        survey.look(offset)
    if survey.empty:
        raise _nothing_there(survey.source.where, segment)
    return survey.file(segment)


def check_mounted(source: Source, segment: int) -> None:
    """SystemFailedError where nothing is there at all, for a segment that is not there."""
    seen = source.look()
    if not (seen.logs or seen.sidecars or seen.dropped is not None):
        raise _nothing_there(source.where, segment)


def _nothing_there(where: str, segment: int) -> SystemFailedError:
    what = f"the folder is empty, and segment {segment} is to be read"
    return SystemFailedError(what, file=where, remedy=MOUNT)
