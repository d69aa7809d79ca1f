"""How a log's sections are compressed: what its segments' headers say of it, and what does it. Knows no file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

from tailer.framing.codec import LZ4, ZSTD
from tailer.framing.compressors import pack_lz4, pack_zstd
from tailer.framing.header import encode_header
from writer_hooks.places import DESCRIPTOR

Compression = Literal["lz4", "zstd"] | None

_COMPRESSORS: Final = {"lz4": (LZ4.name, pack_lz4), "zstd": (ZSTD.name, pack_zstd)}


def packer(compression: Compression) -> Callable[[memoryview], bytes] | None:
    """What compresses a section's body; None for a log that is not compressed."""
    return None if compression is None else _COMPRESSORS[compression][1]


def header_bytes(segment: int, boot: str, compression: Compression, previous: int | None) -> bytes:
    """A segment's header. `previous`: the segment before it, None for the log's first."""
    parameters: dict[str, Any] = {"boot": boot, "payload": "msgpack"}
    if previous is not None:
        parameters["previous"] = previous
    if compression is not None:
        parameters |= {"compressionClass": _COMPRESSORS[compression][0], "compressionParameters": None}
    return encode_header(DESCRIPTOR, segment, parameters)
