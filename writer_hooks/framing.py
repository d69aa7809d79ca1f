"""Entries, the record that ends a section, and a section's bytes as they go to the file. Pure.

Offsets are logical but where said: `plain` of a section begins with room for its marker, so that an offset in it is
counted from the section's start.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Literal

from tailer.framing.header import encode_header
from tailer.framing.section import MARKER_BYTES, encode_marker
from tailer.limits import ENTRY_OVERHEAD
from tailer.position import Position
from tailer.scan.record.record import STATE, encode_position
from writer_hooks.places import DESCRIPTOR

Compression = Literal["lz4", "zstd"] | None

_HEAD: Final = struct.Struct(">II")
_LENGTH: Final = struct.Struct(">i")
_LZ4_LENGTH: Final = struct.Struct("<i")
_BIN16: Final = b"\xc4\x10"
_STATE: Final = bytes((0x93, STATE)) + _BIN16

STATE_BYTES: Final = ENTRY_OVERHEAD + 38
"""The entry of a `state` record: always as long, so that a section's end is known before the record that names it."""


@lru_cache(4096)
def entry_head(size: int) -> tuple[bytes, int]:
    """Size and CRC, and the CRC alone, which the payload's goes on from."""
    crc = zlib.crc32(size.to_bytes(4, "big"))
    return _HEAD.pack(size, crc), crc


def add_entry(plain: bytearray, payload: bytes) -> None:
    """Appends an entry: all at once, as Ctrl-C may come between any two steps."""
    head, crc = entry_head(len(payload))
    plain += b"".join((head, payload, zlib.crc32(payload, crc).to_bytes(4, "big")))


def state_record(restart: Position, restart_any: Position) -> bytes:
    """The payload of `state`, as `encode_record` would make it."""
    return _STATE + encode_position(restart) + _BIN16 + encode_position(restart_any)


def header_bytes(segment: int, boot: str, compression: Compression) -> bytes:
    parameters: dict[str, Any] = {"boot": boot, "payload": "msgpack"}
    if compression is not None:
        parameters |= {"compressionClass": _CLASSES[compression], "compressionParameters": None}
    return encode_header(DESCRIPTOR, segment, parameters)


def pack_section(plain: bytearray, segment: int, at: int, pack: Callable[[memoryview], bytes] | None) -> bytearray:
    """A section's bytes in the file, from file offset `at` on."""
    if pack is None:
        plain[:MARKER_BYTES] = encode_marker(segment, at, at + len(plain))
        return plain
    with memoryview(plain)[MARKER_BYTES:] as body:
        packed = pack(body)
        length = len(body)
    next_at = at + MARKER_BYTES + _LENGTH.size + len(packed)
    return bytearray(encode_marker(segment, at, next_at) + _LENGTH.pack(length) + packed)


def packer(compression: Compression) -> Callable[[memoryview], bytes] | None:
    """What compresses a section's body; None for a log that is not compressed."""
    return None if compression is None else _PACKERS[compression]


def _pack_lz4(body: memoryview) -> bytes:
    import cramjam

    return _LZ4_LENGTH.pack(len(body)) + bytes(cramjam.lz4.compress_block(body, store_size=False))


def _pack_zstd(body: memoryview) -> bytes:
    import cramjam

    return bytes(cramjam.zstd.compress(body, level=3))


_CLASSES: Final = {"lz4": "LZ4Compressor", "zstd": "ZstdCompressor"}
_PACKERS: Final[dict[str, Callable[[memoryview], bytes]]] = {"lz4": _pack_lz4, "zstd": _pack_zstd}
