"""Sync markers and the chain of sections (format page, section 3). Pure: takes buffers, knows no file.

      at       at+4     at+8                      next_at
      +--------+--------+-------------------------+
      | next   | CRC32  | body                    |   plain: the entries
      +--------+--------+--------+----------------+
      | next   | CRC32  | length | body           |   compressed, encrypted: i32 plain length first
      +--------+--------+--------+----------------+

Two coordinates: **file** offsets (`at`, `next_at`) and **logical** ones (`start`, `end`), which count plain bytes.
They are equal in plain segments. The CRC covers the id and the marker's own place, not the pointer.
"""

from __future__ import annotations

import enum
import struct
import zlib
from collections.abc import Callable
from typing import Final, NamedTuple

from tailer.errors import CorruptError
from tailer.framing.header import Header
from tailer.limits import OFFSET_MAX, SECTION_BYTES_MAX

MARKER_BYTES: Final = 8
HEAD_BYTES_MAX: Final = 12
"""What is needed from `at` on to judge a section: the marker and, where there is one, the plain length."""

EMPTY_BODY_BYTES_MAX: Final = 16
"""What a compressor or cipher makes of no bytes at all (13 by Zstd is the most seen); the smallest entry takes more."""

_MARKER: Final = struct.Struct(">II")
_LENGTH: Final = struct.Struct(">i")
_CRC_INPUT: Final = struct.Struct(">III")


LENGTH_REMEDY: Final = (
    "What follows in the segment has no known place: restore the file, or go on at the next segment with --accept-loss "
    "(failOnDataLoss=false in Spark)."
)


class SectionLengthError(CorruptError):
    """The plain length of a section is not that of its body: no logical offset behind it can be known any more."""


class Section(NamedTuple):
    """Bytes between two sync markers, the first marker included. All offsets as the module says."""

    start: int
    end: int
    at: int
    next_at: int

    @property
    def plain_length(self) -> int:
        return self.end - self.start - MARKER_BYTES


class Stop(enum.Enum):
    """Why there is no section at a marker's place."""

    END_OF_FILE = "end of file"
    ZERO = "zero marker"
    BAD_MARKER = "sync marker CRC does not check"
    BAD_POINTER = "section reaches beyond the file"
    BAD_LENGTH = "plain length of the section"

    @property
    def clean(self) -> bool:
        """A log may end like this: nothing more was written."""
        return self in (Stop.END_OF_FILE, Stop.ZERO)


class NoSection(NamedTuple):
    """No section begins at logical offset `start` (file offset `at`): why, and what was expected and found."""

    why: Stop
    start: int
    at: int
    expected: object = None
    found: object = None


def marker_crc(segment: int, at: int) -> int:
    """The CRC that a marker at file offset `at` must carry."""
    return zlib.crc32(_CRC_INPUT.pack(segment & 0xFFFFFFFF, (segment >> 32) & 0xFFFFFFFF, at))


def encode_marker(segment: int, at: int, next_at: int) -> bytes:
    return _MARKER.pack(next_at, marker_crc(segment, at))


def encode_section(plain: bytearray, segment: int, at: int, pack: Callable[[memoryview], bytes] | None) -> bytearray:
    """A section's bytes in the file, from file offset `at` on.

    `plain`: its entries behind room for the marker, which goes there where `pack` does not compress the body.
    """
    if pack is None:
        plain[:MARKER_BYTES] = encode_marker(segment, at, at + len(plain))
        return plain
    with memoryview(plain)[MARKER_BYTES:] as body:
        packed = pack(body)
        length = len(body)
    return bytearray(encode_marker(segment, at, at + HEAD_BYTES_MAX + len(packed)) + _LENGTH.pack(length) + packed)


def read_section(
    head: bytes | memoryview, header: Header, at: int, start: int, file_length: int
) -> Section | NoSection:
    """The section whose marker is at file offset `at`, logical offset `start`.

    `head` holds the file's bytes from `at` on, `HEAD_BYTES_MAX` of them unless the file ends before.
    """
    if len(head) < MARKER_BYTES:
        return NoSection(Stop.END_OF_FILE, start, at)
    next_at, found = _MARKER.unpack_from(head)
    expected = marker_crc(header.segment, at)
    if found != expected:
        if next_at == 0 and found == 0:
            return NoSection(Stop.ZERO, start, at)
        return NoSection(Stop.BAD_MARKER, start, at, f"0x{expected:08x}", f"0x{found:08x}")
    least = at + head_bytes(header)
    if not least <= next_at <= file_length:
        return NoSection(Stop.BAD_POINTER, start, at, f"an end from {least} to {file_length}", next_at)
    if header.plain:
        return Section(start, start + next_at - at, at, next_at)
    (plain,) = _LENGTH.unpack_from(head, MARKER_BYTES)
    if not 0 <= plain <= SECTION_BYTES_MAX or start + MARKER_BYTES + plain > OFFSET_MAX:
        return NoSection(Stop.BAD_LENGTH, start, at, f"0 to {SECTION_BYTES_MAX}", plain)
    if plain == 0 and next_at - least > EMPTY_BODY_BYTES_MAX:
        # A length that became zero would hide the section's entries and move every offset behind it.
        return NoSection(Stop.BAD_LENGTH, start, at, f"the length of a body of {next_at - least} bytes", plain)
    return Section(start, start + MARKER_BYTES + plain, at, next_at)


def body_offset(header: Header, section: Section) -> int:
    """File offset where the section's body begins."""
    return section.at + head_bytes(header)


def head_bytes(header: Header) -> int:
    """Bytes before a section's body: the marker and, where there is one, the plain length."""
    return MARKER_BYTES if header.plain else HEAD_BYTES_MAX


def later_marker(data: bytes | memoryview, segment: int, base: int, file_length: int) -> int | None:
    """File offset of the first marker of this segment that lies wholly in `data` and checks; None if there is none.

    `data` is a piece of the file from file offset `base` on. A crash leaves nothing good behind the damage; a marker
    that checks there means that the damage is in the middle of the log. Its pointer must lie behind it and inside the
    file, so that four bytes of payload that happen to equal a CRC are not taken for one.
    """
    import numpy as np

    candidates: list[int] = []
    for phase in range(min(4, len(data) - MARKER_BYTES + 1)):
        words = np.frombuffer(data, ">u4", (len(data) - phase) // 4, phase)
        places = base + phase + 4 * np.arange(len(words) - 1)
        candidates += places[(words[:-1] >= places + MARKER_BYTES) & (words[:-1] <= file_length)].tolist()
    prefix = zlib.crc32(_CRC_INPUT.pack(segment & 0xFFFFFFFF, (segment >> 32) & 0xFFFFFFFF, 0)[:8])
    for at in sorted(candidates):
        _, found = _MARKER.unpack_from(data, at - base)
        if found == zlib.crc32(at.to_bytes(4, "big"), prefix):
            return at
    return None
