"""Table ids, compiled: where each stands in `flat.ids`."""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.jit.decorators import inlined
from tailer.jit.words import get, word
from tailer.scan.mutation.compiled.flat import HASH_FACTOR, I_HIGH, I_LOW, I_NUMBER, I_WIDTH, UNKNOWN
from tailer.scan.mutation.compiled.walk import IDS, IDS_MASK

TABLE_ID_BYTES: Final = 16

_FACTOR: Final = np.uint64(HASH_FACTOR)
_HALF: Final = np.uint64(32)


@inlined
def find_id(walk: int, base: int, at: int) -> int:
    """The address of the line of the table id at `at` in `flat.ids`, or of one that is free."""
    high, low = word(base, at), word(base, at + 8)
    ids, mask = get(walk, IDS), get(walk, IDS_MASK)
    slot = np.int64((high ^ low) * _FACTOR >> _HALF) & mask
    while True:
        line = ids + 8 * I_WIDTH * slot
        if get(line, I_NUMBER) == UNKNOWN:
            return line
        if get(line, I_HIGH) == np.int64(high) and get(line, I_LOW) == np.int64(low):
            return line
        slot = slot + 1 & mask
