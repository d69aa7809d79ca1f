"""Entries of a span, compiled: the loop of `scan.mutation.scan`, and the ids it looks for."""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled, entry_point, inlined
from tailer.jit.vints import read_vint
from tailer.jit.words import get, put
from tailer.scan.index import Status
from tailer.scan.mutation.compiled.flat import I_KEPT, I_NUMBER, UNREAD
from tailer.scan.mutation.compiled.ids import TABLE_ID_BYTES, find_id
from tailer.scan.mutation.compiled.straight import scan_straight
from tailer.scan.mutation.compiled.updates import drop_lines, scan_update
from tailer.scan.mutation.compiled.walk import (
    CELLS,
    END,
    ENTRY,
    FAILED,
    FULL,
    KEPT_INSIDE,
    NO_SLACK,
    NUMBER,
    PLACES,
    PLACES_N,
    ROWS,
    SKIP_UNKNOWN,
    SKIPS,
    SKIPS_AT,
    SKIPS_ROOM,
    START,
    STATUS,
    TABLE,
    TAIL_FROM,
    UPDATES,
    UPDATES_AT,
    VALUES,
    fail,
    fail_name,
    is_same,
)
from tailer.scan.mutation.walk import SLACK

OK: Final = int(Status.OK)
UNKNOWN_TABLE: Final = int(Status.UNKNOWN_TABLE)
TRUNCATED: Final = int(Status.TRUNCATED)
WRONG_SIZE: Final = int(Status.WRONG_SIZE)
BAD_VALUE: Final = int(Status.BAD_VALUE)

RECENT_SKIPS: Final = 16
SKIP_FIELDS: Final = ("base", "at", "count")
SKIP_WIDTH: Final = len(SKIP_FIELDS)

TRIES_APART: Final = 32
"""Where two entries in a row are not straight, so many are scanned before one is taken for one again."""


@compiled
def _holds_kept(walk: int, base: int) -> bool:
    """Whether a kept table's id stands anywhere in the entry."""
    for at in range(get(walk, START), get(walk, END) - TABLE_ID_BYTES + 1):
        if get(find_id(walk, base, at), I_KEPT):
            return True
    return False


@compiled
def _is_skipped(walk: int, base: int, number: int, count: int) -> bool:
    """Whether the entry is passed over unread, by its first table, which is not kept."""
    if number >= 0:
        return count == 1 or not _holds_kept(walk, base)
    return number == UNREAD or (get(walk, SKIP_UNKNOWN) != 0 and not _holds_kept(walk, base))


@compiled
def note_skip(walk: int, base: int, at: int) -> bool:
    """Counts an entry that is passed over; whether there was room. Only the latest ids are looked at."""
    count = get(walk, SKIPS)
    for number in range(count - 1, max(count - RECENT_SKIPS, 0) - 1, -1):
        skip = get(walk, SKIPS_AT) + 8 * SKIP_WIDTH * number
        if is_same(base, at, get(skip, 0), get(skip, 1), TABLE_ID_BYTES):
            put(skip, 2, get(skip, 2) + 1)
            return True
    if count == get(walk, SKIPS_ROOM):
        fail(walk, FULL, at, 0)
        return False
    skip = get(walk, SKIPS_AT) + 8 * SKIP_WIDTH * count
    put(skip, 0, base)
    put(skip, 1, at)
    put(skip, 2, 1)
    put(walk, SKIPS, count + 1)
    return True


@inlined
def _scan_entry(walk: int, base: int) -> int:
    start, end = get(walk, START), get(walk, END)
    count, at = read_vint(base, start)
    if count == 0:
        return fail(walk, BAD_VALUE, start, 0)
    line = find_id(walk, base, at)
    if not get(line, I_KEPT) and _is_skipped(walk, base, get(line, I_NUMBER), count):
        return end if note_skip(walk, base, at) else FAILED
    done = 0
    while done != count:
        put(walk, TABLE, -1)
        if at + TABLE_ID_BYTES > end:
            return fail(walk, TRUNCATED, at, 0)
        if done:
            line = find_id(walk, base, at)
        if get(line, I_NUMBER) < 0:
            put(walk, KEPT_INSIDE, _holds_kept(walk, base))
            return fail_name(walk, UNKNOWN_TABLE, at, TABLE_ID_BYTES)
        at = scan_update(walk, base, at, get(line, I_NUMBER))
        if at == FAILED:
            return FAILED
        done += 1
    return at if at == end else fail(walk, WRONG_SIZE, at, end - at)


@inlined
def _begin(walk: int, entry: int, start: int, size: int) -> None:
    """Where the scan is."""
    put(walk, ENTRY, entry)
    put(walk, NUMBER, 0)
    put(walk, TABLE, -1)
    put(walk, START, start)
    put(walk, END, start + size)
    put(walk, KEPT_INSIDE, 0)


@entry_point
def scan_from(
    walk: int, data: int, limit: int, tail: int, starts_at: int, sizes_at: int, count: int, first: int
) -> int:
    """Scans entries from number `first` on; the number of the one at which it stopped, or `count` for all.

    Addresses: of the block, the data (`limit` bytes), the data from TAIL_FROM on with SLACK behind them, and of the
    entries' starts and sizes.
    """
    for number in range(PLACES_N):
        put(walk, UPDATES_AT + number, walk + get(walk, PLACES + number))
    base, least, most = data, 0, limit - SLACK
    entry, wait = first, 0
    while entry < count:
        if wait == 0:
            before = entry
            entry = scan_straight(walk, base, starts_at, sizes_at, before, count, least, most)
            wait = TRIES_APART if entry == before else 1
            continue
        wait -= 1
        start, size = get(starts_at, entry), get(sizes_at, entry)
        _begin(walk, entry, start, size)
        if start < 0 or size < 0 or start > limit or size > limit - start:
            fail(walk, TRUNCATED, start, size)
            return entry
        there = data
        if limit - start - size < SLACK:
            if start < get(walk, TAIL_FROM):
                fail(walk, NO_SLACK, start, size)
                return entry
            there = tail - get(walk, TAIL_FROM)
            if base != there:
                # What is left lies there, mostly.
                base, least, most, wait = there, get(walk, TAIL_FROM), limit, 0
                continue
        updates, rows, values, cells = get(walk, UPDATES), get(walk, ROWS), get(walk, VALUES), get(walk, CELLS)
        if _scan_entry(walk, there) == FAILED:
            drop_lines(walk, updates, rows, values, cells)
            return entry
        entry += 1
    put(walk, STATUS, OK)
    return count
