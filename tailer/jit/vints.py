"""Variable-length integers, compiled: `framing.vint` in 64 bits.

A value is a signed integer with the bits of the unsigned one: what is negative is 2^63 or more, longer than anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tailer.jit.decorators import compiled, inlined
from tailer.jit.words import byte, leading_ones, word

_signed: Any = np.int64
_SEVEN = np.uint64(7)
_TOP = np.uint64(56)


@compiled
def _read_long(base: int, at: int) -> tuple[int, int]:
    bits = word(base, at)
    extra = leading_ones(bits)
    if extra >= 8:
        return _signed(word(base, at + 1)), at + 9
    ones = np.uint64(extra)
    return _signed((bits << ones) >> (_TOP - _SEVEN * ones)), at + 1 + extra


@inlined
def read_vint(base: int, at: int) -> tuple[int, int]:
    """The value at `at`, and the offset behind it. Nine bytes from there on must be readable."""
    first = byte(base, at)
    if first < 0x80:
        return first, at + 1
    return _read_long(base, at)


@inlined
def read_length(base: int, at: int, fixed: int) -> tuple[int, int]:
    """The length of a value and where it begins: `fixed`, or the number that stands there where that is negative."""
    if fixed >= 0:
        return fixed, at
    return read_vint(base, at)
