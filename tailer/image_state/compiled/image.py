"""An image as it is kept in the outbox: an array of msgpack, as `images.encoded` makes it. Compiled."""

from __future__ import annotations

from typing import Any, Final

from tailer.image_state.compiled import work as w
from tailer.image_state.compiled.view import is_changed
from tailer.jit.decorators import compiled
from tailer.jit.memory import store
from tailer.jit.words import get
from tailer.types.compiled.digits import literal, put, put_copy, put_number

_NIL: Final = 0xC0
_FALSE: Final = 0xC2
_TRUE: Final = 0xC3
_COLON: Final = 0x3A

_INSERT: Final = literal(b"\xa6insert")
_UPSERT: Final = literal(b"\xa6upsert")
_UPDATE: Final = literal(b"\xa6update")
_DELETE: Final = literal(b"\xa6delete")

NUMBERS_ROOM: Final = 256
"""More than all parts take that are no texts."""


@compiled
def _put_big(pos: int, code: int, number: int, size: int) -> int:
    store(pos, code)
    for at in range(size):
        store(pos + 1 + at, number >> (8 * (size - 1 - at)) & 0xFF)
    return pos + 1 + size


@compiled
def put_int(pos: int, number: int) -> int:
    """A whole number in as few bytes as it needs."""
    if number >= 0:
        if number < 0x80:
            store(pos, number)
            return pos + 1
        if number < 0x100:
            return _put_big(pos, 0xCC, number, 1)
        if number < 0x10000:
            return _put_big(pos, 0xCD, number, 2)
        return _put_big(pos, 0xCE, number, 4) if number < 0x1_0000_0000 else _put_big(pos, 0xCF, number, 8)
    if number >= -0x20:
        store(pos, number & 0xFF)
        return pos + 1
    if number >= -0x80:
        return _put_big(pos, 0xD0, number, 1)
    if number >= -0x8000:
        return _put_big(pos, 0xD1, number, 2)
    return _put_big(pos, 0xD2, number, 4) if number >= -0x8000_0000 else _put_big(pos, 0xD3, number, 8)


@compiled
def _put_head(pos: int, length: int) -> int:
    """What stands before a text of that many bytes."""
    if length < 0x20:
        store(pos, 0xA0 | length)
        return pos + 1
    if length < 0x100:
        return _put_big(pos, 0xD9, length, 1)
    return _put_big(pos, 0xDA, length, 2) if length < 0x10000 else _put_big(pos, 0xDB, length, 4)


@compiled
def put_text(pos: int, at: int, length: int) -> int:
    """A text; none of no bytes."""
    if length == 0:
        store(pos, _NIL)
        return pos + 1
    return put_copy(_put_head(pos, length), at, length)


@compiled
def _put_op(pos: int, before: int, after: int) -> int:
    """What became of the row: `chain.op_of`."""
    if get(after, w.V_LIVES):
        if get(before, w.V_LIVES):
            return put(pos, _UPDATE)
        return put(pos, _INSERT) if get(before, w.V_COMPLETE) else put(pos, _UPSERT)
    return put(pos, _UPDATE) if get(after, w.V_SHOWN) else put(pos, _DELETE)


@compiled
def _put_changed(work: int, pos: int, table: int, before: int, after: int, swept: bool) -> int:
    """The names of the columns that changed."""
    count, columns = 0, get(table, w.T_REGULAR_COUNT)
    for number in range(columns):
        if is_changed(work, table, before, after, number, swept):
            count += 1
    if count < 0x10:
        store(pos, 0x90 | count)
        pos += 1
    else:
        pos = _put_big(pos, 0xDC, count, 2)
    for number in range(columns):
        if is_changed(work, table, before, after, number, swept):
            column = get(table, w.T_REGULAR) + w.COLUMN_BYTES * number
            pos = put_text(pos, get(column, w.C_LABEL) + 1, get(column, w.C_LABEL_LENGTH) - 3)
    return pos


@compiled
def _put_flag(pos: int, flag: int) -> int:
    store(pos, _TRUE if flag else _FALSE)
    return pos + 1


@compiled
def _digits_at(pos: int, offset: int, row: int) -> int:
    pos = put_number(pos, offset)
    store(pos, _COLON)
    return put_number(pos + 1, row)


@compiled
def _put_cause(work: int, pos: int, offset: int, number: int) -> int:
    """The change row that an image is of."""
    pos = put_copy(_put_head(pos, get(work, w.NAME_LENGTH)), get(work, w.NAME), get(work, w.NAME_LENGTH))
    pos = put_int(pos, get(work, w.SEGMENT))
    pos = put_int(pos, offset)
    pos = put_int(pos, number)
    # How long the id is shows when it is there: it is put where it fits, and again.
    length = get(work, w.EVENT_LENGTH)
    size = length + _digits_at(pos, offset, number) - pos
    pos = put_copy(_put_head(pos, size), get(work, w.EVENT), length)
    return _digits_at(pos, offset, number)


@compiled
def put_served_cause(work: int, pos: int, number: int) -> int:
    """That an image is of no change row, and the id of its event."""
    for _ in range(4):
        store(pos, _NIL)
        pos += 1
    length = get(work, w.EVENT_LENGTH)
    size = length + put_number(pos, number) - pos
    pos = put_copy(_put_head(pos, size), get(work, w.EVENT), length)
    return put_number(pos, number)


@compiled
def put_image(
    work: int, pos: int, table: int, token: int, keys: Any, texts: Any, swept: bool, times: Any, place: Any
) -> int:
    """The image of the row at hand; there must be room. `place`: the change row's offset and number; for the others see
    `put_what`."""
    return _put_cause(work, put_what(work, pos, table, token, keys, texts, swept, times), *place)


@compiled
def put_what(work: int, pos: int, table: int, token: int, keys: Any, texts: Any, swept: bool, times: Any) -> int:
    """What an image says but for its cause. `keys`: the texts of key and clustering; `texts`: of the row before and
    after, each with its length; `times`: write_ts, seq, seq before."""
    key, key_length, clustering, clustering_length = keys
    before, before_length, after, after_length = texts
    write_ts, seq, prev_seq = times
    was, now = get(work, w.BEFORE), get(work, w.AFTER)
    pos = put_copy(pos, get(table, w.T_HEAD), get(table, w.T_HEAD_LENGTH))
    pos = put_int(pos, token)
    pos = put_text(pos, key, key_length)
    pos = put_text(pos, clustering, clustering_length)
    store(pos, _FALSE)
    store(pos + 1, _NIL)
    pos = _put_op(pos + 2, was, now)
    pos = put_text(pos, before, before_length)
    pos = put_text(pos, after, after_length)
    pos = _put_changed(work, pos, table, was, now, swept)
    pos = put_int(pos, write_ts)
    pos = put_int(pos, seq)
    if prev_seq:
        pos = put_int(pos, prev_seq)
    else:
        store(pos, _NIL)
        pos += 1
    return _put_flag(pos, get(now, w.V_COMPLETE))
