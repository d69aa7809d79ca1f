"""Records of the log's own segments, from a position to the durable end, and what of them is missing. Knows no change.

Nothing is passed over in silence: a segment that is not there, and one that does not check up to its end, are errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tailer.errors import CorruptError, LossError
from tailer.framing.header import Header
from tailer.framing.section import NoSection
from tailer.limits import ENTRY_OVERHEAD
from tailer.position import Position
from tailer.scan.record.record import DEFINITION, Definition, Record, decode_record
from writer_hooks.disk import Files
from writer_hooks.own_restart import NOWHERE, beginning, own_segments
from writer_hooks.own_sections import Edge, Reader, Whole, first_edge, section_at, whole_sections
from writer_hooks.places import Places


class Entry(NamedTuple):
    """A record of the log, where it begins and ends, and the run of the writer that wrote it."""

    at: Position
    end: Position
    boot: str
    record: Record


class Definitions:
    """Definitions by table id and fingerprint: those that were given, met, or looked for.

    Reading that begins in the middle of a segment has not met those that stand before. They are looked for when a
    change needs one, from the segment's beginning on, where they nearly always are.
    """

    def __init__(self, files: Files, places: Places, given: Iterable[Definition]) -> None:
        self._files = files
        self._places = places
        self._known: dict[tuple[bytes, bytes], Definition] = {}
        for each in given:
            self.add(each)

    def add(self, definition: Definition) -> None:
        self._known[definition.table_id, definition.fingerprint] = definition

    def of(self, table_id: bytes, fingerprint: bytes, at: Position) -> Definition:
        """The definition that a change at that position needs. Raises CorruptError where there is none before it."""
        found = self._known.get((table_id, fingerprint))
        if found is None:
            self._look(table_id, fingerprint, at)
            found = self._known.get((table_id, fingerprint))
        if found is None:
            raise CorruptError(
                "a change has no definition before it in its segment",
                at=at,
                expected=f"one of table {table_id.hex()}, {fingerprint.hex()}",
                found="none",
                remedy="The file is damaged: restore it.",
            )
        return found

    def _look(self, table_id: bytes, fingerprint: bytes, at: Position) -> None:
        with Reader(self._files, self._places.own(at.segment)) as reader:
            header = reader.header()
            for section in whole_sections(reader, header) if header is not None else ():
                for offset, payload in section.payloads():
                    if offset >= at.offset or (table_id, fingerprint) in self._known:
                        return
                    if payload[1] == DEFINITION:
                        record = decode_record(payload, Position(at.segment, offset), str(reader.path))
                        assert isinstance(record, Definition)
                        self.add(record)


class Entries:
    """The log's records up to the durable end `until`; of segments below `since` only what is there is asked for."""

    def __init__(self, files: Files, places: Places, since: Position, until: Position) -> None:
        self._files = files
        self._places = places
        self._since = since
        self._until = until

    def read(self, begin: Position) -> Iterator[Entry]:
        """Every record in the section of that position, and behind it.

        Raises LossError for a segment that is gone, CorruptError for one that does not check.
        """
        before: int | None = None
        for segment in own_segments(self._files, self._places):
            if not begin.segment <= segment <= self._until.segment:
                continue
            with self._open(segment) as reader:
                header = reader.header()
                if header is None:
                    raise _damaged(reader, Position(segment, 0), "a segment's header does not check")
                self._check_follows(header, before)
                begins_inside = segment == begin.segment
                edge = beginning(reader, header, begin.offset).edge if begins_inside else first_edge(header)
                yield from self._segment(reader, header, edge)
            before = segment
        if (before or 0) < self._until.segment:
            raise self._gone(self._until.segment, before)

    def _open(self, segment: int) -> Reader:
        try:
            return Reader(self._files, self._places.own(segment))
        except FileNotFoundError:
            raise self._gone(segment, None) from None

    def _segment(self, reader: Reader, header: Header, edge: Edge) -> Iterator[Entry]:
        until = self._until
        for section in whole_sections(reader, header, edge):
            if Position(header.segment, section.end) > until:
                return
            yield from _records(reader, header, section)
            edge = Edge(section.next_at, section.end)
        here = Position(header.segment, edge.start)
        if header.segment == until.segment:
            if here < until:
                raise _damaged(reader, here, "a segment does not check where it was durable")
            return
        stop = section_at(reader, header, edge)
        if not (isinstance(stop, NoSection) and stop.why.clean):
            raise _damaged(reader, here, "a segment does not check before its end")

    def _check_follows(self, header: Header, before: int | None) -> None:
        """That no segment is missing before this one: ids have gaps, so that headers name the one before."""
        previous = header.previous
        if previous is None or previous == before or previous < self._since.segment:
            return
        if before is None and self._since == NOWHERE:
            # The beginning of what is there: what was discarded is nobody's loss.
            return
        raise self._gone(previous, before)

    def _gone(self, segment: int, before: int | None) -> LossError:
        return LossError(
            "a segment of the log is gone",
            at=Position(segment, 0),
            file=str(self._places.own(segment)),
            expected=f"it behind {before}" if before is not None else "it",
            found="no such file",
            remedy="Somebody deleted it, other than by `discard_before`: restore it, or replay from behind it.",
        )


def _damaged(reader: Reader, at: Position, what: str) -> CorruptError:
    remedy = "The file is damaged: restore it, or replay from a position behind it."
    return CorruptError(what, at=at, file=str(reader.path), remedy=remedy)


def _records(reader: Reader, header: Header, section: Whole) -> Iterator[Entry]:
    for offset, payload in section.payloads():
        at = Position(header.segment, offset)
        record = decode_record(payload, at, str(reader.path))
        if record is not None:
            yield Entry(at, Position(header.segment, offset + len(payload) + ENTRY_OVERHEAD), header.boot, record)
