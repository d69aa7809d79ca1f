"""Many LZ4 sections at once: batch sync writes one for each commit, and a call for each costs more than its bytes.

The usual case only: what is no LZ4 block of its length, and what is large, is left to `codec`, which says what is
wrong. Pure: takes buffers. `framing.compiled.lz4` is the compiled twin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tailer.errors import CorruptError
from tailer.framing.codec import LZ4
from tailer.limits import MIB
from tailer.position import Position

if TYPE_CHECKING:
    from tailer.framing.entry import Numbers

LENGTH_BYTES: Final = 4
"""Before an LZ4 block stands its plain length, little-endian."""

BLOCK_BYTES_MAX: Final = MIB
"""A section of more plain bytes is large here."""

_NOWHERE: Final = Position(0, 0)


def unpack_blocks(block: bytes, begins: Numbers, ends: Numbers, lengths: Numbers) -> tuple[bytes, int]:
    """The plain bytes of the sections whose bodies lie in `block` from `begins` to `ends`, one behind the other, and of
    how many: up to the first that does not give `lengths` bytes, or is large."""
    import numpy as np

    view = memoryview(block)
    parts: list[bytes | bytearray] = []
    for begin, end, length in zip(*(np.asarray(line).tolist() for line in (begins, ends, lengths)), strict=True):
        if length > BLOCK_BYTES_MAX:
            break
        try:
            parts.append(LZ4.decode(view[begin:end], length, _NOWHERE))
        except CorruptError:
            break
    return b"".join(parts), len(parts)
