"""The compiled scan's state and its basic reads: the twin of `scan.mutation.walk`, with preallocated arrays.

State and lines are one block of 64-bit integers. Every function of the compiled scan takes its address (`walk`), the
address of the data (`base`) and an offset in them, and gives the offset behind what it read, or FAILED. Offsets always
count in the data that were given to the scan. Addresses, not arrays: numba would take each array apart at each call,
and needs minutes for that where it needs seconds now.
"""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled, inlined
from tailer.jit.vints import read_vint
from tailer.jit.words import byte, get, put, word

FAILED: Final = -1

FULL: Final = -1
"""In place of a status: an array of lines is full; the entry is to be scanned again with larger ones."""

NO_SLACK: Final = -2
"""The same: the entry lies too near the end of the data to be read without a copy."""

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
# Addresses in the block: of the lines, and of what the scan keeps for itself: two column lists of each table and the
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
"""The address of what `one_row` says, or 0."""
STATE_SIZE: Final = 61

TIMESTAMP_EPOCH: Final = 1442880000000000
_LOCAL_EPOCH: Final = 1442880000
_U32: Final = 2**32 - 1
_OVERFLOW: Final = 2**31
_INVALID_TIME: Final = _U32 - 1


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


@inlined
def read_bases(walk: int, base: int, at: int) -> int:
    """The update's smallest timestamp, local time and TTL."""
    value, at = read_vint(base, at)
    put(walk, TS_BASE, value + TIMESTAMP_EPOCH)
    value, at = read_vint(base, at)
    put(walk, TIME_BASE, value + _LOCAL_EPOCH)
    value, at = read_vint(base, at)
    put(walk, TTL_BASE, value)
    return at


@inlined
def read_timestamp(walk: int, base: int, at: int) -> tuple[int, int]:
    """Microseconds, modulo 2^64."""
    delta, at = read_vint(base, at)
    return get(walk, TS_BASE) + delta, at


@compiled
def read_local_time(walk: int, base: int, at: int) -> tuple[int, int]:
    """Seconds since 1970, modulo 2^32; signed before descriptor 8."""
    delta, at = read_vint(base, at)
    seconds = get(walk, TIME_BASE) + delta & _U32
    if seconds >= _OVERFLOW and get(walk, UNSIGNED_TIMES) == 0:
        seconds = _INVALID_TIME
    return seconds, at


@compiled
def read_ttl(walk: int, base: int, at: int) -> tuple[int, int]:
    """Seconds; negative where the bytes are no TTL."""
    delta, at = read_vint(base, at)
    ttl = get(walk, TTL_BASE) + delta & _U32
    return ttl - (ttl >= _OVERFLOW) * (_U32 + 1), at


@compiled
def read_deletion(walk: int, base: int, at: int) -> tuple[int, int]:
    """A deletion's timestamp."""
    timestamp, at = read_timestamp(walk, base, at)
    return timestamp, read_vint(base, at)[1]


@inlined
def is_same(base: int, at: int, other: int, there: int, length: int) -> bool:
    """Whether two runs of bytes are equal. Reads nothing beyond them."""
    done = 0
    while done + 8 <= length:
        if word(base, at + done) != word(other, there + done):
            return False
        done += 8
    while done < length:
        if byte(base, at + done) != byte(other, there + done):
            return False
        done += 1
    return True
