"""Bodies of few bytes that stand for half a gigabyte of zeros, made by hand from each compressor's format page.

`python -m tests.unit.framing.bombs NAME` decodes one with little memory and says what came of it.
"""

from __future__ import annotations

import resource
import struct
import sys
import zlib
from collections.abc import Callable
from typing import Final

BYTES: Final = 512 << 20
MEMORY: Final = 400 << 20
"""Address space: what Python and its libraries take, and much less than what is claimed."""


def zstd(begin: bytes = b"") -> bytes:
    """One frame with its content size: a raw block, then blocks of one byte that is repeated 128 KiB times."""
    block, out = 1 << 17, bytearray(struct.pack("<IBBI", 0xFD2FB528, 0x80, 0x58, BYTES))
    out += (len(begin) << 3).to_bytes(3, "little") + begin
    left = BYTES - len(begin)
    while left > 0:
        size = min(block, left)
        left -= size
        out += (size << 3 | 1 << 1 | (left == 0)).to_bytes(3, "little") + b"\0"
    return bytes(out)


def lz4(begin: bytes = b"") -> bytes:
    """Literals, one match that repeats the last of them, and five literals at the end."""
    literals = begin + b"\0"
    match = BYTES - len(literals) - 5 - 4 - 15
    head = bytes([0xFF]) + _rest(len(literals) - 15) if len(literals) >= 15 else bytes([len(literals) << 4 | 15])
    block = head + literals + struct.pack("<H", 1) + _rest(match) + bytes([5 << 4]) + bytes(5)
    return struct.pack("<i", BYTES) + block


def _rest(count: int) -> bytes:
    return b"\xff" * (count // 255) + bytes([count % 255])


def snappy(begin: bytes = b"") -> bytes:
    """One literal, and copies of 64 bytes of the last of it."""
    literal, length, out = begin + b"\0", BYTES, bytearray()
    while length >= 0x80:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    out.append(length)
    out += bytes([61 << 2]) + struct.pack("<H", len(literal) - 1) + literal
    copies, rest = divmod(BYTES - len(literal), 64)
    out += bytes([63 << 2 | 2, 1, 0]) * copies
    return bytes(out) + (bytes([rest - 1 << 2 | 2, 1, 0]) if rest else b"")


def deflate(begin: bytes = b"") -> bytes:
    packer, out = zlib.compressobj(1), bytearray()
    piece, left = bytes(1 << 24), BYTES - len(begin)
    out += packer.compress(begin)
    while left > 0:
        out += packer.compress(piece[:left])
        left -= len(piece)
    return bytes(out + packer.flush())


BOMBS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "LZ4Compressor": lz4,
    "SnappyCompressor": snappy,
    "DeflateCompressor": deflate,
    "ZstdCompressor": zstd,
}
"""By the compressor's name. They take what the bytes begin with."""


def main(name: str, begin: bytes) -> None:
    from tailer.framing.codec import open_codec
    from tailer.framing.entry import scan_entries
    from tailer.framing.header import Header
    from tailer.position import Position

    body = BOMBS[name](begin)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    plain = open_codec(Header(7, 1, {"compressionClass": name}, 83)).decode(body, BYTES, Position(1, 83))
    found = scan_entries(plain)
    print(len(plain), len(found.starts), *(fault.error.name for fault in found.faults))


if __name__ == "__main__":
    main(sys.argv[1], bytes.fromhex(sys.argv[2]) if len(sys.argv) > 2 else b"")
