"""Body of a section <-> its plain bytes (format page 3.3 and 3.5): one codec per segment, chosen by the header.

Knows no marker and no file. Libraries are loaded by the codec that needs them, so plain segments need none; all of
them let other threads run while they work. Any bytes at all give exactly the promised number of plain bytes, or
CorruptError; lengths are checked against what the body can hold before anything is allocated. The length field has no
checksum: where the body itself tells another length, that is a SectionLengthError. A few bytes can unpack to a
gigabyte: what claims to be large must begin with entries, or gets no room.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn, Protocol

from tailer.errors import CorruptError, DefinitionError
from tailer.framing import compressors
from tailer.framing.cipher import open_cipher
from tailer.framing.compressors import Compressor, OtherLengthError
from tailer.framing.entry import may_be_entries
from tailer.framing.header import Header
from tailer.framing.section import LENGTH_REMEDY, SectionLengthError
from tailer.limits import LARGE_SECTION_BYTES, LOOKED_AT_BYTES, SECTION_BYTES_MAX
from tailer.position import Position

_PACKAGE: Final = "org.apache.cassandra.io.compress."
_DAMAGED: Final = "The segment is damaged: restore it, or keep what does not check aside with --on-error quarantine."


class Codec(Protocol):
    """Turns the body of one section into plain bytes. Holds no state between sections."""

    def decode(self, body: bytes | memoryview, plain_length: int, at: Position) -> bytes | bytearray:
        """The section's plain bytes.

        `body` is what follows the sync marker (plain) or the length field behind it (all others); `plain_length` is
        that length in bytes (plain: the body's own); `at` is the section's position, for errors.
        Raises CorruptError when the body does not give exactly `plain_length` bytes, as SectionLengthError when it is
        the length that is in doubt. Of a large section whose first bytes are no entries these come alone: behind the
        fault in them nothing could be found.
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
    codec = CODECS.get(name.removeprefix(_PACKAGE) if "." in name else name)
    if codec is None:
        raise DefinitionError(
            "unknown commit-log compressor",
            expected=f"one of {', '.join(CODECS)}",
            found=name,
            remedy="Set commitlog_compression to one of these, or take the setting out.",
        )
    return codec


class PlainCodec:
    """Bytes as they are: segments without compression, and NoopCompressor."""

    def decode(self, body: bytes | memoryview, plain_length: int, at: Position) -> bytes | bytearray:
        if plain_length != len(body):
            _refuse("plain section", at, f"{plain_length} bytes", f"{len(body)}", SectionLengthError)
        return bytes(body)


class CompressedCodec:
    """One compressor's sections."""

    def __init__(self, name: str, compressor: Compressor) -> None:
        self.name = name
        self._compressor = compressor

    def decode(self, body: bytes | memoryview, plain_length: int, at: Position) -> bytes | bytearray:
        """See Codec.decode."""
        if plain_length == 0:
            return b""  # format page 3.3: the body of an empty section means nothing, Deflate may have written none
        ratio, length, begin, unpack = self._compressor
        limit = min(ratio * len(body), SECTION_BYTES_MAX)
        if not 0 < plain_length <= limit:
            expected = f"at most {limit} bytes"
            _refuse(f"{self.name} section's length", at, expected, f"{plain_length}", SectionLengthError)
        try:
            told = length(body)
            if told is not None and told != plain_length:
                raise OtherLengthError(f"{told} bytes")
            if plain_length > LARGE_SECTION_BYTES:
                first = begin(body, LOOKED_AT_BYTES)
                if not may_be_entries(first, plain_length):
                    return first
            return unpack(body, plain_length)
        except OtherLengthError as error:
            _refuse(f"{self.name} section's length", at, str(error), f"{plain_length}", SectionLengthError)
        except ValueError as error:
            _refuse(f"{self.name} section that does not decompress", at, f"{plain_length} bytes", str(error))


def _refuse(what: str, at: Position, expected: str, found: str, error: type[CorruptError] = CorruptError) -> NoReturn:
    remedy = LENGTH_REMEDY if error is SectionLengthError else _DAMAGED
    raise error(what, at=at, expected=expected, found=found, remedy=remedy)


PLAIN: Final = PlainCodec()
LZ4: Final = CompressedCodec("LZ4Compressor", compressors.LZ4)
ZSTD: Final = CompressedCodec("ZstdCompressor", compressors.ZSTD)
CODECS: Final[Mapping[str, Codec]] = {
    LZ4.name: LZ4,
    "SnappyCompressor": CompressedCodec("SnappyCompressor", compressors.SNAPPY),
    "DeflateCompressor": CompressedCodec("DeflateCompressor", compressors.DEFLATE),
    ZSTD.name: ZSTD,
    "NoopCompressor": PLAIN,
}
"""By simple class name. A name without a dot means Cassandra's own package; any other package is not known."""
