"""Entries of one section (format page, section 4): size, CRC, payload, CRC. Pure: takes the section's plain bytes.

0        4        8            8+size   12+size
+--------+--------+------------+--------+
| size   | CRC32  | payload    | CRC32  |   big-endian; the second CRC continues the first over the payload
+--------+--------+------------+--------+
"""

from __future__ import annotations

import enum
import struct
import zlib
from typing import Final, NamedTuple

from tailer.limits import ENTRY_BYTES_MIN, ENTRY_OVERHEAD

_HEAD: Final = struct.Struct(">iI")
_CRC: Final = struct.Struct(">I")
HEAD_BYTES: Final = 8


class EntryError(enum.Enum):
    """What is wrong with an entry. All but a payload CRC lose the rest of the section: its size cannot be trusted."""

    ZERO = "entry of size zero"
    SIZE = "entry size"
    SIZE_CRC = "entry size CRC does not check"
    CUT = "entry reaches beyond its section"
    PAYLOAD_CRC = "entry CRC does not check"


class EntryFault(NamedTuple):
    """A part of a section that is no good entry: `length` bytes from `offset` on (both within the section's bytes)."""

    error: EntryError
    offset: int
    length: int
    expected: object
    found: object


class Entries(NamedTuple):
    """The good entries: offsets and sizes of their payloads within the section's bytes; and what lies between."""

    starts: list[int]
    sizes: list[int]
    faults: list[EntryFault]


def scan_entries(data: bytes | memoryview) -> Entries:
    """Every entry of one section's plain bytes, both CRCs checked. Never raises: faults are values."""
    view = memoryview(data)
    length = len(view)
    starts: list[int] = []
    sizes: list[int] = []
    faults: list[EntryFault] = []
    at = 0
    head, tail, crc32 = _HEAD.unpack_from, _CRC.unpack_from, zlib.crc32
    while at < length:
        if length - at < HEAD_BYTES:
            faults.append(EntryFault(EntryError.CUT, at, length - at, f"{HEAD_BYTES} bytes", length - at))
            break
        size, size_crc = head(view, at)
        computed = crc32(view[at : at + 4])
        payload_end = at + HEAD_BYTES + size
        if computed != size_crc or size < ENTRY_BYTES_MIN or payload_end + 4 > length:
            faults.append(_bad_head(at, size, size_crc, computed, length))
            break
        (found,) = tail(view, payload_end)
        computed = crc32(view[at + HEAD_BYTES : payload_end], computed)
        if found == computed:
            starts.append(at + HEAD_BYTES)
            sizes.append(size)
        else:
            expected = f"0x{computed:08x}"
            faults.append(EntryFault(EntryError.PAYLOAD_CRC, at, size + ENTRY_OVERHEAD, expected, f"0x{found:08x}"))
        at = payload_end + 4
    return Entries(starts, sizes, faults)


def _bad_head(at: int, size: int, found: int, computed: int, length: int) -> EntryFault:
    rest = length - at
    if size == 0 and found == 0:
        return EntryFault(EntryError.ZERO, at, rest, "an entry", "zeros")
    if found != computed:
        return EntryFault(EntryError.SIZE_CRC, at, rest, f"0x{computed:08x}", f"0x{found:08x}")
    if size < ENTRY_BYTES_MIN:
        return EntryFault(EntryError.SIZE, at, rest, f"{ENTRY_BYTES_MIN} or more", size)
    return EntryFault(EntryError.CUT, at, rest, f"{size + ENTRY_OVERHEAD} bytes", rest)


def encode_entry(payload: bytes) -> bytes:
    """An entry as a writer appends it."""
    size = len(payload).to_bytes(4, "big")
    crc = zlib.crc32(size)
    return size + _CRC.pack(crc) + payload + _CRC.pack(zlib.crc32(payload, crc))
