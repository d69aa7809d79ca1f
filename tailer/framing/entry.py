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
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from tailer.limits import ENTRY_BYTES_MIN, ENTRY_OVERHEAD

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = Sequence[int] | npt.NDArray[np.int64]

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
    """The good entries: offsets and sizes of their payloads within the section's bytes; and what lies between.

    Numbers are lists, or arrays of 64-bit integers from the compiled twin.
    """

    starts: Numbers
    sizes: Numbers
    faults: list[EntryFault]


NO_ENTRIES: Final = Entries([], [], [])


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
            faults += short_head(at, length)
            break
        size, size_crc = head(view, at)
        computed = crc32(view[at : at + 4])
        payload_end = at + HEAD_BYTES + size
        if computed != size_crc or size < ENTRY_BYTES_MIN or payload_end + 4 > length:
            faults.append(bad_head(at, size, size_crc, computed, length))
            break
        (found,) = tail(view, payload_end)
        computed = crc32(view[at + HEAD_BYTES : payload_end], computed)
        if found == computed:
            starts.append(at + HEAD_BYTES)
            sizes.append(size)
        else:
            faults.append(bad_payload(at, size, found, computed))
        at = payload_end + 4
    return Entries(starts, sizes, faults)


def may_be_entries(first: bytes, length: int) -> bool:
    """Whether the first bytes of a section of `length` bytes can be entries, by the heads in them. If not,
    `scan_entries` finds the same fault in these bytes alone."""
    at = 0
    while at + HEAD_BYTES <= len(first):
        size, size_crc = _HEAD.unpack_from(first, at)
        if zlib.crc32(first[at : at + 4]) != size_crc or size < ENTRY_BYTES_MIN or at + size + ENTRY_OVERHEAD > length:
            return False
        at += size + ENTRY_OVERHEAD
    return True


def short_head(at: int, length: int) -> list[EntryFault]:
    """The fault of bytes at the end that are too few for an entry's head; none where no byte is left."""
    rest = length - at
    return [EntryFault(EntryError.CUT, at, rest, f"{HEAD_BYTES} bytes", rest)] if 0 < rest < HEAD_BYTES else []


def bad_payload(at: int, size: int, found: int, computed: int) -> EntryFault:
    """The fault of an entry whose second CRC does not check."""
    length = size + ENTRY_OVERHEAD
    return EntryFault(EntryError.PAYLOAD_CRC, at, length, f"0x{computed:08x}", f"0x{found:08x}")


def bad_head(at: int, size: int, found: int, computed: int, length: int) -> EntryFault:
    """The fault of a head that says nothing of where the next one is."""
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
    head, crc = entry_head(len(payload))
    return b"".join((head, payload, _CRC.pack(zlib.crc32(payload, crc))))


@lru_cache(4096)
def entry_head(size: int) -> tuple[bytes, int]:
    """Size and CRC, and the CRC alone, which the payload's goes on from."""
    crc = zlib.crc32(size.to_bytes(4, "big"))
    return _HEAD.pack(size, crc), crc
