"""Texts of many rows at once, compiled: JSON lines, event ids, texts picked from others. Knows the rows' arrays."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tailer.jit.addresses import address_of
from tailer.jit.decorators import compiled, entry_point
from tailer.jit.memory import get_offset, give_offset, load
from tailer.jit.words import get
from tailer.rows.generic.compiled import arrays as a
from tailer.rows.generic.compiled.arrays import Rows, Texts, text_bytes
from tailer.types.compiled.digits import literal, put, put_copy, put_number
from tailer.types.compiled.plan import Bytes, Numbers

_CLUSTERING_NAME: Final = literal(b',"clustering":')
_STATIC: Final = literal(b',"is_static":true,"columns":')
_NOT_STATIC: Final = literal(b',"is_static":false,"columns":')
_RANGE_NAME: Final = literal(b',"range":')
_WRITE_TS: Final = literal(b',"write_ts":')
_TTL: Final = literal(b',"ttl":')
_EXPIRES_AT: Final = literal(b',"expires_at":')
_CELLS_NAME: Final = literal(b',"cells":')
_TOKEN: Final = literal(b',"token":')
_OFFSET: Final = literal(b',"offset":')
_ROW: Final = literal(b',"row":')
_COLON: Final = literal(b":")
_ATTRS_NAME: Final = literal(b',"attrs":')
_END: Final = literal(b"}\n")
_NULL: Final = literal(b"null")

_LINE_ROOM: Final = 512
"""More than the numbers and names of a line take that are not in its texts, its head and the frame."""

_EVENT_ROOM: Final = 41
"""The most that offset and row number of an event id take."""

# The block that `_put_lines` works on. Of texts: addresses of the offsets, the marks and the bytes.
_OUT: Final = 0
_COUNT: Final = 1
_FIXED: Final = 2
_FIXED_ROOM: Final = 3
_HEAD: Final = 4
_SEGMENT: Final = 5
_SEGMENT_LENGTH: Final = 6
_EVENT: Final = 7
_EVENT_LENGTH: Final = 8
_TXN: Final = 9
_TXN_LENGTH: Final = 10
_HEADS: Final = 11
_KEY: Final = 14
_CLUSTERING: Final = 17
_COLUMNS: Final = 20
_CELLS: Final = 23
_RANGE: Final = 26
_ATTRS: Final = 29
_SIZE: Final = 32


class Frame(NamedTuple):
    """What many lines have in common.

    `heads`: what a line begins with, up to the partition key, by `head` of each row. `segment`: `,"segment":…`;
    `event`: `,"event_id":"` and the id up to the entry's offset; `txn`: the end of that and `,"txn":…`.
    """

    head: Numbers
    heads: Texts
    segment: Bytes
    event: Bytes
    txn: Bytes


@compiled
def _put_text(work: int, texts: int, row: int, pos: int) -> int:
    if not load(get(work, texts + 1) + row):
        return put(pos, _NULL)
    offsets = get(work, texts)
    begin = get_offset(offsets, row)
    return put_copy(pos, get(work, texts + 2) + begin, get_offset(offsets, row + 1) - begin)


@compiled
def _put_number(pos: int, number: int, valid: int) -> int:
    return put_number(pos, number) if valid else put(pos, _NULL)


@entry_point
def put_lines(work: int) -> int:
    """The lines of a block; how many bytes they have."""
    begun = pos = get(work, _OUT)
    fixed, room = get(work, _FIXED), 8 * get(work, _FIXED_ROOM)
    for row in range(get(work, _COUNT)):
        pos = _put_text(work, _HEADS, get(get(work, _HEAD), row), pos)
        pos = _put_text(work, _KEY, row, pos)
        pos = _put_text(work, _CLUSTERING, row, put(pos, _CLUSTERING_NAME))
        pos = put(pos, _STATIC) if get(fixed + room * a.IS_STATIC, row) else put(pos, _NOT_STATIC)
        pos = _put_text(work, _COLUMNS, row, pos)
        pos = _put_text(work, _RANGE, row, put(pos, _RANGE_NAME))
        pos = put_number(put(pos, _WRITE_TS), get(fixed + room * a.WRITE_TS, row))
        has_ttl = get(fixed + room * a.HAS_ROW_TTL, row)
        pos = _put_number(put(pos, _TTL), get(fixed + room * a.TTL, row), has_ttl)
        pos = _put_number(put(pos, _EXPIRES_AT), get(fixed + room * a.EXPIRES_AT, row), has_ttl)
        pos = _put_text(work, _CELLS, row, put(pos, _CELLS_NAME))
        pos = _put_number(put(pos, _TOKEN), get(fixed + room * a.TOKEN, row), get(fixed + room * a.HAS_TOKEN, row))
        pos = put_copy(pos, get(work, _SEGMENT), get(work, _SEGMENT_LENGTH))
        offset, number = get(fixed + room * a.OFFSET, row), get(fixed + room * a.NUMBER, row)
        pos = put_number(put(put_number(put(pos, _OFFSET), offset), _ROW), number)
        pos = put_copy(pos, get(work, _EVENT), get(work, _EVENT_LENGTH))
        pos = put_number(put(put_number(pos, offset), _COLON), number)
        pos = put_copy(pos, get(work, _TXN), get(work, _TXN_LENGTH))
        pos = put(_put_text(work, _ATTRS, row, put(pos, _ATTRS_NAME)), _END)
    return pos - begun


def json_lines(rows: Rows, attrs: Texts, frame: Frame) -> bytes:
    """The rows as JSON lines."""
    count = rows.fixed.shape[1]
    heads = frame.heads.offsets[1:] - frame.heads.offsets[:-1]
    room = sum(map(text_bytes, (*rows[1:], attrs))) + int(heads[frame.head].sum())
    out = np.empty(room + count * (_LINE_ROOM + len(frame.segment) + len(frame.event) + len(frame.txn)), np.uint8)
    # A line of `fixed` may be longer than there are rows: this is a part of larger arrays then.
    fixed_room = rows.fixed.strides[0] // rows.fixed.itemsize
    block = [address_of(out), count, address_of(rows.fixed), fixed_room, address_of(frame.head)]
    for text in (frame.segment, frame.event, frame.txn):
        block += (address_of(text), len(text))
    for texts in (frame.heads, *rows[1:], attrs):
        block += (address_of(texts.offsets), address_of(texts.valid), address_of(texts.data))
    numbers = np.array(block, np.int64)
    return out[: put_lines(address_of(numbers))].tobytes()


def event_ids(offset: Numbers, number: Numbers, head: bytes) -> Texts:
    """The event ids of rows, which all begin with `head`."""
    count = len(offset)
    offsets = np.empty(count + 1, np.int32)
    out = np.empty(count * (len(head) + _EVENT_ROOM), np.uint8)
    begin = np.frombuffer(head, np.uint8)
    where = address_of(out), address_of(offsets), address_of(offset), address_of(number)
    end = put_events(*where, count, address_of(begin), len(head))
    return Texts(offsets, out[:end], np.ones(count, np.bool_))


@entry_point
def put_events(out: int, offsets: int, offset: int, number: int, count: int, head: int, length: int) -> int:
    """The event ids end to end; how many bytes they have."""
    pos = out
    for row in range(count):
        give_offset(offsets, row, pos - out)
        pos = put_number(put_copy(pos, head, length), get(offset, row))
        pos = put_number(put(pos, _COLON), get(number, row))
    give_offset(offsets, count, pos - out)
    return pos - out


def picked(texts: Texts, numbers: Numbers) -> Texts:
    """The texts with those numbers."""
    sizes = texts.offsets[1:] - texts.offsets[:-1]
    out = np.empty(int(sizes[numbers].sum()), np.uint8)
    offsets = np.empty(len(numbers) + 1, np.int32)
    where = address_of(out), address_of(offsets), address_of(texts.data), address_of(texts.offsets)
    put_picked(*where, address_of(numbers), len(numbers))
    return Texts(offsets, out, texts.valid[numbers])


@entry_point
def put_picked(out: int, offsets: int, source: int, source_offsets: int, numbers: int, count: int) -> int:
    """The texts with those numbers end to end; how many bytes they have."""
    pos = out
    for row in range(count):
        give_offset(offsets, row, pos - out)
        number = get(numbers, row)
        begin = get_offset(source_offsets, number)
        pos = put_copy(pos, source + begin, get_offset(source_offsets, number + 1) - begin)
    give_offset(offsets, count, pos - out)
    return pos - out
