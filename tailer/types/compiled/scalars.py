"""JSON of text, blob, uuid, inet and decimal, compiled: see `tailer.types.scalars` and `tailer.types.integers`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tailer.jit.decorators import compiled
from tailer.jit.memory import load, store
from tailer.types.compiled.digits import (
    LEFT,
    digit_count,
    magnitude,
    put_copy,
    put_hex,
    put_number,
    put_unsigned,
    put_uuid,
    read_signed,
)
from tailer.types.texts import MARKER

_QUOTE: Final = 0x22
_BACKSLASH: Final = 0x5C


def _escapes() -> npt.NDArray[np.uint8]:
    """By byte: 0 as it is, 1 `\\u00XX`, 2 beyond ASCII, else the letter behind a backslash."""
    table = np.zeros(256, np.uint8)
    table[:0x20] = 1
    table[0x80:] = 2
    for byte, letter in zip(b'\b\f\n\r\t"\\', b'bfnrt"\\', strict=True):
        table[byte] = letter
    return table


_ESCAPES: Final = _escapes()
_MARKER: Final = np.frombuffer(MARKER.encode(), np.uint8)
_UPPER_HEX: Final = np.frombuffer(b"0123456789ABCDEF", np.uint8)


@compiled
def put_text(pos: int, off: int, length: int, is_ascii: bool) -> int:
    """A string. Bytes that are no UTF-8 (no ASCII) are LEFT: what the server accepts of them is for `types.texts`."""
    store(pos, _QUOTE)
    pos += 1
    odd = 0
    for at in range(off, off + length):
        odd |= _ESCAPES[load(at)]
    if odd == 0:
        pos = put_copy(pos, off, length)
    else:
        pos = _put_escaped(pos, off, off + length, is_ascii)
        if pos < 0:
            return LEFT
    store(pos, _QUOTE)
    return pos + 1


@compiled
def put_key_text(pos: int, off: int, length: int) -> int:
    """The text of a key. One that does not stand for itself is LEFT (`types.texts`)."""
    return LEFT if _begins_with_marker(off, length) else put_text(pos, off, length, False)


@compiled
def _begins_with_marker(off: int, length: int) -> bool:
    if length < len(_MARKER):
        return False
    for at in range(len(_MARKER)):
        if load(off + at) != _MARKER[at]:
            return False
    return True


@compiled
def _put_escaped(pos: int, at: int, end: int, is_ascii: bool) -> int:
    while at < end:
        byte = load(at)
        escape = np.int64(_ESCAPES[byte])
        size = 1
        if escape == 0:
            store(pos, byte)
            pos += 1
        elif escape == 1:
            pos = _put_control(pos, byte)
        elif escape == 2:
            size = _letter_size(at, end)
            if size == 0 or is_ascii:
                return LEFT
            pos = put_copy(pos, at, size)
        else:
            store(pos, _BACKSLASH)
            store(pos + 1, escape)
            pos += 2
        at += size
    return pos


@compiled
def _put_control(pos: int, byte: int) -> int:
    store(pos, _BACKSLASH)
    store(pos + 1, 0x75)
    store(pos + 2, 0x30)
    store(pos + 3, 0x30)
    store(pos + 4, _UPPER_HEX[byte >> 4])
    store(pos + 5, _UPPER_HEX[byte & 15])
    return pos + 6


@compiled
def _letter_size(at: int, end: int) -> int:
    """The bytes of the letter beyond ASCII at `at`; 0 if they are no UTF-8 (RFC 3629: shortest form, no surrogates)."""
    first = load(at)
    if 0xC2 <= first < 0xE0:
        size = 2
    elif 0xE0 <= first < 0xF0:
        size = 3
    elif 0xF0 <= first < 0xF5:
        size = 4
    else:
        return 0
    if at + size > end:
        return 0
    for more in range(1, size):
        if load(at + more) & 0xC0 != 0x80:
            return 0
    second = load(at + 1)
    too_long = (first == 0xE0 and second < 0xA0) or (first == 0xF0 and second < 0x90)
    beyond = (first == 0xED and second >= 0xA0) or (first == 0xF4 and second >= 0x90)
    return 0 if too_long or beyond else size


@compiled
def put_blob(pos: int, off: int, length: int) -> int:
    """`"0x…"`."""
    store(pos, _QUOTE)
    store(pos + 1, 0x30)
    store(pos + 2, 0x78)
    pos = put_hex(pos + 3, off, length)
    store(pos, _QUOTE)
    return pos + 1


@compiled
def put_quoted_uuid(pos: int, off: int) -> int:
    """Sixteen bytes."""
    store(pos, _QUOTE)
    pos = put_uuid(pos + 1, off)
    store(pos, _QUOTE)
    return pos + 1


@compiled
def put_inet(pos: int, off: int, length: int) -> int:
    """Four or sixteen bytes, an IPv4 address inside sixteen as IPv4; other lengths are LEFT."""
    if length != 4 and length != 16:
        return LEFT
    store(pos, _QUOTE)
    pos += 1
    if length == 16 and not _is_mapped(off):
        for group in range(8):
            if group:
                store(pos, 0x3A)
                pos += 1
            pos = _put_group(pos, load(off + 2 * group) << 8 | load(off + 2 * group + 1))
    else:
        for at in range(off + length - 4, off + length):
            if at > off + length - 4:
                store(pos, 0x2E)
                pos += 1
            pos = put_number(pos, load(at))
    store(pos, _QUOTE)
    return pos + 1


@compiled
def put_key_inet(pos: int, off: int, length: int) -> int:
    """The same of a key: an IPv4 address inside sixteen is LEFT, for it is another key than by itself."""
    if length == 16 and _is_mapped(off):
        return LEFT
    return put_inet(pos, off, length)


@compiled
def _is_mapped(off: int) -> bool:
    for at in range(10):
        if load(off + at) != 0:
            return False
    return bool(load(off + 10) == 0xFF and load(off + 11) == 0xFF)


@compiled
def _put_group(pos: int, group: int) -> int:
    shift = 12
    while shift and not group >> shift:
        shift -= 4
    while shift >= 0:
        digit = (group >> shift) & 15
        store(pos, 0x30 + digit if digit < 10 else 0x57 + digit)
        pos += 1
        shift -= 4
    return pos


@compiled
def put_decimal(pos: int, off: int, length: int) -> int:
    """32-bit scale and unscaled number, as `BigDecimal.toString` has it; an unscaled one beyond 64 bits is LEFT."""
    if length < 5 or length > 12:
        return LEFT
    scale = read_signed(off, 4)
    unscaled = read_signed(off + 4, length - 4)
    if unscaled < 0:
        store(pos, 0x2D)
        pos += 1
    size = magnitude(unscaled)
    count = digit_count(size)
    exponent = count - 1 - scale
    if scale == 0:
        return put_unsigned(pos, size, count)
    if scale > 0 and exponent >= -6:
        return _put_fixed(pos, size, count, scale)
    end = put_unsigned(pos + 1, size, count)
    store(pos, load(pos + 1))
    if count > 1:
        store(pos + 1, 0x2E)
    else:
        end -= 1
    store(end, 0x45)
    end += 1
    if exponent >= 0:
        store(end, 0x2B)
        end += 1
    return put_number(end, exponent)


@compiled
def _put_fixed(pos: int, size: Any, count: int, scale: int) -> int:
    point = count - scale
    if point > 0:
        end = put_unsigned(pos + 1, size, count)
        for at in range(pos, pos + point):
            store(at, load(at + 1))
        store(pos + point, 0x2E)
        return end
    store(pos, 0x30)
    store(pos + 1, 0x2E)
    pos += 2
    for _ in range(-point):
        store(pos, 0x30)
        pos += 1
    return put_unsigned(pos, size, count)
