"""Variable-length integers (format page 5.1): the leading one bits of the first byte count the bytes that follow.

Knows no length of anything: the caller checks the offset it gets back against the end of what it reads.
"""

from __future__ import annotations

import struct
from typing import Final

VINT_BYTES_MAX: Final = 9
"""The longest form: a byte of ones and eight bytes."""

_U64: Final = struct.Struct(">Q").unpack_from


def _extra(first: int) -> int:
    return 8 - (~first & 0xFF).bit_length()


# By first byte: how many bytes follow; how far eight bytes read at once go beyond; which bits are the value's.
_EXTRA: Final = tuple(_extra(first) for first in range(256))
_SHIFT: Final = tuple(max(0, 56 - 8 * extra) for extra in _EXTRA)
_MASK: Final = tuple((1 << 7 * (extra + 1)) - 1 for extra in _EXTRA)


def read_vint(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned value at `at`, and the offset behind it. `data` must hold `VINT_BYTES_MAX` bytes from `at` on."""
    first = data[at]
    if first < 0x80:
        return first, at + 1
    if first == 0xFF:
        return _U64(data, at + 1)[0], at + 9
    return _U64(data, at)[0] >> _SHIFT[first] & _MASK[first], at + 1 + _EXTRA[first]
