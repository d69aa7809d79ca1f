"""Values of msgpack, one head at a time, each checked against the end of its entry. Knows no record.

Integers come in any width, in the form of bytes that the writer likes: `bin` of 8, 16 or 32 bits of length.
"""

from __future__ import annotations

from typing import Final

from tailer.limits import RECORD_DEPTH_MAX
from tailer.scan.index import NULL_LENGTH, Status

NIL: Final = 0xC0
FALSE: Final = 0xC2
TRUE: Final = 0xC3

_MAP: Final = 0x80
_ARRAY: Final = 0x90
_TEXT: Final = 0xA0
_NEGATIVE: Final = 0xE0
_BIN_8, _BIN_32 = 0xC4, 0xC6
_UINT_8, _INT_8, _INT_64 = 0xCC, 0xD0, 0xD3
_ARRAY_16, _ARRAY_32, _MAP_16, _MAP_32 = 0xDC, 0xDD, 0xDE, 0xDF
_INT64_MAX: Final = 2**63 - 1
_NEVER_USED: Final = 0xC1

_LENGTH_BYTES: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_EXTENSIONS: Final = range(0xC7, 0xCA)
_FIXED_EXTENSIONS: Final = range(0xD4, 0xD9)
_FIXED: Final = {
    0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8,
    0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17,
}  # fmt: skip
"""Bytes behind the head of what has a constant size."""


class BadRecordError(Exception):
    """What stands at an offset is not what a record has there; for the scan alone, which makes a status of it."""

    def __init__(self, status: Status, at: int, found: int) -> None:
        super().__init__(status.name)
        self.status = status
        self.at = at
        self.found = found


def head_at(data: bytes, at: int, end: int) -> int:
    """The byte that says what follows."""
    if at >= end:
        raise BadRecordError(Status.TRUNCATED, at, 0)
    return data[at]


def read_int(data: bytes, at: int, end: int) -> tuple[int, int]:
    """An integer of 64 bits with sign, and the offset behind it."""
    head = head_at(data, at, end)
    if head < _MAP:
        return head, at + 1
    if head >= _NEGATIVE:
        return head - 256, at + 1
    if not _UINT_8 <= head <= _INT_64:
        raise BadRecordError(Status.WRONG_TYPE, at, head)
    begin = at + 1
    behind = begin + (1 << (head & 3))
    if behind > end:
        raise BadRecordError(Status.TRUNCATED, at, behind - begin)
    value = int.from_bytes(data[begin:behind], "big", signed=head >= _INT_8)
    if value > _INT64_MAX:
        raise BadRecordError(Status.BAD_VALUE, at, value)
    return value, behind


def read_bytes(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Where bytes lie, and how many; they end at the sum of both."""
    head = head_at(data, at, end)
    if not _BIN_8 <= head <= _BIN_32:
        raise BadRecordError(Status.WRONG_TYPE, at, head)
    return _read_length(data, at, end, _LENGTH_BYTES[head])


def read_bytes_or_nil(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """The same and the offset behind them; NULL_LENGTH for nil."""
    if head_at(data, at, end) == NIL:
        return at + 1, NULL_LENGTH, at + 1
    off, length = read_bytes(data, at, end)
    return off, length, off + length


def read_array(data: bytes, at: int, end: int, least: int = 0) -> tuple[int, int]:
    """How many elements an array has, `least` or more, and the offset of the first."""
    head = head_at(data, at, end)
    if head & 0xF0 == _ARRAY:
        count, first = head & 0x0F, at + 1
    elif head in (_ARRAY_16, _ARRAY_32):
        count, first = _read_number(data, at, end, 2 if head == _ARRAY_16 else 4)
    else:
        raise BadRecordError(Status.WRONG_TYPE, at, head)
    if count > end - first:
        raise BadRecordError(Status.TRUNCATED, at, count)
    if count < least:
        raise BadRecordError(Status.BAD_VALUE, at, count)
    return count, first


def read_bool(data: bytes, at: int, end: int) -> tuple[bool, int]:
    """A boolean, and the offset behind it."""
    head = head_at(data, at, end)
    if head not in (FALSE, TRUE):
        raise BadRecordError(Status.WRONG_TYPE, at, head)
    return head == TRUE, at + 1


def is_map(head: int) -> bool:
    """Whether a map begins so."""
    return head & 0xF0 == _MAP or head in (_MAP_16, _MAP_32)


def skip(data: bytes, at: int, end: int, count: int = 1) -> int:
    """The offset behind so many values of any kind. Arrays and maps in one another only up to RECORD_DEPTH_MAX."""
    left = [count]
    while left:
        if left[-1] == 0:
            left.pop()
            continue
        left[-1] -= 1
        inside, _, behind = parts(data, at, end)
        if inside:
            if len(left) > RECORD_DEPTH_MAX:
                raise BadRecordError(Status.TOO_DEEP, at, RECORD_DEPTH_MAX)
            left.append(inside)
        at = behind
    return at


def parts(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """Of any value: how many values it holds, where those or its bytes lie, and where its bytes end."""
    head = head_at(data, at, end)
    if head < _MAP or head >= _NEGATIVE:
        return 0, at + 1, at + 1
    if head < _ARRAY or head in (_MAP_16, _MAP_32):
        pairs, first = _read_pairs(data, at, end, head)
        return 2 * pairs, first, first
    if head < _TEXT or head in (_ARRAY_16, _ARRAY_32):
        count, first = read_array(data, at, end)
        return count, first, first
    if head == _NEVER_USED:
        raise BadRecordError(Status.WRONG_TYPE, at, head)
    if head < NIL or head in _FIXED:
        off, length = at + 1, head & 0x1F if head < NIL else _FIXED[head]
        if length > end - off:
            raise BadRecordError(Status.TRUNCATED, at, length)
    else:
        off, length = _read_length(data, at, end, _LENGTH_BYTES[head], int(head in _EXTENSIONS))
    # The byte that says which extension it is comes first.
    return 0, off + (head in _EXTENSIONS or head in _FIXED_EXTENSIONS), off + length


def _read_pairs(data: bytes, at: int, end: int, head: int) -> tuple[int, int]:
    if head < _ARRAY:
        pairs, first = head & 0x0F, at + 1
    else:
        pairs, first = _read_number(data, at, end, 2 if head == _MAP_16 else 4)
    if 2 * pairs > end - first:
        raise BadRecordError(Status.TRUNCATED, at, pairs)
    return pairs, first


def _read_length(data: bytes, at: int, end: int, width: int, more: int = 0) -> tuple[int, int]:
    """Where what follows lies and its length: a number of `width` bytes, and `more` that it does not count."""
    length, off = _read_number(data, at, end, width)
    length += more
    if length > end - off:
        raise BadRecordError(Status.TRUNCATED, at, length)
    return off, length


def _read_number(data: bytes, at: int, end: int, width: int) -> tuple[int, int]:
    """The number of `width` bytes behind a head, and the offset behind it."""
    behind = at + 1 + width
    if behind > end:
        raise BadRecordError(Status.TRUNCATED, at, width)
    return int.from_bytes(data[at + 1 : behind], "big"), behind
