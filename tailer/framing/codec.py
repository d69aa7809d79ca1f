"""Body of a section <-> its plain bytes (format page 3.3 and 3.5): one codec per segment, chosen by the header.

Knows no marker, no entry and no file. Libraries are loaded by the codec that needs them, so plain segments need none;
all of them let other threads run while they work. Any bytes at all give exactly the promised number of plain bytes, or
CorruptError; lengths are checked against what the body can hold before anything is allocated. The length field has no
checksum: where the body itself tells another length, that is a SectionLengthError.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, Protocol

from tailer.errors import CorruptError, DefinitionError
from tailer.framing.cipher import open_cipher
from tailer.framing.header import Header
from tailer.framing.section import LENGTH_REMEDY, SectionLengthError
from tailer.limits import SECTION_BYTES_MAX
from tailer.position import Position

_PACKAGE: Final = "org.apache.cassandra.io.compress."
_LZ4_LENGTH: Final = struct.Struct("<i")
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_DAMAGED: Final = "The segment is damaged: restore it, or keep what does not check aside with --on-error quarantine."


class Codec(Protocol):
    """Turns the body of one section into plain bytes. Holds no state between sections."""

    def decode(self, body: bytes | memoryview, plain_length: int, at: Position) -> bytes | bytearray:
        """The section's plain bytes.

        `body` is what follows the sync marker (plain) or the length field behind it (all others); `plain_length` is
        that length in bytes (plain: the body's own); `at` is the section's position, for errors.
        Raises CorruptError when the body does not give exactly `plain_length` bytes, as SectionLengthError when it is
        the length that is in doubt.
        """
        ...


def open_codec(header: Header, key: bytes | None = None) -> Codec:
    """The codec of a segment. `key` is the secret key that an encrypted segment's header names.

    Raises DefinitionError for a compressor or cipher that is not known here, and for a key that is missing or unfit.
    """
    if header.encrypted:
        return open_cipher(header, key, LZ4.decode)
    if header.compressed:
        return _compressor(header.parameters)
    return PLAIN


def _compressor(parameters: Mapping[str, Any]) -> Codec:
    name = str(parameters["compressionClass"])
    codec = COMPRESSORS.get(name.removeprefix(_PACKAGE) if "." in name else name)
    if codec is None:
        raise DefinitionError(
            "unknown commit-log compressor",
            expected=f"one of {', '.join(COMPRESSORS)}",
            found=name,
            remedy="Set commitlog_compression to one of these, or take the setting out.",
        )
    return codec


Unpack = Callable[[bytes | memoryview, int], bytes | bytearray]


class PlainCodec:
    """Bytes as they are: segments without compression, and NoopCompressor."""

    def decode(self, body: bytes | memoryview, plain_length: int, at: Position) -> bytes | bytearray:
        if plain_length != len(body):
            _refuse("plain section", at, f"{plain_length} bytes", f"{len(body)}", SectionLengthError)
        return bytes(body)


class CompressedCodec:
    """One compressor. `ratio` = how many plain bytes one compressed byte can stand for at most, by its format."""

    def __init__(self, name: str, ratio: int, unpack: Unpack) -> None:
        self.name = name
        self._ratio = ratio
        self._unpack = unpack

    def decode(self, body: bytes | memoryview, plain_length: int, at: Position) -> bytes | bytearray:
        if plain_length == 0:
            return b""  # format page 3.3: the body of an empty section means nothing, Deflate may have written none
        limit = min(self._ratio * len(body), SECTION_BYTES_MAX)
        if not 0 < plain_length <= limit:
            expected = f"at most {limit} bytes"
            _refuse(f"{self.name} section's length", at, expected, f"{plain_length}", SectionLengthError)
        try:
            return self._unpack(body, plain_length)
        except _OtherLengthError as error:
            _refuse(f"{self.name} section's length", at, str(error), f"{plain_length}", SectionLengthError)
        except ValueError as error:
            _refuse(f"{self.name} section that does not decompress", at, f"{plain_length} bytes", str(error))


def _refuse(what: str, at: Position, expected: str, found: str, error: type[CorruptError] = CorruptError) -> NoReturn:
    remedy = LENGTH_REMEDY if error is SectionLengthError else _DAMAGED
    raise error(what, at=at, expected=expected, found=found, remedy=remedy)


class _OtherLengthError(ValueError):
    """The body is of another length than the section says; the text tells which."""


def _unpack_lz4(body: bytes | memoryview, plain_length: int) -> bytes | bytearray:
    if len(body) < _LZ4_LENGTH.size:
        raise ValueError("no room for a length")
    (length,) = _LZ4_LENGTH.unpack_from(body)
    if length != plain_length:
        raise _OtherLengthError(f"{length} bytes")
    import cramjam

    return _fill(cramjam.lz4.decompress_block_into, body, plain_length)


def pack_lz4(body: memoryview) -> bytes:
    """The inverse: an LZ4 block behind its plain length, which is little-endian."""
    import cramjam

    return _LZ4_LENGTH.pack(len(body)) + bytes(cramjam.lz4.compress_block(body, store_size=False))


def _unpack_snappy(body: bytes | memoryview, plain_length: int) -> bytes | bytearray:
    length = _snappy_length(body)
    if length != plain_length:
        raise _OtherLengthError(f"{length} bytes")
    import cramjam

    return _fill(cramjam.snappy.decompress_raw_into, body, plain_length)


def _snappy_length(body: bytes | memoryview) -> int:
    """A raw Snappy block begins with its plain length: seven bits a byte, the lowest first."""
    length = 0
    for number, byte in enumerate(body[:5]):
        length |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            return length
    raise ValueError("no Snappy length")


def _unpack_zstd(body: bytes | memoryview, plain_length: int) -> bytes | bytearray:
    length = _zstd_length(body)
    if length is not None and length != plain_length:
        raise _OtherLengthError(f"{length} bytes")
    import cramjam

    return _fill(cramjam.zstd.decompress_into, body, plain_length, _OtherLengthError if length is None else ValueError)


def pack_zstd(body: memoryview) -> bytes:
    """The inverse: a zstd frame."""
    import cramjam

    return bytes(cramjam.zstd.compress(body, level=3))


def _zstd_length(body: bytes | memoryview) -> int | None:
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


def _fill(
    unpack_into: Callable[..., int], body: bytes | memoryview, plain_length: int, short: type[ValueError] = ValueError
) -> bytearray:
    """The plain bytes; `short` is raised when there are fewer than `plain_length`."""
    import cramjam

    plain = bytearray(plain_length)
    try:
        filled = unpack_into(body, plain)
    except cramjam.DecompressionError as error:
        raise ValueError(str(error)) from error
    if filled != plain_length:
        raise short(f"{filled} bytes")
    return plain


def _unpack_deflate(body: bytes | memoryview, plain_length: int) -> bytes | bytearray:
    import zlib

    stream = zlib.decompressobj()
    try:
        # One byte more than is due: zlib reads the Adler-32 behind the data only while it still has room for output.
        plain = stream.decompress(body, plain_length + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(plain) > plain_length:
        raise _OtherLengthError(f"{len(plain)} bytes or more")
    if not stream.eof:
        raise ValueError(f"{len(plain)} bytes and no end of the stream")
    if len(plain) < plain_length:
        raise _OtherLengthError(f"{len(plain)} bytes")
    if stream.unused_data:
        raise ValueError(f"{len(stream.unused_data)} bytes after the stream")
    return plain


PLAIN: Final = PlainCodec()
LZ4: Final = CompressedCodec("LZ4Compressor", 255, _unpack_lz4)
ZSTD: Final = CompressedCodec("ZstdCompressor", 32768, _unpack_zstd)
COMPRESSORS: Final[Mapping[str, Codec]] = {
    LZ4.name: LZ4,
    "SnappyCompressor": CompressedCodec("SnappyCompressor", 22, _unpack_snappy),
    "DeflateCompressor": CompressedCodec("DeflateCompressor", 1033, _unpack_deflate),
    ZSTD.name: ZSTD,
    "NoopCompressor": PLAIN,
}
"""By simple class name. A name without a dot means Cassandra's own package; any other package is not known."""
