"""Entries that are one row each, noted by the column: they give no lines of the index, for who needs none.

Only straight rows of one table and the very same columns; others of it are in the index, as everything else is.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.jit.addresses import Numbers, address_of
from tailer.jit.decorators import compiled
from tailer.jit.words import get, put
from tailer.scan.mutation.compiled.columns import K_COUNT, K_LEN
from tailer.scan.mutation.compiled.flat import C_NUMBER
from tailer.scan.mutation.compiled.walk import ONE_ROW
from tailer.scan.record.record import UPDATE

# Numbers of its array. What is given: the table, by column number and by clustering column the place of the values (or
# UNWANTED: rows with that column are not noted), how many rows there is room for.
TABLE: Final = 0
SLOTS: Final = 1
CLUSTERING: Final = 2
ROOM: Final = 3
# What is found: how many rows, how many columns each sets (UNSET before the first), and the places of those. By row the
# entry, the timestamp, the partition key. By place and row where a value lies: 32-bit numbers, ROOM rows apart.
COUNT: Final = 4
WIDTH: Final = 5
SETS: Final = 6
ENTRY: Final = 7
TS: Final = 8
KEY: Final = 9
KEY_LENGTH: Final = 10
OFF: Final = 11
LENGTH: Final = 12
# The operation of them all, `scan.record.record`'s, UNSET before the first: mutations have inserts only.
OP: Final = 13
# The columns that a service's log's rows name, in the order of SETS.
NUMBERS: Final = 14
SIZE: Final = 15

UNWANTED: Final = -1
UNSET: Final = -1


class OneRow:
    """Room for rows of the table of that number, and what a scan has found; see the numbers above.

    `off`, `length`: as addresses of `places` lines of 32-bit numbers, kept by whoever made them. Data are less than
    2 GiB.
    """

    def __init__(self, table: int, slots: Numbers, clustering: Numbers, rows: int, off: int, length: int) -> None:
        self.by_row = np.empty((4, rows), np.int64)
        self._sets, self._named = np.empty((2, len(slots)), np.int64)
        self._given = slots, clustering
        self._numbers = np.zeros(SIZE, np.int64)
        self._numbers[[TABLE, ROOM, WIDTH, OFF, LENGTH, OP]] = table, rows, UNSET, off, length, UNSET
        self._numbers[[SLOTS, CLUSTERING, SETS]] = address_of(slots), address_of(clustering), address_of(self._sets)
        self._numbers[NUMBERS] = address_of(self._named)
        self._numbers[ENTRY : KEY_LENGTH + 1] = [address_of(line) for line in self.by_row]

    @property
    def address(self) -> int:
        return address_of(self._numbers)

    @property
    def count(self) -> int:
        """How many rows."""
        return int(self._numbers[COUNT])

    @property
    def is_update(self) -> bool:
        """Whether they are updates, not inserts."""
        return bool(self._numbers[OP] == UPDATE)

    @property
    def sets(self) -> Numbers:
        """The places of the columns that each of them sets, in order."""
        return self._sets[: self._numbers[WIDTH]]


@compiled
def one_row_for(walk: int, number: int, known: int, place: int) -> int:
    """Where inserts into the table of that number with the column list at `place` are noted; 0: nowhere."""
    one_row = get(walk, ONE_ROW)
    if one_row == 0 or get(one_row, TABLE) != number or get(known, K_LEN) == 0:
        return 0
    width, sets, slots = get(known, K_COUNT), get(one_row, SETS), get(one_row, SLOTS)
    first = get(one_row, WIDTH) == UNSET
    if not first and get(one_row, WIDTH) != width:
        return 0
    for column in range(width):
        slot = get(slots, get(get(place, column), C_NUMBER))
        if slot == UNWANTED or (not first and get(sets, column) != slot):
            return 0
        if first:
            put(sets, column, slot)
    put(one_row, WIDTH, width)
    return one_row
