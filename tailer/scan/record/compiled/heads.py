"""Values of msgpack, compiled: the twin of `scan.record.heads`. Reads nothing beyond the end of the entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from tailer.jit.decorators import compiled
from tailer.jit.words import byte, get, half_word, put, word
from tailer.limits import RECORD_DEPTH_MAX
from tailer.scan.compiled import block as b
from tailer.scan.compiled.block import fail, fail_length
from tailer.scan.index import NULL_LENGTH
from tailer.scan.record.compiled import state as s
from tailer.scan.record.heads import FALSE, NIL, TRUE

_signed: Any = np.int64


@compiled
def _read_number(base: int, at: int, width: int) -> int:
    """A number of 1, 2, 4 or 8 bytes; of 8 with the bits of the unsigned one."""
    if width == 1:
        return byte(base, at)
    if width == 2:
        return byte(base, at) << 8 | byte(base, at + 1)
    if width == 4:
        return _signed(half_word(base, at))
    return _signed(word(base, at))


@compiled
def _read_wide(walk: int, base: int, at: int, rest: int) -> tuple[int, int]:
    """An integer that is not its own head; `rest`: bytes of the entry behind that."""
    head = byte(base, at)
    if head >= 0xE0:
        return head - 256, at + 1
    if head < 0xCC or head > 0xD3:
        return 0, fail(walk, b.WRONG_TYPE, at, head)
    width = 1 << (head & 3)
    if width > rest:
        return 0, fail(walk, b.TRUNCATED, at, width)
    value = _read_number(base, at + 1, width)
    if head >= 0xD0:
        shift = 64 - 8 * width
        value = value << shift >> shift
    elif value < 0:
        return 0, fail_length(walk, b.BAD_VALUE, at, value)
    return value, at + 1 + width


@compiled
def read_int(walk: int, base: int, at: int) -> tuple[int, int]:
    """An integer, and the offset behind it."""
    end = get(walk, b.END)
    if at >= end:
        return 0, fail(walk, b.TRUNCATED, at, 0)
    head = byte(base, at)
    if head < 0x80:
        return head, at + 1
    return _read_wide(walk, base, at, end - at - 1)


@compiled
def _read_length(walk: int, base: int, at: int, width: int, more: int) -> tuple[int, int]:
    """Where what follows lies, or FAILED, and its length: a number of `width` bytes, and `more`."""
    end = get(walk, b.END)
    if width > end - at - 1:
        return fail(walk, b.TRUNCATED, at, width), 0
    length, off = _read_number(base, at + 1, width) + more, at + 1 + width
    if length > end - off:
        return fail(walk, b.TRUNCATED, at, length), 0
    return off, length


@compiled
def read_bytes(walk: int, base: int, at: int) -> tuple[int, int]:
    """Where bytes lie, or FAILED, and how many."""
    if at >= get(walk, b.END):
        return fail(walk, b.TRUNCATED, at, 0), 0
    head = byte(base, at)
    if head < 0xC4 or head > 0xC6:
        return fail(walk, b.WRONG_TYPE, at, head), 0
    return _read_length(walk, base, at, 1 << (head - 0xC4), 0)


@compiled
def read_bytes_or_nil(walk: int, base: int, at: int) -> tuple[int, int]:
    """The same; NULL_LENGTH for nil, and the offset behind that."""
    if at < get(walk, b.END) and byte(base, at) == NIL:
        return at + 1, NULL_LENGTH
    return read_bytes(walk, base, at)


@compiled
def _read_count(walk: int, base: int, at: int, width: int) -> tuple[int, int]:
    """A count of `width` bytes, and the offset behind it or FAILED."""
    if width > get(walk, b.END) - at - 1:
        return 0, fail(walk, b.TRUNCATED, at, width)
    return _read_number(base, at + 1, width), at + 1 + width


@compiled
def read_array(walk: int, base: int, at: int, least: int) -> tuple[int, int]:
    """How many elements an array has, `least` or more, and the offset of the first or FAILED."""
    end = get(walk, b.END)
    if at >= end:
        return 0, fail(walk, b.TRUNCATED, at, 0)
    head = byte(base, at)
    count, first = head & 0x0F, at + 1
    if head & 0xF0 != 0x90:
        if head != 0xDC and head != 0xDD:
            return 0, fail(walk, b.WRONG_TYPE, at, head)
        count, first = _read_count(walk, base, at, 2 if head == 0xDC else 4)
        if first == b.FAILED:
            return 0, b.FAILED
    if count > end - first:
        return 0, fail(walk, b.TRUNCATED, at, count)
    if count < least:
        return 0, fail(walk, b.BAD_VALUE, at, count)
    return count, first


@compiled
def read_bool(walk: int, base: int, at: int) -> tuple[int, int]:
    """0 or 1, and the offset behind it."""
    if at >= get(walk, b.END):
        return 0, fail(walk, b.TRUNCATED, at, 0)
    head = byte(base, at)
    if head != FALSE and head != TRUE:
        return 0, fail(walk, b.WRONG_TYPE, at, head)
    return head - FALSE, at + 1


@compiled
def is_nil(walk: int, base: int, at: int) -> bool:
    """Whether nil stands there."""
    return at < get(walk, b.END) and byte(base, at) == NIL


@compiled
def _parts_of_map(walk: int, base: int, at: int, head: int) -> tuple[int, int]:
    pairs, first = head & 0x0F, at + 1
    if head >= 0x90:
        pairs, first = _read_count(walk, base, at, 2 if head == 0xDE else 4)
        if first == b.FAILED:
            return 0, b.FAILED
    if 2 * pairs > get(walk, b.END) - first:
        return 0, fail(walk, b.TRUNCATED, at, pairs)
    return 2 * pairs, first


@compiled
def _fixed_size(head: int) -> int:
    """Bytes behind a head of constant size, -1 where a length follows."""
    if head < 0xC0:
        return head & 0x1F
    if head <= 0xC3:
        return 0
    if head == 0xCA or head == 0xCB:
        return 4 << (head - 0xCA)
    if 0xCC <= head <= 0xD3:
        return 1 << (head & 3)
    if 0xD4 <= head <= 0xD8:
        return (1 << (head - 0xD4)) + 1
    return -1


@compiled
def _parts(walk: int, base: int, at: int) -> tuple[int, int]:
    """How many values one holds, and the offset behind it, of the first of those, or FAILED."""
    end = get(walk, b.END)
    if at >= end:
        return 0, fail(walk, b.TRUNCATED, at, 0)
    head = byte(base, at)
    if head < 0x80 or head >= 0xE0:
        return 0, at + 1
    if head < 0x90 or head >= 0xDE:
        return _parts_of_map(walk, base, at, head)
    if head < 0xA0 or head == 0xDC or head == 0xDD:
        return read_array(walk, base, at, 0)
    if head == 0xC1:
        return 0, fail(walk, b.WRONG_TYPE, at, head)
    size = _fixed_size(head)
    if size >= 0:
        return 0, fail(walk, b.TRUNCATED, at, size) if size > end - at - 1 else at + 1 + size
    # Bytes C4 to C6, extensions C7 to C9 with a byte that is not counted, texts D9 to DB.
    kind = head - 0xD9 if head >= 0xD9 else (head - 0xC4) % 3
    off, length = _read_length(walk, base, at, 1 << kind, 1 if 0xC7 <= head <= 0xC9 else 0)
    return 0, b.FAILED if off == b.FAILED else off + length


@compiled
def _skip_many(walk: int, base: int, at: int, count: int) -> int:
    left = walk + 8 * s.STACK
    depth = 0
    put(left, 0, count)
    while depth >= 0:
        if get(left, depth) == 0:
            depth -= 1
            continue
        put(left, depth, get(left, depth) - 1)
        inside, behind = _parts(walk, base, at)
        if behind == b.FAILED:
            return b.FAILED
        if inside:
            if depth >= RECORD_DEPTH_MAX:
                return fail(walk, b.TOO_DEEP, at, RECORD_DEPTH_MAX)
            depth += 1
            put(left, depth, inside)
        at = behind
    return at


@compiled
def skip(walk: int, base: int, at: int, count: int) -> int:
    """The offset behind so many values of any kind."""
    return at if count == 0 else _skip_many(walk, base, at, count)
