"""Tables of a service's log, compiled: where a table id with a fingerprint stands in `flat.ids`."""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.jit.decorators import compiled
from tailer.jit.words import get, put, word
from tailer.scan.compiled import block as b
from tailer.scan.mutation.compiled import flat as f
from tailer.scan.record.compiled import flat as r
from tailer.scan.record.compiled import state as s

_FACTOR: Final = np.uint64(f.HASH_FACTOR)
_HALF: Final = np.uint64(32)


@compiled
def find_print(walk: int, base: int, id_at: int, print_at: int) -> int:
    """The address of the line of a table id with a fingerprint in `flat.ids`, or of one that is free."""
    high, low, mark = word(base, id_at), word(base, id_at + 8), word(base, print_at)
    ids, mask = get(walk, b.IDS), get(walk, b.IDS_MASK)
    slot = np.int64((high ^ mark ^ low) * _FACTOR >> _HALF) & mask
    while True:
        line = ids + 8 * r.P_WIDTH * slot
        if get(line, r.P_NUMBER) == f.UNKNOWN:
            return line
        same = get(line, r.P_HIGH) == np.int64(high) and get(line, r.P_LOW) == np.int64(low)
        if same and get(line, r.P_PRINT) == np.int64(mark):
            return line
        slot = slot + 1 & mask


@compiled
def is_kept_head(walk: int, base: int, at: int) -> bool:
    """Whether a kept table has that id, with another fingerprint."""
    for number in range(get(walk, s.HEADS_N)):
        line = get(walk, s.HEADS) + 16 * number
        if get(line, 0) == np.int64(word(base, at)) and get(line, 1) == np.int64(word(base, at + 8)):
            return True
    return False


@compiled
def turn_to(walk: int, number: int) -> None:
    """Sets the table of that number."""
    table = get(walk, b.TABLES) + 8 * r.R_WIDTH * number
    put(walk, b.TABLE, number)
    put(walk, s.KEY_COLUMNS, get(table, r.R_KEY))
    put(walk, s.CLUSTERING, get(table, r.R_CLUSTERING))
    put(walk, s.STATICS, get(table, r.R_STATICS))
    put(walk, s.COLUMNS_AT, get(walk, b.COLUMNS) + 8 * f.C_WIDTH * get(table, r.R_COLUMNS_AT))
    put(walk, s.COLUMNS_N, get(table, r.R_COLUMNS_N))
