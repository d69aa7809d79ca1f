"""Tables of a service's log, compiled: where a table id with a fingerprint stands in `flat.ids`."""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.jit.decorators import compiled
from tailer.jit.words import get, put, word
from tailer.scan.mutation.compiled.flat import C_WIDTH, HASH_FACTOR, UNKNOWN
from tailer.scan.mutation.compiled.walk import COLUMNS, IDS, IDS_MASK, TABLE, TABLES
from tailer.scan.record.compiled.flat import (
    P_HIGH,
    P_LOW,
    P_NUMBER,
    P_PRINT,
    P_WIDTH,
    R_CLUSTERING,
    R_COLUMNS_AT,
    R_COLUMNS_N,
    R_KEY,
    R_STATICS,
    R_WIDTH,
)
from tailer.scan.record.compiled.state import CLUSTERING, COLUMNS_AT, COLUMNS_N, HEADS, HEADS_N, KEY_COLUMNS, STATICS

_FACTOR: Final = np.uint64(HASH_FACTOR)
_HALF: Final = np.uint64(32)


@compiled
def find_print(walk: int, base: int, id_at: int, print_at: int) -> int:
    """The address of the line of a table id with a fingerprint in `flat.ids`, or of one that is free."""
    high, low, mark = word(base, id_at), word(base, id_at + 8), word(base, print_at)
    ids, mask = get(walk, IDS), get(walk, IDS_MASK)
    slot = np.int64((high ^ mark ^ low) * _FACTOR >> _HALF) & mask
    while True:
        line = ids + 8 * P_WIDTH * slot
        if get(line, P_NUMBER) == UNKNOWN:
            return line
        same = get(line, P_HIGH) == np.int64(high) and get(line, P_LOW) == np.int64(low)
        if same and get(line, P_PRINT) == np.int64(mark):
            return line
        slot = slot + 1 & mask


@compiled
def is_kept_head(walk: int, base: int, at: int) -> bool:
    """Whether a kept table has that id, with another fingerprint."""
    for number in range(get(walk, HEADS_N)):
        line = get(walk, HEADS) + 16 * number
        if get(line, 0) == np.int64(word(base, at)) and get(line, 1) == np.int64(word(base, at + 8)):
            return True
    return False


@compiled
def turn_to(walk: int, number: int) -> None:
    """Sets the table of that number."""
    table = get(walk, TABLES) + 8 * R_WIDTH * number
    put(walk, TABLE, number)
    put(walk, KEY_COLUMNS, get(table, R_KEY))
    put(walk, CLUSTERING, get(table, R_CLUSTERING))
    put(walk, STATICS, get(table, R_STATICS))
    put(walk, COLUMNS_AT, get(walk, COLUMNS) + 8 * C_WIDTH * get(table, R_COLUMNS_AT))
    put(walk, COLUMNS_N, get(table, R_COLUMNS_N))
