"""Columns that few rows have a value of: only those rows are looked at. Compiled; works on addresses.

`few`: the numbers of `count` rows, rising; `off` and `length` as in `decode`, of those rows alone. What stands for the
other rows is there before: `out` and `bits`, a bit a row whether it has a value, are zero.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.jit.decorators import compiled, entry_point, inlined
from tailer.jit.memory import get_offset, give_offset, load, store
from tailer.jit.words import get, half_word, put, word
from tailer.limits import OFFSET_MAX
from tailer.rows.typed.compiled.decode import SIZES, TOO_LONG, put_value
from tailer.types.compiled.runs import copy_run
from tailer.types.forms import INT, LONG

# Numbers of `work` of `rows_by_slot`: what `straight` wrote of the rows; the slots; whether lines are of slots, or of a
# row's values by their places.
SETS: Final = 0
ENDS: Final = 1
ROWS: Final = 2
OFF: Final = 3
LENGTH: Final = 4
LINE: Final = 5
SLOTS: Final = 6
IS_SPARSE: Final = 7
# What is written: where each slot's values begin, one more than slots, all zero before; the values' rows and places.
BEGINS: Final = 8
TO_ROWS: Final = 9
TO_OFF: Final = 10
TO_LENGTH: Final = 11
SIZE: Final = 12


@compiled
def _to_ends(counts: int, slots: int) -> None:
    """Each count becomes where its run ends; the last, which counts nothing, that of all."""
    total = np.int64(0)
    for slot in range(slots + 1):
        total += get_offset(counts, slot)
        give_offset(counts, slot, total)


@inlined
def _set_bit(bits: int, row: int) -> None:
    at = bits + (row >> 3)
    store(at, load(at) | 1 << (row & 7))


@entry_point
def rows_by_slot(work: int) -> Any:
    """Row and place of each value, one slot's behind another's."""
    sets, ends, begins = get(work, SETS), get(work, ENDS), get(work, BEGINS)
    for place in range(get_offset(ends, get(work, ROWS))):
        slot = get_offset(sets, place)
        give_offset(begins, slot, get_offset(begins, slot) + 1)
    _to_ends(begins, get(work, SLOTS))
    # From the last one on: each slot's end becomes its begin.
    for back in range(get(work, ROWS)):
        row = get(work, ROWS) - 1 - back
        first = get_offset(ends, row)
        for place in range(first, get_offset(ends, row + 1)):
            slot = get_offset(sets, place)
            line = get(work, LINE) * (place - first if get(work, IS_SPARSE) else slot)
            at = get_offset(begins, slot) - 1
            give_offset(begins, slot, at)
            give_offset(get(work, TO_ROWS), at, row)
            give_offset(get(work, TO_OFF), at, get_offset(get(work, OFF) + line, row))
            give_offset(get(work, TO_LENGTH), at, get_offset(get(work, LENGTH) + line, row))
    return 0


@entry_point
def put_sparse(form: int, data: int, off: int, length: int, few: int, count: int, out: int, bits: int, bad: int) -> int:
    """Values of constant size, as `put_fixed` has them, but no UUIDs. How many there are."""
    size, values = SIZES[form], 0
    for number in range(count):
        row = get_offset(few, number)
        have = get_offset(length, number)
        if have == size:
            at = data + get_offset(off, number)
            if form == LONG:
                put(out, row, np.int64(word(at, 0)))
            elif form == INT:
                give_offset(out, row, np.int64(half_word(at, 0)))
            elif not put_value(form, at, row, 0, out):
                store(bad + row, 1)
            _set_bit(bits, row)
            values += 1
        elif have > 0:
            store(bad + row, 1)
    return values


@entry_point
def put_sparse_ends(length: int, few: int, count: int, rows: int, empty_is_value: int, ends: int, bits: int) -> int:
    """The 32-bit offsets of texts or blobs, one more than rows. How many values there are.

    An empty one is a value or none. TOO_LONG where 32-bit offsets do not reach.
    """
    total = values = done = 0
    for number in range(count):
        row = get_offset(few, number)
        for before in range(done, row + 1):
            give_offset(ends, before, total)
        done = row + 1
        size = get_offset(length, number)
        if size > 0 or (size == 0 and empty_is_value != 0):
            _set_bit(bits, row)
            values += 1
            total += size
            if total > OFFSET_MAX:
                return TOO_LONG
    for before in range(done, rows + 1):
        give_offset(ends, before, total)
    return values


@entry_point
def put_sparse_texts(data: int, off: int, few: int, count: int, ends: int, out: int) -> Any:
    """Copies the bytes together, as their offsets say. Zero if they are all ASCII."""
    seen = np.uint64(0)
    for number in range(count):
        row = get_offset(few, number)
        place = get_offset(ends, row)
        seen |= copy_run(out + place, data + get_offset(off, number), get_offset(ends, row + 1) - place)
    return np.int64(seen >> np.uint64(1))
