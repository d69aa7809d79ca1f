"""Sections of the log's own segments, read back: whole ones only, each entry checked. Changes nothing on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tailer.errors import CorruptError, DefinitionError
from tailer.framing.codec import Codec, open_codec
from tailer.framing.entry import HEAD_BYTES, scan_entries
from tailer.framing.header import Header, decode_header
from tailer.framing.section import HEAD_BYTES_MAX, MARKER_BYTES, NoSection, Section, body_offset, read_section
from tailer.limits import HEADER_BYTES_MAX, MIB
from tailer.position import Position
from tailer.scan.record.record import State, decode_record
from writer_hooks.disk import Files, read_all

if TYPE_CHECKING:
    from tailer.framing.entry import Numbers

_WINDOW: Final = MIB


class Edge(NamedTuple):
    """Where a section begins, or would: file offset and logical offset."""

    at: int
    start: int


class Whole(NamedTuple):
    """A section that checks. `at` and `next_at` are file offsets, `start` and `end` logical ones.

    `data`: its entries; their payloads lie at `starts`, `sizes` long.
    """

    start: int
    end: int
    at: int
    next_at: int
    data: bytes
    starts: Numbers
    sizes: Numbers

    def payloads(self) -> Iterator[tuple[int, bytes]]:
        """Each payload with the logical offset of its entry."""
        base = self.start + MARKER_BYTES - HEAD_BYTES
        for start, size in zip(self.starts, self.sizes, strict=True):
            yield base + start, self.data[start : start + size]


class Reader:
    """One segment's file, read in large pieces. Closed by `close`, or as a context manager."""

    def __init__(self, files: Files, path: Path) -> None:
        self._files = files
        self._fd = files.open(path, write=False)
        self.path = path
        try:
            self.size = files.size(self._fd)
        except BaseException:
            files.close(self._fd)
            raise
        self._window = b""
        self._at = 0

    def read(self, length: int, at: int) -> bytes:
        start = at - self._at
        if start < 0 or start + length > len(self._window):
            self._window = read_all(self._files, self._fd, max(length, _WINDOW), at)
            self._at, start = at, 0
        return self._window[start : start + length]

    def header(self) -> Header | None:
        """The header; None where there is none that checks."""
        try:
            return decode_header(self.read(min(self.size, HEADER_BYTES_MAX), 0), self.path.name)
        except (CorruptError, DefinitionError):
            # Not an error of the log yet: who knows what was promised of this file decides.
            return None

    def close(self) -> None:
        self._files.close(self._fd)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def first_edge(header: Header) -> Edge:
    """Where a segment's first section begins."""
    return Edge(header.length, header.length)


def whole_sections(reader: Reader, header: Header, begin: Edge | None = None) -> Iterator[Whole]:
    """The sections from the header, or another edge, on, up to the first that is not whole."""
    codec = open_codec(header)
    for section in _sections(reader, header, begin or first_edge(header)):
        whole = whole_of(reader, header, section, codec)
        if whole is None:
            return
        yield whole


def sections_before(reader: Reader, header: Header, upto: int | None) -> tuple[Section | None, Edge]:
    """The last section that ends at the logical offset `upto` or before it (None: the last of all), and the edge behind
    it. Looks at markers alone."""
    last: Section | None = None
    edge = first_edge(header)
    for section in _sections(reader, header, edge):
        if upto is not None and section.end > upto:
            break
        last, edge = section, Edge(section.next_at, section.end)
    return last, edge


def section_at(reader: Reader, header: Header, edge: Edge) -> Section | NoSection:
    """The section that begins at the edge."""
    head = reader.read(min(HEAD_BYTES_MAX, max(0, reader.size - edge.at)), edge.at)
    return read_section(head, header, edge.at, edge.start, reader.size)


def state_of(reader: Reader, header: Header, section: Whole) -> State:
    """The record that ends a section."""
    *_, (offset, payload) = section.payloads()
    at = Position(header.segment, offset)
    record = decode_record(payload, at, str(reader.path))
    if not isinstance(record, State):
        raise CorruptError(
            "a section does not end with a state record",
            at=at,
            file=str(reader.path),
            remedy="Another program wrote this file, or it is damaged.",
        )
    return record


def _sections(reader: Reader, header: Header, edge: Edge) -> Iterator[Section]:
    while not isinstance(section := section_at(reader, header, edge), NoSection):
        yield section
        edge = Edge(section.next_at, section.end)


def whole_of(reader: Reader, header: Header, section: Section, codec: Codec) -> Whole | None:
    """The section with its entries; None where something of it does not check."""
    begin = body_offset(header, section)
    body = reader.read(section.next_at - begin, begin)
    try:
        data = bytes(codec.decode(body, section.plain_length, Position(header.segment, section.start)))
    except CorruptError:
        return None
    entries = scan_entries(data)
    if entries.faults or not entries.starts:
        return None
    return Whole(*section, data, entries.starts, entries.sizes)
