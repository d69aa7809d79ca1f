"""Variable-length integers inside values (format page, 5.1): the parts of a duration, the lengths in a vector.

The count of leading one-bits of the first byte is the number of bytes that follow.
"""

from __future__ import annotations


def read_unsigned(value: bytes, at: int) -> tuple[int, int]:
    """The unsigned number at `at`, up to 64 bits, and where it ends. ValueError if the value is too short."""
    if at >= len(value):
        raise ValueError(f"the value ends at byte {at}, where a number should be")
    first = value[at]
    if first < 0x80:
        return first, at + 1
    extra = 8 - (first ^ 0xFF).bit_length()
    end = at + 1 + extra
    if end > len(value):
        raise ValueError(f"the value ends at byte {len(value)}, inside a number")
    high = first & (0xFF >> extra)
    return high << (8 * extra) | int.from_bytes(value[at + 1 : end], "big"), end


def read_signed(value: bytes, at: int) -> tuple[int, int]:
    """The signed (zigzag) number at `at`, 64 bits, and where it ends. ValueError if the value is too short."""
    number, end = read_unsigned(value, at)
    return (number >> 1) ^ -(number & 1), end


def write_unsigned(number: int) -> bytes:
    """The bytes of an unsigned number of up to 64 bits."""
    extra = min((max(number.bit_length(), 1) - 1) // 7, 8)
    if extra == 8:
        return b"\xff" + number.to_bytes(8, "big")
    first = 0x100 - (0x100 >> extra)
    return ((first << 8 * extra) | number).to_bytes(extra + 1, "big")


def write_signed(number: int) -> bytes:
    """The bytes of a signed (zigzag) number of 64 bits."""
    return write_unsigned(number << 1 if number >= 0 else (~number << 1) | 1)
