"""A native segment's bytes -> its sections and records, by the design's text alone. Knows no code of the writer's.

Slow and plain, so that reader and writer cannot share a mistake: only the section decompressors are the tailer's.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from tailer.framing.codec import open_codec
from tailer.framing.header import Header
from tailer.position import Position

DEFINITION, CHANGE, BEGIN, SAVEPOINT, ROLLBACK_TO, COMMIT, ROLLBACK, STATE = range(1, 9)
LOG_NAME = re.compile(r"CommitLog-7-(\d+)\.log")


class Violation(AssertionError):
    """The writer left something that it must not leave."""


class Record(NamedTuple):
    """One entry: where it begins (logical), and its array."""

    at: Position
    fields: list[Any]

    @property
    def kind(self) -> int:
        return int(self.fields[0])


class Piece(NamedTuple):
    """One section: logical edges and its records."""

    start: Position
    end: Position
    records: list[Record]


class Segment(NamedTuple):
    """What checks of a segment. `clean`: it ends at a zero marker or the file's end; `file_end`: where, in bytes."""

    id: int
    boot: str
    header_length: int
    pieces: list[Piece]
    clean: bool
    file_end: int

    @property
    def end(self) -> int:
        return self.pieces[-1].end.offset if self.pieces else self.header_length

    def edges(self) -> list[int]:
        return [self.header_length, *(piece.end.offset for piece in self.pieces)]


@lru_cache(1000)
def parse_segment(data: bytes, segment: int) -> Segment | None:
    """The segment up to the first thing that does not check; None while there is no whole header."""
    header = _header(data, segment)
    if header is None:
        return None
    at, logical = header.length, header.length
    pieces: list[Piece] = []
    while True:
        found = _section(data, header, at, logical)
        if found is None:
            break
        at, piece = found
        logical = piece.end.offset
        pieces.append(piece)
    clean = not any(data[at : at + 8])
    return Segment(segment, str(header.parameters["boot"]), header.length, pieces, clean, at)


def position(data: bytes) -> Position:
    return Position(*struct.unpack(">QQ", data))


def _header(data: bytes, segment: int) -> Header | None:
    if len(data) < 14:
        return None
    version, number, length = struct.unpack_from(">iqH", data)
    text = data[14 : 14 + length]
    if len(data) < 18 + length or (version, number) != (7, segment):
        return None
    crc = zlib.crc32(struct.pack(">iIII", version, number & 0xFFFFFFFF, number >> 32, length))
    if zlib.crc32(text, crc) != int.from_bytes(data[14 + length : 18 + length], "big"):
        return None
    parameters = json.loads(text)
    if parameters["payload"] != "msgpack" or not re.fullmatch("[0-9a-f]{16}", parameters["boot"]):
        raise Violation(f"header of {segment}: {parameters}")
    return Header(version, number, parameters, 18 + length)


def _section(data: bytes, header: Header, at: int, logical: int) -> tuple[int, Piece] | None:
    if at + 8 > len(data):
        return None
    next_at, crc = struct.unpack_from(">II", data, at)
    number = header.segment
    if crc != zlib.crc32(struct.pack(">III", number & 0xFFFFFFFF, number >> 32, at)) or not at < next_at <= len(data):
        return None
    body = data[at + 8 : next_at]
    start = Position(number, logical)
    if not header.plain:
        (plain,) = struct.unpack_from(">i", body)
        try:
            body = bytes(open_codec(header).decode(body[4:], plain, start))
        except Exception:
            return None
    records = _records(body, Position(number, logical + 8))
    if records is None:
        return None
    return next_at, Piece(start, Position(number, logical + 8 + len(body)), records)


def _records(body: bytes, start: Position) -> list[Record] | None:
    """Every entry of a section, None unless all check: a section is there whole or not at all."""
    found: list[Record] = []
    at = 0
    while at < len(body):
        if at + 8 > len(body):
            return None
        size, crc = struct.unpack_from(">iI", body, at)
        payload = body[at + 8 : at + 8 + size]
        whole = at + 12 + size <= len(body) and size >= 10
        if not whole or zlib.crc32(body[at : at + 4]) != crc:
            return None
        if zlib.crc32(payload, crc) != int.from_bytes(body[at + 8 + size : at + 12 + size], "big"):
            return None
        found.append(Record(Position(start.segment, start.offset + at), msgspec.msgpack.decode(payload)))
        at += 12 + size
    return found
