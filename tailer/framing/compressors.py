"""What each compressor's body says and holds: the plain length that it tells, its plain bytes, and the first of them.

Knows no section. Libraries are loaded by the compressor that needs them. A body that does not come out right is a
ValueError, of another length than was asked for an OtherLengthError.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from io import BytesIO
from typing import Final, NamedTuple

from tailer.framing.beginning import Body, begin_lz4, begin_snappy
from tailer.limits import MIB

_LZ4_LENGTH: Final = struct.Struct("<i")
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ROOM_ENDED: Final = "failed to write whole buffer"
"""What cramjam says where there are more plain bytes than room."""

_COPIED_BYTES_MAX: Final = MIB
"""Up to here a copy of the plain bytes costs less than to do without."""


class OtherLengthError(ValueError):
    """The body is of another length than the section says; the text tells which."""


class _ShortError(ValueError):
    """The body has fewer bytes; the text tells how many."""


class Compressor(NamedTuple):
    """One compressor. `ratio`: how many plain bytes one compressed byte can stand for at most, by its format.

    `length`: the plain length that the body itself tells, None where it tells none. `begin`: its first plain bytes, in
    little room however many there are, and fewer where it is damaged. `unpack`: all of them, of the length given.
    """

    ratio: int
    length: Callable[[Body], int | None]
    begin: Callable[[Body, int], bytes]
    unpack: Callable[[Body, int], bytes | bytearray]


def _lz4_length(body: Body) -> int:
    if len(body) < _LZ4_LENGTH.size:
        raise ValueError("no room for a length")
    length: int = _LZ4_LENGTH.unpack_from(body)[0]
    return length


def _begin_lz4(body: Body, most: int) -> bytes:
    return begin_lz4(memoryview(body)[_LZ4_LENGTH.size :], most)


def _unpack_lz4(body: Body, plain_length: int) -> bytes | bytearray:
    import cramjam

    return _fill(cramjam.lz4.decompress_block_into, body, plain_length)


def pack_lz4(body: memoryview) -> bytes:
    """The inverse: an LZ4 block behind its plain length, which is little-endian."""
    import cramjam

    return _LZ4_LENGTH.pack(len(body)) + bytes(cramjam.lz4.compress_block(body, store_size=False))


def _snappy_length(body: Body) -> int:
    """A raw Snappy block begins with its plain length: seven bits a byte, the lowest first."""
    length = 0
    for number, byte in enumerate(body[:5]):
        length |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            return length
    raise ValueError("no Snappy length")


def _unpack_snappy(body: Body, plain_length: int) -> bytes | bytearray:
    import cramjam

    return _fill(cramjam.snappy.decompress_raw_into, body, plain_length)


def _zstd_length(body: Body) -> int | None:
    """The content size of a zstd frame's header (RFC 8878, 3.1.1.1), None where it gives none."""
    if len(body) < 5 or body[:4] != _ZSTD_MAGIC:
        raise ValueError("no zstd frame")
    flags = body[4]
    single = bool(flags & 0x20)
    size = (1 if single else 0, 2, 4, 8)[flags >> 6]
    begin = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    if size == 0 or len(body) < begin + size:
        return None
    return int.from_bytes(body[begin : begin + size], "little") + (256 if size == 2 else 0)


def _begin_zstd(body: Body, most: int) -> bytes:
    import cramjam

    plain = bytearray(most)
    try:
        return bytes(plain[: cramjam.zstd.decompress_into(body, plain)])
    except cramjam.DecompressionError as error:
        # Where it is damaged instead, nobody says how far it came.
        return bytes(plain) if str(error) == _ROOM_ENDED else b""


def _unpack_zstd(body: Body, plain_length: int) -> bytes | bytearray:
    import cramjam

    try:
        return _fill(cramjam.zstd.decompress_into, body, plain_length)
    except _ShortError as error:
        if _zstd_length(body) is None:
            raise OtherLengthError(str(error)) from error
        raise


def pack_zstd(body: memoryview) -> bytes:
    """The inverse: a zstd frame."""
    import cramjam

    return bytes(cramjam.zstd.compress(body, level=3))


def _no_length(body: Body) -> None:
    """A zlib stream tells none."""


def _begin_deflate(body: Body, most: int) -> bytes:
    import zlib

    try:
        return zlib.decompressobj().decompress(body, most)
    except zlib.error:
        return b""


def _unpack_deflate(body: Body, plain_length: int) -> bytes | bytearray:
    import zlib

    stream = zlib.decompressobj()
    try:
        # One byte more than is due: zlib reads the Adler-32 behind the data only while it still has room for output.
        plain = stream.decompress(body, plain_length + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(plain) > plain_length:
        raise OtherLengthError(f"{len(plain)} bytes or more")
    if not stream.eof:
        raise ValueError(f"{len(plain)} bytes and no end of the stream")
    if len(plain) < plain_length:
        raise OtherLengthError(f"{len(plain)} bytes")
    if stream.unused_data:
        raise ValueError(f"{len(stream.unused_data)} bytes after the stream")
    return plain


def _fill(unpack_into: Callable[..., int], body: Body, plain_length: int) -> bytes | bytearray:
    """The plain bytes; a _ShortError where there are fewer than `plain_length`."""
    import cramjam

    try:
        if plain_length <= _COPIED_BYTES_MAX:
            plain: bytes | bytearray = bytearray(plain_length)
            filled = unpack_into(body, plain)
        else:
            # Bytes that are filled where they are: their room is taken as it is written, and they are there once.
            file = BytesIO(bytes(plain_length))
            with file.getbuffer() as room:
                filled = unpack_into(body, room)
            plain = file.getvalue()
    except cramjam.DecompressionError as error:
        raise ValueError(str(error)) from error
    if filled != plain_length:
        raise _ShortError(f"{filled} bytes")
    return plain


LZ4: Final = Compressor(255, _lz4_length, _begin_lz4, _unpack_lz4)
SNAPPY: Final = Compressor(22, _snappy_length, begin_snappy, _unpack_snappy)
DEFLATE: Final = Compressor(1033, _no_length, _begin_deflate, _unpack_deflate)
ZSTD: Final = Compressor(32768, _zstd_length, _begin_zstd, _unpack_zstd)
