"""Integers and lengths as a server writes them (format page 5.1)."""

from __future__ import annotations

import struct


def uvint(value: int) -> bytes:
    """Unsigned 64-bit, shortest form; a negative number as its two's complement."""
    value &= 2**64 - 1
    for extra in range(8):
        if value < 1 << 7 * (extra + 1):
            lead = 0xFF << (8 - extra) & 0xFF
            return (value | lead << 8 * extra).to_bytes(extra + 1, "big")
    return b"\xff" + value.to_bytes(8, "big")


def svint(value: int) -> bytes:
    """Zigzag: only inside `duration` values."""
    return uvint((value << 1) ^ (value >> 63))


def counted(value: bytes) -> bytes:
    """`vint bytes`: a length and the bytes."""
    return uvint(len(value)) + value


def i32(value: int) -> bytes:
    return struct.pack(">i", value)


def u16(value: int) -> bytes:
    return struct.pack(">H", value)
