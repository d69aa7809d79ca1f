"""Table ids, compiled: where each stands in `flat.ids`."""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.jit.decorators import inlined
from tailer.jit.words import get, word
from tailer.scan.compiled import block as b
from tailer.scan.mutation.compiled import flat as f

TABLE_ID_BYTES: Final = 16

_FACTOR: Final = np.uint64(f.HASH_FACTOR)
_HALF: Final = np.uint64(32)


@inlined
def find_id(walk: int, base: int, at: int) -> int:
    """The address of the line of the table id at `at` in `flat.ids`, or of one that is free."""
    high, low = word(base, at), word(base, at + 8)
    ids, mask = get(walk, b.IDS), get(walk, b.IDS_MASK)
    slot = np.int64((high ^ low) * _FACTOR >> _HALF) & mask
    while True:
        line = ids + 8 * f.I_WIDTH * slot
        if get(line, f.I_NUMBER) == f.UNKNOWN:
            return line
        if get(line, f.I_HIGH) == np.int64(high) and get(line, f.I_LOW) == np.int64(low):
            return line
        slot = slot + 1 & mask
