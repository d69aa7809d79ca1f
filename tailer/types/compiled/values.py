"""JSON of any value, compiled: the types of `tailer.types.compiled.plan` walked over a value's bytes."""

from __future__ import annotations

from typing import Any, Final

from tailer.jit.decorators import callback, compiled, recursive
from tailer.jit.memory import call, load, store
from tailer.jit.words import get
from tailer.types import printed as k
from tailer.types.compiled import plan as p
from tailer.types.compiled.counters import put_counter
from tailer.types.compiled.digits import LEFT, NO_ROOM, literal, put, put_copy, put_number, read_signed
from tailer.types.compiled.floats import put_double, put_float
from tailer.types.compiled.scalars import (
    put_blob,
    put_decimal,
    put_inet,
    put_key_inet,
    put_key_text,
    put_quoted_uuid,
    put_text,
)
from tailer.types.compiled.times import (
    put_date,
    put_duration,
    put_key_time,
    put_time,
    put_timestamp,
    read_vint,
    vint_size,
)

_ROOM: Final = 160
"""The most that a value of fixed size, or what stands between two values, takes."""

_ROOM_PER_BYTE: Final = 6
"""The most that a byte of a text takes; of everything else it is less."""

_NULL: Final = literal(b"null")
_TRUE: Final = literal(b"true")
_FALSE: Final = literal(b"false")
_EMPTY: Final = literal(b'""')

NULL_PART: Final = -1
BAD_PART: Final = -2


@compiled
def put_null(pos: int) -> int:
    """`null`."""
    return put(pos, _NULL)


@compiled
def _put_scalar(pos: int, kind: int, size: int, off: int, length: int) -> int:
    if kind == k.TEXT or kind == k.ASCII:
        return put_text(pos, off, length, kind == k.ASCII)
    if kind == k.KEY_TEXT:
        return put_key_text(pos, off, length)
    if kind == k.BLOB or (kind == k.CUSTOM and length):
        return put_blob(pos, off, length)
    if length == 0:
        return put(pos, _EMPTY)
    if kind == k.INTEGER:
        return put_number(pos, read_signed(off, size)) if length == size else LEFT
    if kind == k.BOOLEAN:
        if length != 1:
            return LEFT
        return put(pos, _TRUE) if load(off) else put(pos, _FALSE)
    if length == 8:
        if kind == k.DOUBLE:
            return put_double(pos, off)
        if kind == k.TIMESTAMP:
            return put_timestamp(pos, off)
        if kind == k.TIME:
            return put_time(pos, off)
        if kind == k.KEY_TIME:
            return put_key_time(pos, off)
    if kind == k.UUID:
        return put_quoted_uuid(pos, off) if length == 16 else LEFT
    return _put_rarer(pos, kind, off, length)


@compiled
def _put_rarer(pos: int, kind: int, off: int, length: int) -> int:
    if kind == k.FLOAT and length == 4:
        return put_float(pos, off)
    if kind == k.DATE and length == 4:
        return put_date(pos, off)
    if kind == k.VARINT and length <= 8:
        return put_number(pos, read_signed(off, length))
    if kind == k.DECIMAL:
        return put_decimal(pos, off, length)
    if kind == k.DURATION:
        return put_duration(pos, off, length)
    if kind == k.INET:
        return put_inet(pos, off, length)
    if kind == k.KEY_INET:
        return put_key_inet(pos, off, length)
    if kind == k.COUNTER:
        return put_counter(pos, off, length)
    return LEFT


@compiled
def _put_between(pos: int, limit: int, part: int, number: int, is_element: bool) -> int:
    """What stands before a part: the sign behind the one before, and a field's name; NO_ROOM."""
    if number:
        store(pos, 0x3A if is_element else 0x2C)
        pos += 1
    return put_label(pos, limit, get(part, p.LABEL), get(part, p.LABEL_LENGTH))


@compiled
def put_label(pos: int, limit: int, label: int, length: int) -> int:
    """A name with its colon, and room behind it for what is no value; NO_ROOM."""
    if pos + _ROOM + length > limit:
        return NO_ROOM
    return put_copy(pos, label, length)


@compiled
def _part_of(kind: int, number: int) -> int:
    if kind == k.TUPLE or kind == k.UDT:
        return number
    return number & 1 if kind == k.MAP else 0


