"""Decimals and varints to Arrow's 128-bit decimals. Compiled; works on addresses.

A value that 128 bits do not hold on the way is left, for the plain functions to read or to say what is wrong.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.jit.decorators import compiled, entry_point
from tailer.jit.memory import get_offset, store
from tailer.jit.words import put
from tailer.types.compiled.digits import magnitude, read_signed, read_unsigned

WIDTH: Final = 16

_POWERS: Final = np.array([10**power for power in range(20)], np.uint64)
_STEP: Final = 19
_DIVISOR_DIGITS: Final = 9
"""A divisor of so many digits has less than 32 bits."""

_SHIFT_MAX: Final = 38
_LIMIT_HIGH: Final = np.uint64(10**38 >> 64)
_LIMIT_LOW: Final = np.uint64(10**38 & 2**64 - 1)
_SCALE_BYTES: Final = 4
_HALF: Final = np.uint64(0xFFFF_FFFF)
_U32: Final = np.uint64(32)
_U0: Final = np.uint64(0)
_U1: Final = np.uint64(1)


@compiled
def _multiply(left: Any, right: Any) -> Any:
    """The 128 bits of a product, high and low."""
    one, other = left & _HALF, right & _HALF
    low, cross = one * other, (left >> _U32) * other
    middle = cross + (low >> _U32)
    second = one * (right >> _U32) + (middle & _HALF)
    high = (left >> _U32) * (right >> _U32) + (middle >> _U32) + (second >> _U32)
    return high, (second << _U32) | (low & _HALF)


@compiled
def _is_small(high: Any, low: Any) -> bool:
    """Whether a number has 38 digits at most."""
    return bool(high < _LIMIT_HIGH or (high == _LIMIT_HIGH and low < _LIMIT_LOW))


@compiled
def _scaled_up(high: Any, low: Any, digits: int) -> Any:
    """Times a power of ten, and whether it has 38 digits at most."""
    while digits > 0:
        step = min(digits, _STEP)
        over, upper = _multiply(high, _POWERS[step])
        carry, low = _multiply(low, _POWERS[step])
        high = upper + carry
        if over != _U0 or high < carry or not _is_small(high, low):
            return high, low, False
        digits -= step
    return high, low, _is_small(high, low)


@compiled
def _scaled_down(high: Any, low: Any, digits: int) -> Any:
    """By a power of ten, and whether that left nothing over."""
    while digits > 0:
        step = min(digits, _DIVISOR_DIGITS)
        divisor = _POWERS[step]
        rest = high % divisor
        high //= divisor
        upper = (rest << _U32) | (low >> _U32)
        lower = ((upper % divisor) << _U32) | (low & _HALF)
        low = ((upper // divisor) << _U32) | (lower // divisor)
        if lower % divisor != _U0:
            return high, low, False
        digits -= step
    return high, low, _is_small(high, low)


@compiled
def _read(at: int, length: int) -> Any:
    """The absolute value of a number of at most 16 bytes, and whether it is negative."""
    if length <= 8:
        number = read_signed(at, length)
        return _U0, magnitude(number), number < 0
    upper, low = read_signed(at, length - 8), read_unsigned(at + length - 8, 8)
    high = np.uint64(upper)
    if upper < 0:
        low = ~low + _U1
        high = ~high + (_U1 if low == _U0 else _U0)
    return high, low, upper < 0


@compiled
def _put_decimal(out: int, row: int, high: Any, low: Any, negative: bool) -> None:
    if negative:
        low = ~low + _U1
        high = ~high + (_U1 if low == _U0 else _U0)
    put(out, 2 * row, np.int64(low))
    put(out, 2 * row + 1, np.int64(high))


@compiled
def _put_scaled(at: int, length: int, shift: int, out: int, row: int) -> bool:
    """Puts down a whole number times a power of ten; whether that can be."""
    high, low, negative = _read(at, length)
    fits = high == _U0 and low == _U0
    if not fits and -_SHIFT_MAX <= shift <= _SHIFT_MAX:
        if shift >= 0:
            high, low, fits = _scaled_up(high, low, shift)
        else:
            high, low, fits = _scaled_down(high, low, -shift)
    _put_decimal(out, row, high, low, negative)
    return fits


@entry_point
def put_decimals(digits: int, scaled: int, data: int, off: int, length: int, rows: int, out: int, valid: int) -> int:
    """Values with so many digits behind the point, 16 bytes each. How many are left, each marked by a 2 in `valid`.

    `scaled`: 1 of decimals, which have a scale of their own before the number.
    """
    left = 0
    head = _SCALE_BYTES * scaled
    for row in range(rows):
        have, at = get_offset(length, row), data + get_offset(off, row)
        mark = 0
        if have > 0:
            shift = digits - (read_signed(at, _SCALE_BYTES) if scaled and have > head else 0)
            mark = 2
            if head < have <= head + WIDTH and _put_scaled(at + head, have - head, shift, out, row):
                mark = 1
            left += mark >> 1
        if mark != 1:
            put(out, 2 * row, 0)
            put(out, 2 * row + 1, 0)
        store(valid + row, mark)
    return left
