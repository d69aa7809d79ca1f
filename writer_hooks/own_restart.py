"""Where reading must begin so that a transaction of any tables is seen whole that is open at a position."""

from __future__ import annotations

from tailer.errors import CorruptError
from tailer.framing.header import Header
from tailer.position import Position
from tailer.scan.record.record import State, decode_position, decode_record
from writer_hooks.disk import Files
from writer_hooks.own_sections import Reader, last_section
from writer_hooks.places import Places, log_ids


def own_segments(files: Files, places: Places) -> list[int]:
    """The segments that the writer still has, in order."""
    return log_ids(files.names(places.commitlog))


def restart_at(files: Files, places: Places, position: Position) -> Position:
    """`restart_any` of the last section edge that is not behind `position`; `0:0` where there is none."""
    for segment in reversed(own_segments(files, places)):
        if segment > position.segment:
            continue
        upto = position.offset if segment == position.segment else None
        with Reader(files, places.own(segment)) as reader:
            header = reader.header()
            found = _state(reader, header, upto) if header is not None else None
        if found is not None:
            return found
    return Position(0, 0)


def _state(reader: Reader, header: Header, upto: int | None) -> Position | None:
    section = last_section(reader, header, upto)
    if section is None:
        return None
    *_, (at, payload) = section.payloads()
    record = decode_record(payload, Position(header.segment, at), str(reader.path))
    if not isinstance(record, State):
        raise CorruptError(
            "a section does not end with a state record",
            at=Position(header.segment, at),
            file=str(reader.path),
            remedy="Another program wrote this file, or it is damaged.",
        )
    return decode_position(record.restart_any)