@compiled
def _part_count(type_: int, at: int, length: int) -> Any:
    """How many parts are printed, a map's keys and values each for one, and where they begin; -1 if that cannot be."""
    kind, count = get(type_, p.KIND), get(type_, p.COUNT)
    if kind == k.DENSE_VECTOR:
        return (count if count * get(type_, p.SIZE) == length else -1), at
    if kind == k.VECTOR:
        return (count if count <= length else -1), at
    if kind == k.TUPLE or kind == k.UDT:
        return count, at
    if length == 0:
        return 0, at
    if length < 4:
        return -1, at
    count = max(read_signed(at, 4), 0) * (2 if kind == k.MAP else 1)
    return (count if count * 4 <= length - 4 else -1), at + 4


@compiled
def _next_part(type_: int, at: int, end: int) -> Any:
    """Where the part at `at` begins and its length; NULL_PART, also for those missing at the end, or BAD_PART."""
    kind = get(type_, p.KIND)
    if kind == k.DENSE_VECTOR:
        return at, get(type_, p.SIZE)
    if kind == k.VECTOR:
        head = vint_size(at, end)
        size = read_vint(at, head) if head else -1
        return at + head, (size if 0 <= size <= end - at - head else BAD_PART)
    if at >= end and (kind == k.TUPLE or kind == k.UDT):
        return at, NULL_PART
    if at + 4 > end:
        return at, BAD_PART
    size = read_signed(at, 4)
    if size > end - at - 4:
        return at, BAD_PART
    return at + 4, (size if size >= 0 else NULL_PART)


@compiled
def as_key(begun: int, end: int) -> int:
    """Puts the text from `begun` on in quotes if it is no string. One with anything to escape is LEFT."""
    if load(begun) == 0x22:
        return end
    at = end
    while at > begun:
        letter = load(at - 1)
        if letter == 0x22 or letter == 0x5C:
            return LEFT
        store(at, letter)
        at -= 1
    store(begun, 0x22)
    store(end + 1, 0x22)
    return end + 2


@recursive
def _put_value(pos: int, limit: int, type_: int, at: int, length: int) -> int:
    """The value of the type laid out at `type_` in the `length` bytes from `at` on; NO_ROOM before `limit`, or LEFT."""
    if pos + _ROOM + _ROOM_PER_BYTE * length > limit:
        return NO_ROOM
    kind = get(type_, p.KIND)
    if kind < k.ARRAY or (length == 0 and kind >= k.DENSE_VECTOR):
        return _put_scalar(pos, kind, get(type_, p.SIZE), at, length)
    end = at + length
    count, at = _part_count(type_, at, length)
    if count < 0:
        return LEFT
    is_map = kind == k.MAP
    store(pos, 0x7B if is_map or kind == k.UDT else 0x5B)
    pos += 1
    for number in range(count):
        is_key = is_map and not number & 1
        part = type_ + p.PARTS_BYTES + p.PART_BYTES * _part_of(kind, number)
        pos = _put_between(pos, limit, part, number, is_map and not is_key)
        start, size = _next_part(type_, at, end)
        if pos < 0 or size == BAD_PART:
            return NO_ROOM if pos < 0 else LEFT
        at = start + max(size, 0)
        begun = pos
        pos = put_null(pos) if size == NULL_PART else _put_value(pos, limit, get(part, p.PART), start, size)
        if is_key and pos >= 0:
            pos = as_key(begun, pos)
        if pos < 0:
            return pos
    if at != end:
        return LEFT
    store(pos, 0x7D if is_map or kind == k.UDT else 0x5D)
    return pos + 1


@callback
def write_value(pos: int, limit: int, type_: int, at: int, length: int) -> int:
    """The value of the type laid out at `type_` in the `length` bytes from `at` on; NO_ROOM or LEFT."""
    return _put_value(pos, limit, type_, at, length)


@compiled
def put_value(writer: int, pos: int, limit: int, type_: int, at: int, length: int) -> int:
    """See `write_value`, whose address `writer` is."""
    return call(writer, pos, limit, type_, at, length)


@compiled
def put_part(writer: int, pos: int, limit: int, type_: int, at: int, length: int) -> int:
    """The same for one of many small values: the most common ones without the call."""
    if pos + _ROOM + _ROOM_PER_BYTE * length <= limit:
        kind = get(type_, p.KIND)
        if kind == k.INTEGER and length == get(type_, p.SIZE):
            return put_number(pos, read_signed(at, length))
        if kind == k.TEXT:
            return put_text(pos, at, length, False)
        if kind == k.KEY_TEXT:
            return put_key_text(pos, at, length)
    return call(writer, pos, limit, type_, at, length)


@compiled
def put_key(writer: int, pos: int, limit: int, type_: int, at: int, length: int) -> int:
    """A value that is a map's key: its text if that is a string, else its text in quotes; NO_ROOM or LEFT."""
    end = put_part(writer, pos, limit, type_, at, length)
    return end if end < 0 else as_key(pos, end)
