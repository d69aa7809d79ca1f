"""Lines of JSON made of images as they wait in a state (`images.encoded`), and how many are of which table. Compiled.

The plain twin is `ImageRows.json_lines` of the objects. Knows no object and no state.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from tailer.images.image import COLUMNS, JSON_TEXTS
from tailer.jit.addresses import Numbers, address_of
from tailer.jit.decorators import compiled, entry_point
from tailer.jit.memory import load, store
from tailer.jit.words import get
from tailer.jit.words import put as give
from tailer.rows.batch import TableName
from tailer.typed_decode import msgpack_decoder
from tailer.types.compiled.digits import LEFT, literal, put, put_copy, put_number, read_signed, read_unsigned

_NULL: Final = literal(b"null")
_TRUE: Final = literal(b"true")
_FALSE: Final = literal(b"false")
_END: Final = literal(b"}\n")

_QUOTE: Final = 0x22
_BACKSLASH: Final = 0x5C
_COMMA: Final = 0x2C
_OPENS: Final = 0x5B
_CLOSES: Final = 0x5D

_HEAD: Final = 3
"""So many bytes stand before the images, and before the columns of each: of an array of msgpack."""

_TABLE_COLUMNS: Final = 3
"""The first columns name the table."""

_BEFORE: Final = COLUMNS.index("before")
_COUNT: Final = len(COLUMNS)
_NESTED: Final = sum(1 << COLUMNS.index(name) for name in JSON_TEXTS)
"""Columns whose texts are JSON, which are put as they are; of the others, those without a letter that JSON escapes."""

_NAMES: Final = tuple(f'{"{" if not at else ","}"{name}":'.encode() for at, name in enumerate(COLUMNS))
_ALL_NAMES: Final = literal(b"".join(_NAMES))
_NAME_ENDS: Final = np.cumsum([0, *map(len, _NAMES)])

_LINE_ROOM: Final = len(_ALL_NAMES) + 32 * _COUNT
"""More than a line takes beside what stands in `changed`, and its texts."""

_A_NAME: Final = 3
"""What stands in `changed` takes quotes and a comma, in place of a byte."""

# The block that `put_lines` works on: where a value is read, addresses of the lines, of where each ends, of the tables.
_AT: Final = 0
_IMAGES: Final = 1
_SHOWS_BEFORE: Final = 2
_OUT: Final = 3
_ENDS: Final = 4
_TABLES: Final = 5
_TABLES_COUNT: Final = 6
_NAMES_AT: Final = 7
_NAME_ENDS_AT: Final = 8

_A_TABLE: Final = 3
"""Numbers of each run of images of one table: the first image, where its table's names begin, and where they end."""


class Printed(NamedTuple):
    """`ends`: where the line of each image ends, with a 0 before them. `tables`: of runs of images of one table the
    number of the first, and the table."""

    lines: memoryview
    ends: Numbers
    tables: list[tuple[int, TableName]]


@compiled
def _size(at: int, length: int) -> Any:
    return np.int64(read_unsigned(at, length))


@compiled
def _put_text(work: int, pos: int, at: int, length: int, nested: int) -> int:
    """A text, as it is or in quotes; LEFT where a letter of it would be escaped."""
    give(work, _AT, at + length)
    if nested:
        return put_copy(pos, at, length)
    special = 0
    for each in range(at, at + length):
        letter = load(each)
        special |= (letter < 0x20) | (letter == _QUOTE) | (letter == _BACKSLASH)
    if special:
        return LEFT
    store(pos, _QUOTE)
    pos = put_copy(pos + 1, at, length)
    store(pos, _QUOTE)
    return pos + 1


@compiled
def _put_whole(work: int, pos: int, at: int, code: int) -> int:
    """A number of one to eight bytes behind its code: 0xCC to 0xCF without a sign, 0xD0 to 0xD3 with one."""
    length = 1 << (code & 3)
    give(work, _AT, at + 1 + length)
    return put_number(pos, _size(at + 1, length) if code < 0xD0 else read_signed(at + 1, length))


