"""Event ids of rows: `node:segment:offset:row`. Compiled; works on addresses."""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.jit.decorators import entry_point, inlined
from tailer.jit.memory import give_offset, store
from tailer.jit.words import get
from tailer.types.compiled.digits import put_number
from tailer.types.compiled.runs import copy_run

NUMBERS_MAX: Final = 42
"""Letters of two 64-bit numbers with a colon between."""

_HIGH: Final = 10_000
_COLON: Final = 0x3A
_ZERO: Final = 0x30


@inlined
def _put_low(pos: int, number: int) -> int:
    """Four digits."""
    hundreds = number * 5243 >> 19
    _put_pair(pos, hundreds)
    _put_pair(pos + 2, number - 100 * hundreds)
    return pos + 4


@inlined
def _put_pair(pos: int, number: int) -> None:
    tens = number * 103 >> 10
    store(pos, _ZERO + tens)
    store(pos + 1, _ZERO + number - 10 * tens)


@entry_point
def put_event_ids(begin: int, size: int, rows: int, offsets: int, numbers: int, ends: int, out: int) -> int:
    """Texts of the `size` letters at `begin`, offset, colon and number, one a row. Their letters in all.

    `begin` has room for NUMBERS_MAX more, `out` for as many with those a row; `ends` gets one 32-bit offset more.
    """
    pos = out
    last = np.int64(-1)
    known = size
    give_offset(ends, 0, 0)
    for row in range(rows):
        # Offsets of rows lie close together: all digits but the last four are mostly those of the row before.
        offset = get(offsets, row)
        high = offset // _HIGH
        if high != last:
            last = high
            known = put_number(begin + size, high) - begin if high else size
        copy_run(pos, begin, known)
        pos = _put_low(pos + known, offset - high * _HIGH) if high else put_number(pos + known, offset)
        store(pos, _COLON)
        number = get(numbers, row)
        if number < 10:
            store(pos + 1, _ZERO + number)
            pos += 2
        else:
            pos = put_number(pos + 1, number)
        give_offset(ends, row + 1, pos - out)
    return pos - out
