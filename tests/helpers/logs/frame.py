"""Segments as bytes: header, sync markers, sections, entries (format page 2 to 4)."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.helpers.logs.codecs import PLAIN, Format

MARKER = 8
ENTRY_OVERHEAD = 12


def encode_header(version: int, segment: int, parameters: dict[str, object]) -> bytes:
    text = json.dumps(dict(sorted(parameters.items())), separators=(",", ":")).encode()
    low, high = segment & 0xFFFFFFFF, segment >> 32 & 0xFFFFFFFF
    crc = zlib.crc32(struct.pack(">iIIi", version, low, high, len(text)) + text)
    return struct.pack(">iqH", version, segment, len(text)) + text + struct.pack(">I", crc)


def encode_marker(segment: int, at: int, next_at: int) -> bytes:
    low, high = segment & 0xFFFFFFFF, segment >> 32 & 0xFFFFFFFF
    return struct.pack(">II", next_at, zlib.crc32(struct.pack(">III", low, high, at)))


def encode_entry(payload: bytes) -> bytes:
    size = struct.pack(">i", len(payload))
    return size + struct.pack(">I", zlib.crc32(size)) + payload + struct.pack(">I", zlib.crc32(size + payload))


@dataclass(frozen=True)
class EntryPlace:
    """Where an entry lies: logical offsets of its start and end, and its bytes as they were appended."""

    start: int
    end: int
    payload: bytes

    @property
    def bytes(self) -> bytes:
        return encode_entry(self.payload)


@dataclass(frozen=True)
class SectionPlace:
    """A section: logical `start` (its marker) and `end`, file offsets `at` and `next_at`, the entries in it."""

    start: int
    end: int
    at: int
    next_at: int
    entries: tuple[EntryPlace, ...]


@dataclass
class SegmentWriter:
    """A segment being written. `data` is the file so far; `end` the logical end of its last section."""

    segment: int
    version: int = 7
    form: Format = PLAIN
    data: bytearray = field(init=False)
    end: int = field(init=False)
    sections: list[SectionPlace] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.data = bytearray(encode_header(self.version, self.segment, self.form.parameters))
        self.header_length = self.end = len(self.data)

    def section(self, payloads: Iterable[bytes] = ()) -> SectionPlace:
        """Append one section with an entry for each payload, and give where it lies."""
        start, at = self.end, len(self.data)
        logical, entries, parts = start + MARKER, [], []
        for payload in payloads:
            entry = encode_entry(payload)
            entries.append(EntryPlace(logical, logical + len(entry), payload))
            logical += len(entry)
            parts.append(entry)
        plain = b"".join(parts)
        body = struct.pack(">i", len(plain)) + self.form.pack(plain) if self.form.framed else plain
        next_at = at + MARKER + len(body)
        self.data += encode_marker(self.segment, at, next_at) + body
        self.end = logical
        place = SectionPlace(start, logical, at, next_at, tuple(entries))
        self.sections.append(place)
        return place

    def pad(self, length: int) -> None:
        """The zeros behind the last section of a preallocated file, up to `length` bytes in all."""
        self.data += bytes(length - len(self.data))

    @property
    def name(self) -> str:
        return f"CommitLog-{self.version}-{self.segment}.log"

    @property
    def sidecar_name(self) -> str:
        return f"CommitLog-{self.version}-{self.segment}_cdc.idx"

    @property
    def entries(self) -> list[EntryPlace]:
        return [entry for section in self.sections for entry in section.entries]


def segment_of(
    segment: int, sections: Sequence[Sequence[bytes]], *, version: int = 7, form: Format = PLAIN
) -> SegmentWriter:
    """A segment with these payloads, section by section."""
    writer = SegmentWriter(segment, version, form)
    for payloads in sections:
        writer.section(payloads)
    return writer
