"""The token of a partition key, compiled: see `tailer.types.token`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.jit.decorators import compiled
from tailer.jit.memory import load
from tailer.jit.words import little_half, little_word
from tailer.types.token import ADD_1, ADD_2, C1, C2, FINAL_1, FINAL_2

_C1: Final = np.uint64(C1)
_C2: Final = np.uint64(C2)
_FINAL_1: Final = np.uint64(FINAL_1)
_FINAL_2: Final = np.uint64(FINAL_2)
_ADD_1: Final = np.uint64(ADD_1)
_ADD_2: Final = np.uint64(ADD_2)
_SIGNS: Final = np.uint64(0x8080_8080_8080_8080)
_U5: Final = np.uint64(5)
_U8: Final = np.uint64(8)
_U33: Final = np.uint64(33)
_U64: Final = np.uint64(64)
_MIN: Final = -(2**63)
_MAX: Final = 2**63 - 1


@compiled
def token(off: int, length: int) -> int:
    """The Murmur3Partitioner's token of a whole partition key."""
    if length == 0:
        return _MIN
    h1 = h2 = np.uint64(0)
    at, end = off, off + length
    while at + 16 <= end:
        h1 ^= _mixed(little_word(at, 0), _C1, np.uint64(31), _C2)
        h1 = (_turned(h1, np.uint64(27)) + h2) * _U5 + _ADD_1
        h2 ^= _mixed(little_word(at, 8), _C2, _U33, _C1)
        h2 = (_turned(h2, np.uint64(31)) + h1) * _U5 + _ADD_2
        at += 16
    if end - at > 8:
        h2 ^= _mixed(_tail(at + 8, end), _C2, _U33, _C1)
    if end > at:
        h1 ^= _mixed(_tail(at, min(end, at + 8)), _C1, np.uint64(31), _C2)
    h1 ^= np.uint64(length)
    h2 ^= np.uint64(length)
    h1 += h2
    h2 += h1
    found: Any = np.int64(_final(h1) + _final(h2))
    return _MAX if found == _MIN else found


@compiled
def _turned(k: Any, bits: Any) -> Any:
    return (k << bits) | (k >> (_U64 - bits))


@compiled
def _mixed(k: Any, first: Any, bits: Any, second: Any) -> Any:
    return _turned(k * first, bits) * second


@compiled
def _tail(at: int, end: int) -> Any:
    """Up to eight last bytes; the sign of each reaches over all bytes behind it, and all are combined by XOR."""
    size = end - at
    if size == 8:
        k = little_word(at, 0)
    elif size == 4:
        k = np.uint64(little_half(at, 0))
    else:
        k = np.uint64(0)
        for number in range(size):
            k |= np.uint64(load(at + number)) << np.uint64(8 * number)
    signs = (k & _SIGNS) >> np.uint64(7)
    if signs == np.uint64(0):
        return k
    signs *= np.uint64(0xFF)
    signs ^= signs << _U8
    signs ^= signs << np.uint64(16)
    signs ^= signs << np.uint64(32)
    return k ^ signs << _U8


@compiled
def _final(k: Any) -> Any:
    k ^= k >> _U33
    k *= _FINAL_1
    k ^= k >> _U33
    k *= _FINAL_2
    return k ^ (k >> _U33)
