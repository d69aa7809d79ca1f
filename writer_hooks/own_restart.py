"""Where reading begins: the section of a position, and where the oldest transaction began that is open there.

A replay of a service that follows its log begins at the log's end again and again: what lies before its position must
cost nothing. In a plain segment, whose offsets are the file's, the section's edge is told by the `state` record beside
the position; else markers are walked from the segment's beginning.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tailer.errors import CdcError
from tailer.framing.codec import open_codec
from tailer.framing.entry import scan_entries
from tailer.framing.header import Header
from tailer.framing.section import NoSection
from tailer.position import Position
from tailer.scan.record.record import State, decode_position, decode_record
from writer_hooks.disk import Files
from writer_hooks.open_segment import STATE_ENTRY_BYTES
from writer_hooks.own_sections import Edge, Reader, first_edge, section_at, sections_before, state_of, whole_of
from writer_hooks.places import Places, log_ids

NOWHERE: Final = Position(0, 0)


class Beginning(NamedTuple):
    """Where reading begins in a segment: the edge of a section. `restart`: `restart_any` of the section before it in
    the segment, None without one."""

    edge: Edge
    restart: Position | None


def own_segments(files: Files, places: Places) -> list[int]:
    """The segments that the writer still has, in order; none where its folder is gone."""
    try:
        return log_ids(files.names(places.commitlog))
    except FileNotFoundError:
        return []


def restart_at(files: Files, places: Places, position: Position) -> Position:
    """`restart_any` of the last section edge that is not behind `position`; `0:0` where there is none."""
    for segment in reversed(own_segments(files, places)):
        if segment > position.segment:
            continue
        with Reader(files, places.own(segment)) as reader:
            header = reader.header()
            found = None
            if header is not None:
                found = beginning(reader, header, position.offset if segment == position.segment else None).restart
        if found is not None:
            return found
    return NOWHERE


def beginning(reader: Reader, header: Header, offset: int | None) -> Beginning:
    """For a reader who wants every entry from the logical offset on; None: nothing but what is behind the last one."""
    if offset is not None and offset <= header.length:
        return Beginning(first_edge(header), None)
    if header.plain:
        # A segment that has ended ends with its log.
        beside = _beside(reader, header, reader.size if offset is None else offset)
        if beside is not None:
            return beside
    last, edge = sections_before(reader, header, offset)
    whole = None if last is None else whole_of(reader, header, last, open_codec(header))
    if whole is None:
        return Beginning(edge, None)
    return Beginning(edge, decode_position(state_of(reader, header, whole).restart_any))


def _beside(reader: Reader, header: Header, offset: int) -> Beginning | None:
    """Where the offset is a section's edge, or that of the last change in one: a `state` ends or begins there."""
    for at in (offset - STATE_ENTRY_BYTES, offset):
        state = _state_at(reader, at)
        edge = Edge(at + STATE_ENTRY_BYTES, at + STATE_ENTRY_BYTES)
        if state is not None and _is_edge(reader, header, edge):
            return Beginning(edge, decode_position(state.restart_any))
    return None


def _is_edge(reader: Reader, header: Header, edge: Edge) -> bool:
    """Bytes of a value may look like a `state`: behind it there must be a section too, or the log's end."""
    section = section_at(reader, header, edge)
    return not isinstance(section, NoSection) or section.why.clean


def _state_at(reader: Reader, at: int) -> State | None:
    """The `state` record whose entry is the bytes from `at` on; None where those are something else."""
    if at < 0 or at + STATE_ENTRY_BYTES > reader.size:
        return None
    data = reader.read(STATE_ENTRY_BYTES, at)
    entries = scan_entries(data)
    if entries.faults or len(entries.starts) != 1:
        return None
    try:
        record = decode_record(data[entries.starts[0] : entries.starts[0] + entries.sizes[0]])
    except CdcError:
        return None
    return record if isinstance(record, State) else None
