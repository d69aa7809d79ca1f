"""The token of a partition key: Cassandra's own variant of Murmur3 (format page, section 8). Knows bytes only."""

from __future__ import annotations

import struct
from typing import Final

C1: Final = 0x87C3_7B91_1142_53D5
C2: Final = 0x4CF5_AD43_2745_937F
ADD_1: Final = 0x52DC_E729
ADD_2: Final = 0x3849_5AB5
FINAL_1: Final = 0xFF51_AFD7_ED55_8CCD
FINAL_2: Final = 0xC4CE_B9FE_1A85_EC53
"""Murmur3's numbers, for the compiled form too."""

_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_BLOCKS: Final = struct.Struct("<QQ").iter_unpack

TOKEN_MIN: Final = -(2**63)
"""The token of the empty key, and of no other."""


def murmur3_token(key: bytes) -> int:
    """The Murmur3Partitioner's token of a whole partition key, a signed 64-bit number."""
    if not key:
        return TOKEN_MIN
    size = len(key)
    whole = size & ~15
    h1 = h2 = 0
    for k1, k2 in _BLOCKS(key[:whole]):
        h1 ^= _mixed(k1, C1, 31, C2)
        h1 = (((h1 << 27 | h1 >> 37) + h2) * 5 + ADD_1) & _MASK
        h2 ^= _mixed(k2, C2, 33, C1)
        h2 = (((h2 << 31 | h2 >> 33) + h1) * 5 + ADD_2) & _MASK
    if size > whole:
        if size > whole + 8:
            h2 ^= _mixed(_tail(key[whole + 8 :]), C2, 33, C1)
        h1 ^= _mixed(_tail(key[whole : whole + 8]), C1, 31, C2)
    h1 ^= size
    h2 ^= size
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    h1 = (_final(h1) + _final(h2)) & _MASK
    token = h1 - 2**64 if h1 >> 63 else h1
    return 2**63 - 1 if token == TOKEN_MIN else token


def _mixed(k: int, first: int, turn: int, second: int) -> int:
    k = k * first & _MASK
    return (k << turn | k >> (64 - turn)) * second & _MASK


def _tail(rest: bytes) -> int:
    """Up to eight last bytes. Each is sign-extended before it is mixed in, unlike in standard Murmur3."""
    k = 0
    for at, byte in enumerate(rest):
        k ^= (byte if byte < 0x80 else byte - 0x100) << 8 * at
    return k & _MASK


def _final(k: int) -> int:
    k ^= k >> 33
    k = k * FINAL_1 & _MASK
    k ^= k >> 33
    k = k * FINAL_2 & _MASK
    return k ^ k >> 33
