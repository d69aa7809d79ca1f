"""The first plain bytes of an LZ4 or Snappy block, in room for these alone: the libraries unpack all of one or nothing.

For a look at what claims to be large. Slow, so for little. What is damaged ends the bytes; the libraries say why.
"""

from __future__ import annotations

from typing import Final

Body = bytes | memoryview

_LONG: Final = 15
"""Of LZ4: a length goes on in the next bytes, until one that is not 255."""

_LEAST_MATCH: Final = 4
_SHORT_LITERAL: Final = 60
"""Of Snappy: from here on the tag says how many bytes of length follow."""


def begin_lz4(body: Body, most: int) -> bytes:
    """The first `most` plain bytes of an LZ4 block, fewer where there are not as many."""
    plain, at = bytearray(), 0
    try:
        while len(plain) < most:
            token = body[at]
            count, at = _lz4_count(body, at + 1, token >> 4)
            plain += body[at : at + min(count, most)]
            at += count
            distance = body[at] | body[at + 1] << 8
            count, at = _lz4_count(body, at + 2, token & _LONG)
            if not _repeat(plain, distance, count + _LEAST_MATCH, most):
                break
    except IndexError:
        # The block's end: its last literals have no match behind them.
        pass
    return bytes(plain[:most])


def _lz4_count(body: Body, at: int, count: int) -> tuple[int, int]:
    if count == _LONG:
        more = 255
        while more == 255:
            more = body[at]
            count += more
            at += 1
    return count, at


def begin_snappy(body: Body, most: int) -> bytes:
    """The first `most` plain bytes of a raw Snappy block, fewer where there are not as many."""
    plain, at = bytearray(), 0
    try:
        while body[at] >= 0x80:
            at += 1
        at += 1
        while len(plain) < most:
            tag = body[at]
            if tag & 3 == 0:
                count, at = _snappy_literal(body, at + 1, tag >> 2)
                plain += body[at : at + min(count, most)]
                at += count
                continue
            if tag & 3 == 1:
                count, size, distance = (tag >> 2 & 7) + _LEAST_MATCH, 1, tag >> 5 << 8 | body[at + 1]
            else:
                count, size = (tag >> 2) + 1, 2 if tag & 3 == 2 else 4
                distance = int.from_bytes(body[at + 1 : at + 1 + size], "little")
            at += 1 + size
            if not _repeat(plain, distance, count, most):
                break
    except IndexError:
        # The block's end.
        pass
    return bytes(plain[:most])


def _snappy_literal(body: Body, at: int, count: int) -> tuple[int, int]:
    size = count - _SHORT_LITERAL + 1
    if size <= 0:
        return count + 1, at
    return int.from_bytes(body[at : at + size], "little") + 1, at + size


def _repeat(plain: bytearray, distance: int, count: int, most: int) -> bool:
    """Appends `count` bytes from `distance` before the end on, which may overlap it; False where none stand there."""
    if not 0 < distance <= len(plain):
        return False
    count = min(count, most)
    unit = plain[len(plain) - distance :][:count]
    plain += (unit * (count // len(unit) + 1))[:count]
    return True
