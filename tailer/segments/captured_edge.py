"""Where a native segment's captured records begin: its head before that can be left out. Judges no entry."""

from __future__ import annotations

from typing import Final, NamedTuple

from tailer.framing.section import NoSection
from tailer.limits import MIB
from tailer.segments.segment import SegmentFile

HEAD_BYTES_MIN: Final = MIB
"""Of a shorter head it costs as little to read it as to tell whether something in it is needed."""


class Edge(NamedTuple):
    """A section edge: logical and file offset."""

    start: int
    at: int


def captured_edge(file: SegmentFile, first: int) -> Edge | None:
    """The section edge at the sidecar's `min`; None where the head before it is read too.

    That is where it is short, where there is none, and where no section begins at `first`.
    """
    header = file.header()
    if header is None or not header.native or first - header.length < HEAD_BYTES_MIN:
        return None
    if header.plain:
        # What was at other places is not asked for: a head of small sections has hundreds of thousands of markers.
        found = next(file.sections(first, first))
        edge = Edge(header.length if isinstance(found, NoSection) else first, first)
    else:
        edge = Edge(*file.place(first))
    if edge.start != first:
        return None
    file.remember(edge.start, edge.at)
    return edge


def sidecar_first(file: SegmentFile) -> int:
    """The `min` of the sidecar beside a segment's file; 0 where nothing says it."""
    found = file.sidecar()
    content = None if found is None else found.content
    return 0 if content is None else content.first or 0
