"""Encrypted sections (format page 3.5): AES/CBC chunks, each an LZ4 block inside. Knows no keystore and no file.

      0         4              8                  8+n
      +---------+--------------+------------------+
      | n       | plain length | cipher text      |   chunk, big-endian; one after another to the section's end
      +---------+--------------+------------------+
      decrypted: | i32 uncompressed length | LZ4Compressor's output |

Every chunk is a complete encryption that starts from the segment's one IV and is padded (PKCS #5) by itself.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, NoReturn

from tailer.errors import CorruptError, DefinitionError
from tailer.framing.entry import may_be_entries
from tailer.framing.header import Header
from tailer.framing.section import LENGTH_REMEDY, SectionLengthError
from tailer.limits import LARGE_SECTION_BYTES, LOOKED_AT_BYTES, SECTION_BYTES_MAX
from tailer.position import Position

_CHUNK: Final = struct.Struct(">ii")
_LENGTH: Final = struct.Struct(">i")
_BLOCK: Final = 16
_TRANSFORMATION: Final = "AES/CBC/PKCS5Padding"
_KEY_LENGTHS: Final = (16, 24, 32)
_DAMAGED: Final = "Either the key is not this log's (give its server's keystore), or the segment is damaged."

Unpack = Callable[[bytes | memoryview, int, Position], bytes | bytearray]
"""Decompresses one block: its bytes, the plain length, the position for errors."""


def open_cipher(header: Header, key: bytes | None, unpack: Unpack) -> AesCodec:
    """The codec of an encrypted segment; `unpack` is the LZ4 decoder of what was encrypted.

    Raises DefinitionError for a cipher that is not known here and for a key that is missing or of the wrong length.
    """
    transformation, alias = str(header.parameters["encCipher"]), str(header.parameters["encKeyAlias"])
    if transformation != _TRANSFORMATION:
        raise DefinitionError(
            "unknown commit-log cipher",
            expected=_TRANSFORMATION,
            found=transformation,
            remedy="Only Cassandra's default cipher is read; set transparent_data_encryption_options.cipher to it.",
        )
    if key is None:
        raise DefinitionError(
            f"segment {header.segment} is encrypted with key {alias!r} and no key was given",
            remedy="Give the server's keystore with --keystore FILE and its password in CDC_TAIL_KEYSTORE_PASSWORD.",
        )
    if len(key) not in _KEY_LENGTHS:
        raise DefinitionError(f"key {alias!r}", expected="an AES key of 16, 24 or 32 bytes", found=f"{len(key)} bytes")
    return AesCodec(key, _vector(header), unpack)


def _vector(header: Header) -> bytes:
    text = header.parameters.get("encIV")
    try:
        vector = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        vector = b""
    if len(vector) != _BLOCK:
        _refuse("encIV in the segment header", Position(header.segment, 0), "16 bytes in hex", repr(text)[:80])
    return vector


class AesCodec:
    """AES in CBC mode with one key and one IV for all chunks of a segment."""

    def __init__(self, key: bytes, vector: bytes, unpack: Unpack) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._cipher: Cipher[Any] = Cipher(algorithms.AES(key), modes.CBC(vector))
        self._unpack = unpack

    def decode(self, body: bytes | memoryview, plain_length: int, at: Position) -> bytes:
        """The plain bytes of all chunks, joined; see Codec.decode."""
        body = memoryview(body)
        chunks: list[bytes | bytearray] = []
        start, filled = 0, 0
        while start < len(body):
            text, start = self._decrypt(body, start, at)
            chunk = self._decompress(text, min(SECTION_BYTES_MAX - filled, LARGE_SECTION_BYTES), at)
            chunks.append(chunk)
            filled += len(chunk)
            if plain_length > LARGE_SECTION_BYTES and filled - len(chunk) < LOOKED_AT_BYTES <= filled:
                first = b"".join(chunks)[:LOOKED_AT_BYTES]
                if not may_be_entries(first, plain_length):
                    return first
        if filled != plain_length:
            # Every chunk came out right, so it is the section's length that does not.
            _refuse("encrypted section's length", at, f"{filled} bytes", f"{plain_length}", SectionLengthError)
        return b"".join(chunks)

    def _decrypt(self, body: memoryview, start: int, at: Position) -> tuple[bytes, int]:
        """The decrypted bytes of the chunk at `start`, and where the next one begins."""
        text_start = start + _CHUNK.size
        if text_start > len(body):
            _refuse("head of an encrypted chunk", at, f"{_CHUNK.size} bytes", f"{len(body) - start}")
        length, plain_length = _CHUNK.unpack_from(body, start)
        if length != (plain_length // _BLOCK + 1) * _BLOCK or not 0 < length <= len(body) - text_start:
            found = f"{length} encrypted and {plain_length} plain bytes with {len(body) - text_start} left"
            _refuse("lengths of an encrypted chunk", at, "whole blocks inside the section", found)
        decryptor = self._cipher.decryptor()
        text = decryptor.update(body[text_start : text_start + length]) + decryptor.finalize()
        padding, due = text[plain_length:], length - plain_length
        if padding != bytes([due]) * due:
            _refuse("encrypted chunk that does not decrypt", at, f"{due} bytes of padding", padding.hex())
        return text[:plain_length], text_start + length

    def _decompress(self, text: bytes, left: int, at: Position) -> bytes | bytearray:
        if len(text) < _LENGTH.size:
            _refuse("decrypted chunk", at, "4 bytes of length or more", f"{len(text)}")
        (length,) = _LENGTH.unpack_from(text)
        if not 0 <= length <= left:
            _refuse("length in a decrypted chunk", at, f"0 to {left} bytes", f"{length}")
        try:
            return self._unpack(memoryview(text)[_LENGTH.size :], length, at)
        except SectionLengthError as error:
            # A chunk's two lengths differ: that tells nothing of the section's.
            _refuse("encrypted chunk that does not decompress", at, f"{error.expected}", f"{error.found} bytes")


def _refuse(what: str, at: Position, expected: str, found: str, error: type[CorruptError] = CorruptError) -> NoReturn:
    remedy = LENGTH_REMEDY if error is SectionLengthError else _DAMAGED
    raise error(what, at=at, expected=expected, found=found, remedy=remedy)
