"""What the last record of a native section says: where the oldest transaction began that is open there."""

from __future__ import annotations

from tailer.framing.section import Section
from tailer.position import Position
from tailer.scan.record.record import STATE, State, decode_position, decode_record, record_kind
from tailer.segments.segment import SegmentFile


def restart_behind(file: SegmentFile, section: Section) -> Position | None:
    """Where reading must begin to see whole what is open at a section's end: that end where nothing is.

    None where no such record stands there. Raises CorruptError.
    """
    data, entries = file.entries(section)
    if not len(entries.starts):
        return None
    start, size = int(entries.starts[-1]), int(entries.sizes[-1])
    payload = data[start : start + size]
    record = decode_record(payload) if record_kind(payload) == STATE else None
    return decode_position(record.restart) if isinstance(record, State) else None
