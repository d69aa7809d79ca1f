"""Bodies of sections as each compressor and the cipher write them (format page 3.3, 3.5), made with their libraries."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cramjam
from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

KEY = bytes(range(16))
IV = bytes(range(100, 116))
CHUNK = 64 * 1024


@dataclass(frozen=True)
class Format:
    """How sections lie in a segment: the header's parameters, and from plain bytes to a section's body.

    `framed`: the body stands behind the i32 plain length.
    """

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    pack: Callable[[bytes], bytes] = bytes
    framed: bool = True


def lz4(plain: bytes) -> bytes:
    return struct.pack("<i", len(plain)) + bytes(cramjam.lz4.compress_block(plain, store_size=False))


def snappy(plain: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(plain))


def deflate(plain: bytes) -> bytes:
    return zlib.compress(plain)


def zstd(plain: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(plain, level=3))


def aes(plain: bytes, key: bytes = KEY, vector: bytes = IV, chunk: int = CHUNK) -> bytes:
    """Chunks, each LZ4 inside, padded and encrypted from the same vector."""
    out = b""
    for start in range(0, len(plain), chunk):
        part = plain[start : start + chunk]
        text = struct.pack(">i", len(part)) + lz4(part)
        padder = padding.PKCS7(128).padder()
        encryptor = Cipher(algorithms.AES(key), modes.CBC(vector)).encryptor()
        cipher_text = encryptor.update(padder.update(text) + padder.finalize()) + encryptor.finalize()
        out += struct.pack(">ii", len(cipher_text), len(text)) + cipher_text
    return out


PLAIN = Format("plain", framed=False)
AES = Format(
    "aes",
    {"encCipher": "AES/CBC/PKCS5Padding", "encIV": IV.hex(), "encKeyAlias": "testing:1"},
    lambda plain: aes(plain, chunk=200),
)
FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        PLAIN,
        Format("lz4", {"compressionClass": "LZ4Compressor", "compressionParameters": None}, lz4),
        Format("snappy", {"compressionClass": "SnappyCompressor", "compressionParameters": None}, snappy),
        Format("deflate", {"compressionClass": "DeflateCompressor", "compressionParameters": None}, deflate),
        Format("zstd", {"compressionClass": "ZstdCompressor", "compressionParameters": None}, zstd),
        Format("noop", {"compressionClass": "NoopCompressor", "compressionParameters": None}),
        AES,
    )
}
"""By name. The AES chunks are small here, so that a small section has several."""
