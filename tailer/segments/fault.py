"""What does not check in a segment: a marker, a section, an entry, each as a documented error. Judges nothing.

Whether such a fault means "not yet", the log's end or corruption is for `planning/reach.py` to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tailer.errors import CorruptError
from tailer.framing.entry import NO_ENTRIES, Entries
from tailer.framing.section import MARKER_BYTES, NoSection, Section, SectionLengthError, later_marker
from tailer.limits import MIB
from tailer.position import Position
from tailer.segments.segment import SegmentFile

SKIP_SEGMENT: Final = (
    "Restore the file, or go on at the next segment with --accept-loss (failOnDataLoss=false in Spark)."
)
SKIP_ENTRY: Final = "Restore the file, or keep the bytes aside and go on with --on-error quarantine."

_PIECE: Final = 8 * MIB
"""Bytes that are searched at a time for a later marker."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that does not check, at logical `offset`. `marker`: nothing behind it in the segment can be found."""

    offset: int
    marker: bool
    clean: bool
    error: CorruptError


def check_section(file: SegmentFile, section: Section, doubt: int) -> tuple[Fault | None, bytes, Entries]:
    """What is wrong with a section, if anything is; its plain bytes and entries.

    A fault below `doubt` means that the section's end is not known.
    """
    try:
        data, entries = file.entries(section)
    except CorruptError as damage:
        lost = section.start < doubt or isinstance(damage, SectionLengthError)
        return Fault(section.start, lost, False, damage), b"", NO_ENTRIES
    if not entries.faults:
        return None, data, entries
    bad = entries.faults[0]
    offset = section.start + MARKER_BYTES + bad.offset
    error = CorruptError(
        bad.error.value,
        at=Position(file.segment, offset),
        file=file.path.name,
        expected=bad.expected,
        found=bad.found,
        remedy=SKIP_SEGMENT if offset < doubt else SKIP_ENTRY,
    )
    return Fault(offset, offset < doubt, False, error), data, entries


def pointer_fault(file: SegmentFile, section: Section, behind: Fault) -> Fault:
    """A section that does not check, and no marker where it should end: it is its pointer that is wrong."""
    error = CorruptError(
        "a section does not check, and no sync marker follows it",
        at=Position(file.segment, section.start),
        file=f"{file.path.name}, byte {section.at}",
        expected=f"a sync marker at byte {section.next_at}",
        found=behind.error.what,
        remedy=SKIP_SEGMENT,
    )
    return Fault(section.start, True, False, error)


def marker_fault(file: SegmentFile, found: NoSection) -> Fault:
    error = CorruptError(
        found.why.value,
        at=Position(file.segment, found.start),
        file=f"{file.path.name}, byte {found.at}",
        expected="a section" if found.expected is None else found.expected,
        found=found.why.value if found.found is None else found.found,
        remedy=SKIP_SEGMENT,
    )
    return Fault(found.start, True, found.why.clean, error)


def goes_on(file: SegmentFile, at: int) -> bool:
    """Whether a marker of this segment checks anywhere behind the one at file offset `at`.

    From the next byte on, whatever that marker says: its own pointer may be what is damaged.
    """
    length = file.status().size
    for first in range(at + 1, length - MARKER_BYTES + 1, _PIECE):
        piece = file.read(first, _PIECE + MARKER_BYTES - 1)
        if later_marker(piece, file.segment, first, length) is not None:
            return True
    return False
