"""The smallest parts of a JSON text, written into a buffer: literals, decimal and hex digits. Knows no type.

All places are addresses. Every function that writes takes where to write, and returns where the text ends. None checks
for room: whoever calls has seen to it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tailer.jit.decorators import compiled
from tailer.jit.memory import copy, load, store
from tailer.types.compiled.runs import copy_run

Bytes = npt.NDArray[np.uint8]

NO_ROOM: Final = -1
"""In place of an end: the buffer is too short."""

LEFT: Final = -2
"""In place of an end: left to the plain functions."""

_PAIRS: Final = np.frombuffer(b"".join(b"%02d" % number for number in range(100)), np.uint8)
_HEX: Final = np.frombuffer(b"".join(b"%02x" % number for number in range(256)), np.uint8)
_POWERS: Final = np.array([10**power for power in range(20)], np.uint64)

_SHORT: Final = 32
"""Bytes that are sooner copied than the function is called that copies more."""

_ZERO: Final = 0x30
_DASH: Final = 0x2D
_U1: Final = np.uint64(1)
_U10: Final = np.uint64(10)
_U100: Final = np.uint64(100)


def literal(text: bytes) -> Bytes:
    """A constant for `put`."""
    return np.frombuffer(text, np.uint8)


@compiled
def put(pos: int, text: Any) -> int:
    """A literal."""
    for at in range(len(text)):
        store(pos + at, text[at])
    return pos + len(text)


@compiled
def put_copy(pos: int, source: int, length: int) -> int:
    """Bytes as they are, from an address."""
    if length <= _SHORT:
        copy_run(pos, source, length)
    else:
        copy(pos, source, length)
    return pos + length


@compiled
def digit_count(number: Any) -> int:
    """Decimal digits of an unsigned 64-bit number, 1 of zero."""
    count = 1
    while count < 20 and number >= _POWERS[count]:
        count += 1
    return count


@compiled
def put_unsigned(pos: int, number: Any, count: int) -> int:
    """The last `count` decimal digits of an unsigned 64-bit number."""
    end = pos + count
    at = end
    while at - pos >= 2:
        rest = number // _U100
        pair = np.int64(number - rest * _U100) * 2
        at -= 2
        store(at, _PAIRS[pair])
        store(at + 1, _PAIRS[pair + 1])
        number = rest
    if at > pos:
        store(pos, _ZERO + np.int64(number % _U10))
    return end


@compiled
def magnitude(number: int) -> Any:
    """The absolute value of a signed 64-bit number, unsigned."""
    return np.uint64(number) if number >= 0 else np.uint64(-(number + 1)) + _U1


@compiled
def put_number(pos: int, number: int) -> int:
    """A signed 64-bit number."""
    if number < 0:
        store(pos, 0x2D)
        pos += 1
    size = magnitude(number)
    return put_unsigned(pos, size, digit_count(size))


@compiled
def put_padded(pos: int, number: int, width: int) -> int:
    """The last `width` digits of a number that is not negative."""
    return put_unsigned(pos, np.uint64(number), width)


@compiled
def put_hex(pos: int, off: int, length: int) -> int:
    """Two lower-case digits a byte."""
    for at in range(length):
        pair = load(off + at) * 2
        store(pos + 2 * at, _HEX[pair])
        store(pos + 2 * at + 1, _HEX[pair + 1])
    return pos + 2 * length


@compiled
def put_uuid(pos: int, off: int) -> int:
    """Sixteen bytes as a UUID's 36 letters."""
    pos = put_hex(pos, off, 4)
    for at in range(off + 4, off + 10, 2):
        store(pos, _DASH)
        pos = put_hex(pos + 1, at, 2)
    store(pos, _DASH)
    return put_hex(pos + 1, off + 10, 6)


@compiled
def read_signed(off: int, length: int) -> int:
    """The signed big-endian number in up to eight bytes, at least one."""
    number = load(off)
    if number > 127:
        number -= 256
    for at in range(1, length):
        number = (number << 8) | load(off + at)
    return number


@compiled
def read_unsigned(off: int, length: int) -> Any:
    """The unsigned big-endian number in up to eight bytes."""
    number = np.uint64(0)
    for at in range(length):
        number = (number << np.uint64(8)) | np.uint64(load(off + at))
    return number
