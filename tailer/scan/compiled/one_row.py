"""Entries that are one row each, noted by the column: they give no lines of the index, for who needs none.

Only rows of one table and the very same columns, each with one time for all of it; others of it are in the index, as
everything else is.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.jit.addresses import Numbers, address_of
from tailer.jit.decorators import inlined
from tailer.jit.memory import give_offset, store
from tailer.jit.words import get, put, put_half
from tailer.scan.index import NO_TTL
from tailer.scan.record.record import INSERT, UPDATE

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
# By row the operation, `scan.record.record`'s, in a byte; TTL (32 bits) and when it ends, NO_TTL for none. How many
# rows are updates; whether one has a TTL.
OP: Final = 13
TTL: Final = 14
EXPIRES: Final = 15
UPDATES: Final = 16
SEEN_TTL: Final = 17
# The columns that a service's log's rows name, in the order of SETS.
NUMBERS: Final = 18
SIZE: Final = 19

DELETED: Final = -2
"""In place of a length: the row deletes the column."""

UNWANTED: Final = -1
UNSET: Final = -1

# Where the values of a straight row go, given as a constant: one walk is made into the code of either.
TO_LINES: Final = False
BY_COLUMN: Final = True


class OneRow:
    """Room for rows of the table of that number, and what a scan has found; see the numbers above.

    `off`, `length`: as addresses of `places` lines of 32-bit numbers, kept by whoever made them. Data are less than
    2 GiB.
    """

    def __init__(self, table: int, slots: Numbers, clustering: Numbers, rows: int, off: int, length: int) -> None:
        self.by_row = np.empty((4, rows), np.int64)
        # Most rows are inserts without TTL, which write nothing here.
        self.op = np.full(rows, INSERT, np.uint8)
        self.ttl, self.expires = np.full(rows, NO_TTL, np.int32), np.empty(rows, np.int64)
        self._sets, self._named = np.empty((2, len(slots)), np.int64)
        self._given = slots, clustering
        self._numbers = np.zeros(SIZE, np.int64)
        self._numbers[[TABLE, ROOM, WIDTH, OFF, LENGTH]] = table, rows, UNSET, off, length
        self._numbers[[SLOTS, CLUSTERING, SETS]] = address_of(slots), address_of(clustering), address_of(self._sets)
        self._numbers[NUMBERS] = address_of(self._named)
        self._numbers[ENTRY : KEY_LENGTH + 1] = [address_of(line) for line in self.by_row]
        self._numbers[OP : EXPIRES + 1] = [address_of(array) for array in (self.op, self.ttl, self.expires)]

    @property
    def address(self) -> int:
        return address_of(self._numbers)

    @property
    def count(self) -> int:
        """How many rows."""
        return int(self._numbers[COUNT])

    @property
    def updates(self) -> int:
        """How many of them are updates, not inserts."""
        return int(self._numbers[UPDATES])

    @property
    def has_ttl(self) -> bool:
        """Whether one of them has a TTL."""
        return bool(self._numbers[SEEN_TTL])

    @property
    def sets(self) -> Numbers:
        """The places of the columns that each of them sets, in order."""
        return self._sets[: self._numbers[WIDTH]]


@inlined
def places(one_row: int, slots: int) -> tuple[int, int, int, int]:
    """Where values of the next row are noted: addresses of offset and length, bytes of a line, their slots in order."""
    row = 4 * get(one_row, COUNT)
    return get(one_row, OFF) + row, get(one_row, LENGTH) + row, 4 * get(one_row, ROOM), slots


@inlined
def put_place(to: tuple[int, int, int, int], number: int, at: int, length: int) -> None:
    """Where the value of that number lies. Until its row is counted, it can be written over."""
    off, lengths, room, slots = to
    line = room * get(slots, number)
    put_half(off + line, 0, at)
    put_half(lengths + line, 0, length)


@inlined
def set_update(one_row: int) -> None:
    """The row that is counted next is an update."""
    store(get(one_row, OP) + get(one_row, COUNT), UPDATE)
    put(one_row, UPDATES, get(one_row, UPDATES) + 1)


@inlined
def set_ttl(one_row: int, ttl: int, expires: int) -> None:
    """The row that is counted next has that TTL."""
    row = get(one_row, COUNT)
    give_offset(get(one_row, TTL), row, ttl)
    put(get(one_row, EXPIRES), row, expires)
    put(one_row, SEEN_TTL, 1)


@inlined
def add_row(one_row: int, entry: int, ts: int, key: int, key_length: int) -> None:
    """Counts the row whose values were put."""
    row = get(one_row, COUNT)
    put(get(one_row, ENTRY), row, entry)
    put(get(one_row, TS), row, ts)
    put(get(one_row, KEY), row, key)
    put(get(one_row, KEY_LENGTH), row, key_length)
    put(one_row, COUNT, row + 1)
