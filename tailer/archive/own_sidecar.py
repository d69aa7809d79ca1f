"""The sidecar that a native segment's writer left of it, told anew from its sections where it was cleaned.

Walks markers, and decodes records only up to the first that readers need. Judges no entry: who reads does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tailer.errors import CdcError, CorruptError
from tailer.framing.header import Header
from tailer.framing.section import NoSection, Section
from tailer.framing.sidecar import Sidecar
from tailer.position import Position
from tailer.scan.record.tracked import Finder
from tailer.segments.section_state import restart_behind
from tailer.segments.segment import SegmentFile


class OwnEnd(NamedTuple):
    """How a segment ended. `empty`: nothing was written to it. `sidecar`: None where it holds nothing for readers.

    `previous`: the segment before it in its log, 0 for the log's first; None where its header does not tell.
    """

    empty: bool
    sidecar: Sidecar | None
    previous: int | None = None


def own_end(file: SegmentFile) -> OwnEnd:
    """Of a finished segment. One that is damaged promises more than is there: who comes to the place is told of it."""
    try:
        header = file.header()
    except CdcError:
        return OwnEnd(False, _damaged(file, 0))
    if header is None:
        return OwnEnd(True, None)
    finder = Finder(file.segment, header.length)
    last, whole = _walk(file, header, finder)
    previous = header.previous or 0
    if not whole:
        return OwnEnd(False, _damaged(file, header.length if last is None else last.end), previous)
    if last is None:
        return OwnEnd(True, None, previous)
    restart = _restart(file, last) if finder.tracked else None
    sidecar = None if restart is None else Sidecar(last.end, True, finder.first, restart)
    return OwnEnd(False, sidecar, previous)


def _walk(file: SegmentFile, header: Header, finder: Finder) -> tuple[Section | None, bool]:
    """The last section, and whether the segment checks up to its end."""
    last: Section | None = None
    for section in file.sections(header.length, header.length):
        if isinstance(section, NoSection):
            return last, section.why.clean
        if not finder.tracked and not _look(file, section, finder):
            return last, False
        last = section
    return last, True


def _look(file: SegmentFile, section: Section, finder: Finder) -> bool:
    """Whether the section's entries check."""
    try:
        data, entries = file.entries(section)
        finder.look(section.start, _payloads(data, entries.starts, entries.sizes))
    except CdcError:
        return False
    return not entries.faults


def _payloads(data: bytes, starts: Iterable[int], sizes: Iterable[int]) -> Iterator[bytes]:
    return (data[start : start + size] for start, size in zip(starts, sizes, strict=True))


def _restart(file: SegmentFile, last: Section) -> Position:
    try:
        found = restart_behind(file, last)
    except CorruptError:
        found = None
    return found or Position(file.segment, last.end)


def _damaged(file: SegmentFile, end: int) -> Sidecar:
    """More than the sections up to `end` was there."""
    beyond = max(end + 1, file.status().size)
    return Sidecar(beyond, True, 0, Position(file.segment, beyond))
