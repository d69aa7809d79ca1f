"""Values of one column at a time: bytes of the log to Arrow's buffers. Compiled; works on addresses.

`off` and `length`: 32-bit numbers, where the value of each row lies in `data`; a length below zero: there is none. A
value that is none of its type marks its row in `bad`. `valid` gets a byte a row.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.jit.decorators import compiled, entry_point, inlined
from tailer.jit.memory import get_offset, give_offset, load, store
from tailer.jit.words import get, half_word, put, word
from tailer.limits import OFFSET_MAX
from tailer.types.compiled.counters import sum_shards
from tailer.types.compiled.digits import put_uuid
from tailer.types.compiled.runs import copy_run
from tailer.types.forms import BOOLEAN, BYTE, DATE, INT, LONG, MILLIS, SHORT, UUID
from tailer.types.kinds import ROWS

UUID_LETTERS: Final = 36

TOO_LONG: Final = -1

SIZES: Final = np.array([size for _, size in sorted({(native.form, native.size) for native in ROWS if native.size})])
_SIGN: Final = 0x8000_0000
_MILLIS_MAX: Final = (2**63 - 1) // 1000
_MILLIS_MIN: Final = -(2**63 // 1000)


@compiled
def _put_longs(data: int, off: int, length: int, rows: int, out: int, valid: int, bad: int) -> int:
    """What most values are, in loops of their own."""
    count = 0
    for row in range(rows):
        have = get_offset(length, row)
        good = have == 8
        store(valid + row, good)
        put(out, row, np.int64(word(data, get_offset(off, row))) if good else np.int64(0))
        count += good
        if not good and have > 0:
            store(bad + row, 1)
    return count


@compiled
def _put_ints(data: int, off: int, length: int, rows: int, out: int, valid: int, bad: int) -> int:
    count = 0
    for row in range(rows):
        have = get_offset(length, row)
        good = have == 4
        store(valid + row, good)
        bits = np.int64(half_word(data, get_offset(off, row))) if good else np.int64(0)
        give_offset(out, row, bits)
        count += good
        if not good and have > 0:
            store(bad + row, 1)
    return count


@inlined
def put_value(form: int, at: int, row: int, count: int, out: int) -> Any:
    """One value; whether it is in range."""
    if form == DATE:
        # Days count from 2^31.
        give_offset(out, row, np.int64(half_word(at, 0)) - _SIGN)
    elif form == MILLIS:
        millis = np.int64(word(at, 0))
        put(out, row, millis * 1000)
        return _MILLIS_MIN <= millis <= _MILLIS_MAX
    elif form == BYTE:
        store(out + row, load(at))
    elif form == BOOLEAN:
        store(out + row, load(at) != 0)
    elif form == SHORT:
        store(out + 2 * row, load(at + 1))
        store(out + 2 * row + 1, load(at))
    else:
        put_uuid(out + UUID_LETTERS * count, at)
    return True


@inlined
def _put_zero(form: int, row: int, out: int) -> None:
    if form == MILLIS:
        put(out, row, 0)
    elif form == DATE:
        give_offset(out, row, 0)
    elif form == SHORT:
        store(out + 2 * row, 0)
        store(out + 2 * row + 1, 0)
    else:
        store(out + row, 0)


@compiled
def _put_fixed(form: int, data: int, off: int, length: int, rows: int, out: int, valid: int, bad: int) -> int:
    size = SIZES[form]
    if form == LONG:
        return _put_longs(data, off, length, rows, out, valid, bad)
    if form == INT:
        return _put_ints(data, off, length, rows, out, valid, bad)
    count = 0
    for row in range(rows):
        have = get_offset(length, row)
        store(valid + row, have == size)
        if have == size:
            if not put_value(form, data + get_offset(off, row), row, count, out):
                store(bad + row, 1)
            count += 1
        else:
            if form != UUID:
                _put_zero(form, row, out)
            if have > 0:
                store(bad + row, 1)
    return count


@entry_point
def put_fixed(form: int, data: int, off: int, length: int, rows: int, out: int, valid: int, bad: int) -> int:
    """Values of constant size into an array of Arrow's width, booleans as a byte, UUIDs as 36 letters behind
    one another. How many there are."""
    return _put_fixed(form, data, off, length, rows, out, valid, bad)


@entry_point
def put_fixed_columns(
    form: int, data: int, places: int, columns: int, rows: int, width: int, out: int, valid: int, bad: int, counts: int
) -> int:
    """The same of many columns, one's values and `valid` behind another's; `counts` gets how many each has.

    `places`: the addresses of offset and length of each. `width`: of a value in the array.
    """
    for column in range(columns):
        off, length = get(places, 2 * column), get(places, 2 * column + 1)
        put(counts, column, _put_fixed(form, data, off, length, rows, out, valid, bad))
        out += width * rows
        valid += rows
    return 0


@entry_point
def put_counters(data: int, off: int, length: int, rows: int, out: int, valid: int, bad: int) -> int:
    """The sums of counters' shards. How many there are."""
    count = 0
    for row in range(rows):
        have = get_offset(length, row)
        total: Any = np.int64(0)
        good = False
        if have > 0:
            total, good = sum_shards(data + get_offset(off, row), have)
            store(bad + row, load(bad + row) | np.int64(not good))
        put(out, row, total)
        store(valid + row, good)
        count += good
    return count


@entry_point
def put_ends(length: int, rows: int, empty_is_value: int, ends: int, valid: int) -> int:
    """The 32-bit offsets of a column of texts or blobs, one more than rows. How many values there are.

    An empty one is a value or none. TOO_LONG where 32-bit offsets do not reach.
    """
    total = count = 0
    give_offset(ends, 0, 0)
    for row in range(rows):
        size = get_offset(length, row)
        good = size > 0 or (size == 0 and empty_is_value != 0)
        store(valid + row, good)
        count += good
        total += max(size, 0)
        if total > OFFSET_MAX:
            return TOO_LONG
        give_offset(ends, row + 1, total)
    return count


@entry_point
def put_texts(data: int, off: int, rows: int, ends: int, out: int) -> Any:
    """Copies the bytes of a column together, as their offsets say. Zero if they are all ASCII."""
    seen = np.uint64(0)
    place = get_offset(ends, 0)
    for row in range(rows):
        end = get_offset(ends, row + 1)
        seen |= copy_run(out + place, data + get_offset(off, row), end - place)
        place = end
    return np.int64(seen >> np.uint64(1))
