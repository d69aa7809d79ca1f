"""The block that a compiled scan works on: where it is, how many lines there are, and what has failed.

State and lines are one block of 64-bit integers. Every function of the compiled scan takes its address (`walk`), the
address of the data (`base`) and an offset in them, and gives the offset behind what it read, or FAILED. Offsets always
count in the data that were given to the scan. Addresses, not arrays: numba would take each array apart at each call,
and needs minutes for that where it needs seconds now.
"""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import inlined
from tailer.jit.words import get, put
from tailer.scan.index import Status

FAILED: Final = -1

FULL: Final = -1
"""In place of a status: an array of lines is full; the entry is to be scanned again with larger ones."""

NO_TABLE: Final = -1

NO_SLACK: Final = -2
"""The same: the entry lies too near the end of the data to be read without a copy."""

TRIES_APART: Final = 8
"""Where two entries in a row are not straight, so many are scanned before one is taken for one again."""

# Statuses, as the plain numbers that compiled code knows.
OK: Final = int(Status.OK)
UNKNOWN_TABLE: Final = int(Status.UNKNOWN_TABLE)
UNKNOWN_COLUMN: Final = int(Status.UNKNOWN_COLUMN)
TRUNCATED: Final = int(Status.TRUNCATED)
WRONG_SIZE: Final = int(Status.WRONG_SIZE)
BAD_FLAGS: Final = int(Status.BAD_FLAGS)
BAD_VALUE: Final = int(Status.BAD_VALUE)
UNPAIRED_BOUND: Final = int(Status.UNPAIRED_BOUND)
WRONG_TYPE: Final = int(Status.WRONG_TYPE)
TOO_DEEP: Final = int(Status.TOO_DEEP)
UNKNOWN_KIND: Final = int(Status.UNKNOWN_KIND)

# Numbers of the block. Where the scan is: `TABLE_AT` is the address of the current table's line.
ENTRY: Final = 0
START: Final = 1
END: Final = 2
NUMBER: Final = 3
UPDATE: Final = 4
TABLE: Final = 5
TABLE_AT: Final = 6
# The update's bases, and the row's.
TS_BASE: Final = 7
TIME_BASE: Final = 8
TTL_BASE: Final = 9
ROW_FLAGS: Final = 10
ROW_TS: Final = 11
ROW_TTL: Final = 12
ROW_EXPIRES: Final = 13
# How many lines there are, and for how many there is room.
UPDATES: Final = 14
ROWS: Final = 15
VALUES: Final = 16
CELLS: Final = 17
SKIPS: Final = 18
UPDATES_ROOM: Final = 19
ROWS_ROOM: Final = 20
VALUES_ROOM: Final = 21
CELLS_ROOM: Final = 22
SKIPS_ROOM: Final = 23
# Addresses in the block: of the lines, and of what the scan keeps for itself: column lists of each table and the
# columns of one row, as addresses of lines of `flat.columns`; where in the data each list was read last; marks of
# columns while a list is read. Behind them, in the same order, how far from the beginning of the block each lies.
UPDATES_AT: Final = 24
ROWS_AT: Final = 25
VALUES_AT: Final = 26
CELLS_AT: Final = 27
SKIPS_AT: Final = 28
KNOWN: Final = 29
SEEN: Final = 30
LISTS: Final = 31
CHOSEN: Final = 32
PLACES: Final = 33
PLACES_N: Final = PLACES - UPDATES_AT
# What has failed: see `scan.index.Stopped`. With FOUND_IS_LENGTH, FOUND is an unsigned number.
STATUS: Final = 42
AT: Final = 43
FOUND: Final = 44
FOUND_IS_LENGTH: Final = 45
NAME_LEN: Final = 46
KEPT_INSIDE: Final = 47
# Options, and addresses of the arrays of `flat`.
UNSIGNED_TIMES: Final = 48
SKIP_UNKNOWN: Final = 49
LIMIT: Final = 50
TAIL_FROM: Final = 51
IDS: Final = 52
IDS_MASK: Final = 53
TABLES: Final = 54
LENGTHS: Final = 55
NAMES: Final = 56
COLUMNS: Final = 57
TEXTS: Final = 58
STAMP: Final = 59
ONE_ROW: Final = 60
"""The address of `one_row`'s array, or 0."""
STATE_SIZE: Final = 61


@inlined
def find_places(walk: int) -> None:
    """Makes addresses of the places in the block, which may lie elsewhere than before."""
    for number in range(PLACES_N):
        put(walk, UPDATES_AT + number, walk + get(walk, PLACES + number))


@inlined
def begin_entry(walk: int, entry: int, start: int, size: int) -> None:
    """Where the scan is; no table yet."""
    put(walk, ENTRY, entry)
    put(walk, TABLE, NO_TABLE)
    put(walk, START, start)
    put(walk, END, start + size)
    put(walk, KEPT_INSIDE, 0)


@inlined
def fail(walk: int, status: int, at: int, found: int) -> int:
    """Notes why the entry does not decode."""
    put(walk, STATUS, status)
    put(walk, AT, at)
    put(walk, FOUND, found)
    put(walk, FOUND_IS_LENGTH, 0)
    put(walk, NAME_LEN, 0)
    return FAILED


@inlined
def fail_length(walk: int, status: int, at: int, found: int) -> int:
    """The same, where `found` is a length or a count that the log gives."""
    fail(walk, status, at, found)
    put(walk, FOUND_IS_LENGTH, 1)
    return FAILED


@inlined
def fail_name(walk: int, status: int, at: int, length: int) -> int:
    """The same for a name of `length` bytes that is not known."""
    fail(walk, status, at, 0)
    put(walk, NAME_LEN, length)
    return FAILED


@inlined
def is_beyond(length: int, rest: int) -> bool:
    """Whether a length that the log gives is more than what is left. A negative one is 2^63 or more."""
    return length < 0 or length > rest
