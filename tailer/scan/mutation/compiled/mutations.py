"""Entries of a span, compiled: the loop of `scan.mutation.scan`, and the ids it looks for."""

from __future__ import annotations

from tailer.jit.decorators import compiled, entry_point, inlined
from tailer.jit.vints import read_vint
from tailer.jit.words import get, put
from tailer.scan.compiled import block as b
from tailer.scan.compiled.block import begin_entry, fail, fail_name, find_places
from tailer.scan.compiled.lines import note_skip, set_counts
from tailer.scan.mutation.compiled import flat as f
from tailer.scan.mutation.compiled.ids import TABLE_ID_BYTES, find_id
from tailer.scan.mutation.compiled.straight import scan_straight
from tailer.scan.mutation.compiled.updates import scan_update
from tailer.scan.mutation.walk import SLACK


@compiled
def _holds_kept(walk: int, base: int) -> bool:
    """Whether a kept table's id stands anywhere in the entry."""
    for at in range(get(walk, b.START), get(walk, b.END) - TABLE_ID_BYTES + 1):
        if get(find_id(walk, base, at), f.I_KEPT):
            return True
    return False


@compiled
def _is_skipped(number: int, count: int) -> bool:
    """Whether the entry is passed over unread, by its first table, which is not kept."""
    return number == f.UNREAD or (count == 1 and number != f.UNKNOWN)


@inlined
def _scan_entry(walk: int, base: int) -> int:
    start, end = get(walk, b.START), get(walk, b.END)
    count, at = read_vint(base, start)
    if count == 0:
        return fail(walk, b.BAD_VALUE, start, 0)
    line = find_id(walk, base, at)
    if not get(line, f.I_KEPT) and _is_skipped(get(line, f.I_NUMBER), count):
        return end if note_skip(walk, base, at) else b.FAILED
    first, updates, done = at, get(walk, b.UPDATES), 0
    while done != count:
        put(walk, b.TABLE, b.NO_TABLE)
        if at + TABLE_ID_BYTES > end:
            return fail(walk, b.TRUNCATED, at, 0)
        if done:
            line = find_id(walk, base, at)
        if get(line, f.I_NUMBER) < 0:
            put(walk, b.KEPT_INSIDE, _holds_kept(walk, base))
            return fail_name(walk, b.UNKNOWN_TABLE, at, TABLE_ID_BYTES)
        at = scan_update(walk, base, at, get(line, f.I_NUMBER))
        if at == b.FAILED:
            return b.FAILED
        done += 1
    if at != end:
        return fail(walk, b.WRONG_SIZE, at, end - at)
    if get(walk, b.UPDATES) == updates and not note_skip(walk, base, first):
        return b.FAILED
    return end


@inlined
def _with_slack(walk: int, data: int, limit: int, tail: int, start: int, size: int) -> int:
    """What offsets are to be counted from, so that SLACK bytes follow the entry: the data, or the copy of their end."""
    if limit - start - size >= SLACK:
        return data
    if start < get(walk, b.TAIL_FROM):
        return fail(walk, b.NO_SLACK, start, size)
    return tail - get(walk, b.TAIL_FROM)


@entry_point
def scan_from(
    walk: int, data: int, limit: int, tail: int, starts_at: int, sizes_at: int, count: int, first: int
) -> int:
    """Scans entries from number `first` on; the number of the one at which it stopped, or `count` for all.

    Addresses: of the block, the data (`limit` bytes), the data from TAIL_FROM on with SLACK behind them, and of the
    entries' starts and sizes.
    """
    find_places(walk)
    base, least, most = data, 0, limit - SLACK
    entry, wait = first, 0
    while entry < count:
        if wait == 0:
            before = entry
            entry = scan_straight(walk, base, starts_at, sizes_at, before, count, least, most)
            wait = b.TRIES_APART if entry == before else 1
            continue
        wait -= 1
        start, size = get(starts_at, entry), get(sizes_at, entry)
        begin_entry(walk, entry, start, size)
        put(walk, b.NUMBER, 0)
        if start < 0 or size < 0 or start > limit or size > limit - start:
            fail(walk, b.TRUNCATED, start, size)
            return entry
        there = _with_slack(walk, data, limit, tail, start, size)
        if there == b.FAILED:
            return entry
        if there != data and there != base:
            # What is left lies there, mostly.
            base, least, most, wait = there, get(walk, b.TAIL_FROM), limit, 0
            continue
        updates, rows, values, cells = get(walk, b.UPDATES), get(walk, b.ROWS), get(walk, b.VALUES), get(walk, b.CELLS)
        if _scan_entry(walk, there) == b.FAILED:
            set_counts(walk, updates, rows, values, cells)
            return entry
        entry += 1
    put(walk, b.STATUS, b.OK)
    return count
