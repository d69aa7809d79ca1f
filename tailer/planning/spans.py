"""Spans of whole sections in a segment: the one that holds a range, and its cut into pieces. Reads heads only."""

from __future__ import annotations

from tailer.errors import CorruptError
from tailer.framing.section import NoSection
from tailer.position import Position, Span
from tailer.segments.segment import SegmentFile


def section_span(file: SegmentFile, segment: int, start: int, end: int) -> Span | None:
    """The span of whole sections that holds the entries from logical `start` to `end`; None where there is none.

    Raises CorruptError where the sections do not reach `end`.
    """
    edge, at = file.place(start)
    first = edge
    if end <= edge:
        return None
    for section in file.sections(first, at):
        if isinstance(section, NoSection):
            raise CorruptError(
                f"a section that was planned does not check any more ({section.why.value})",
                at=Position(segment, section.start),
                file=file.path.name,
                expected=f"sections up to {end}",
                found=section.why.value if section.found is None else section.found,
                remedy="Something other than the server has changed the file: restore it.",
            )
        edge = section.end
        if edge >= end:
            file.remember(edge, section.next_at)
            break
    return Span(segment, first, edge, at, max(first, start), end)


def cut(file: SegmentFile, span: Span, pieces: int) -> list[Span]:
    """The span in up to `pieces` spans of about the same length, in order. Fewer where it has fewer sections."""
    if pieces <= 1:
        return [span]
    made: list[Span] = []
    start, at = span.start, span.at
    for section in file.sections(span.start, span.at):
        if isinstance(section, NoSection) or section.end >= span.end:
            break
        if (section.end - span.start) * pieces >= (span.end - span.start) * (len(made) + 1):
            made.append(_piece(span, start, section.end, at))
            start, at = section.end, section.next_at
    return [*made, _piece(span, start, span.end, at)]


def _piece(span: Span, start: int, end: int, at: int) -> Span:
    return Span(span.segment, start, end, at, max(start, span.lower), min(end, span.upper))