@compiled
def _put_single(work: int, pos: int, nested: int) -> int:
    """What stands next, unless it is an array; LEFT as `_put_text`."""
    at = get(work, _AT)
    code = load(at)
    if 0xA0 <= code < 0xC0:
        return _put_text(work, pos, at + 1, code & 0x1F, nested)
    if 0xD9 <= code <= 0xDB:
        length = 1 << (code - 0xD9)
        return _put_text(work, pos, at + 1 + length, _size(at + 1, length), nested)
    if 0xCC <= code <= 0xD3:
        return _put_whole(work, pos, at, code)
    give(work, _AT, at + 1)
    if code == 0xC0:
        return put(pos, _NULL)
    if code == 0xC2:
        return put(pos, _FALSE)
    if code == 0xC3:
        return put(pos, _TRUE)
    return put_number(pos, code if code < 0x80 else code - 0x100)


@compiled
def _put_value(work: int, pos: int, nested: int) -> int:
    """What stands next; LEFT as `_put_text`."""
    at = get(work, _AT)
    code = load(at)
    if not (0x90 <= code < 0xA0 or code == 0xDC):
        return _put_single(work, pos, nested)
    wide = code == 0xDC
    give(work, _AT, at + (_HEAD if wide else 1))
    store(pos, _OPENS)
    pos += 1
    for number in range(_size(at + 1, 2) if wide else code & 0xF):
        if number:
            store(pos, _COMMA)
            pos += 1
        pos = _put_single(work, pos, 0)
        if pos == LEFT:
            return LEFT
    store(pos, _CLOSES)
    return pos + 1


@compiled
def _put_column(work: int, pos: int, column: int) -> int:
    names, ends = get(work, _NAMES_AT), get(work, _NAME_ENDS_AT)
    pos = put_copy(pos, names + get(ends, column), get(ends, column + 1) - get(ends, column))
    end = _put_value(work, pos, _NESTED >> column & 1)
    return put(pos, _NULL) if column == _BEFORE and not get(work, _SHOWS_BEFORE) else end


@compiled
def _is_same(one: int, other: int, length: int) -> bool:
    for at in range(length):
        if load(one + at) != load(other + at):
            return False
    return True


@compiled
def _note_table(work: int, image: int, begin: int) -> None:
    """The names of an image's table were read from `begin` on: a run begins, unless the last one was of it."""
    count, length = get(work, _TABLES_COUNT), get(work, _AT) - begin
    if count:
        last = get(work, _TABLES) + 8 * _A_TABLE * (count - 1)
        if get(last, 2) - get(last, 1) == length and _is_same(get(last, 1), begin, length):
            return
    run = get(work, _TABLES) + 8 * _A_TABLE * count
    give(run, 0, image)
    give(run, 1, begin)
    give(run, 2, begin + length)
    give(work, _TABLES_COUNT, count + 1)


@entry_point
def put_lines(work: int) -> int:
    """The lines of the block's images: how many bytes they have; LEFT where one has what is left to the plain twin."""
    begun = pos = get(work, _OUT)
    for image in range(get(work, _IMAGES)):
        begin = get(work, _AT) + _HEAD
        give(work, _AT, begin)
        for column in range(_COUNT):
            if column == _TABLE_COLUMNS:
                _note_table(work, image, begin)
            pos = _put_column(work, pos, column)
            if pos == LEFT:
                return LEFT
        pos = put(pos, _END)
        give(get(work, _ENDS), image + 1, pos - begun)
    return pos - begun


def printed(images: memoryview, count: int, *, before: bool) -> Printed | None:
    """So many images as lines; None where they are to be printed of objects. `before`: whether that is shown."""
    data = np.frombuffer(images, np.uint8)
    out = np.empty(_A_NAME * len(data) + count * _LINE_ROOM, np.uint8)
    ends = np.zeros(count + 1, np.int64)
    tables = np.empty((count, _A_TABLE), np.int64)
    places = (address_of(out), address_of(ends), address_of(tables), 0, address_of(_ALL_NAMES), address_of(_NAME_ENDS))
    work = np.array([address_of(data), count, before, *places], np.int64)
    length = put_lines(address_of(work))
    if length == LEFT:
        return None
    runs = tables[: work[_TABLES_COUNT]]
    runs[:, 1:] -= address_of(data)
    named = [(first, _table_of(bytes(images[begin:end]))) for first, begin, end in runs.tolist()]
    return Printed(out.data[:length], ends, named)


@lru_cache(maxsize=1000)
def _table_of(names: bytes) -> TableName:
    keyspace, table, id = msgpack_decoder(tuple[str, str, str]).decode(_THREE + names)
    return TableName(f"{keyspace}.{table}", id)


_THREE: Final = b"\x93"
"""An array of three."""
