"""Entries of a service's log, compiled: the loop of `scan.record.scan`, and the tables it looks for."""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled, entry_point, inlined
from tailer.jit.words import byte, get, put
from tailer.limits import ATTRS_BYTES_MAX
from tailer.scan.compiled import block as b
from tailer.scan.compiled.block import begin_entry, fail, fail_name, find_places
from tailer.scan.compiled.lines import note_skip, set_counts
from tailer.scan.mutation.compiled import flat as f
from tailer.scan.record.compiled import flat as r
from tailer.scan.record.compiled import state as s
from tailer.scan.record.compiled.heads import is_nil, read_array, read_bytes, read_int, skip
from tailer.scan.record.compiled.ids import find_print, is_kept_head, turn_to
from tailer.scan.record.compiled.rows import scan_row
from tailer.scan.record.compiled.straight import scan_straight
from tailer.scan.record.compiled.times import read_time
from tailer.scan.record.record import CHANGE, DEFINITION, KIND_IGNORABLE, STATE
from tailer.scan.record.scan import ATTRS_FIELDS, CHANGE_ELEMENTS, FINGERPRINT_BYTES, TABLE_ID_BYTES

_ATTRS_WIDTH: Final = len(ATTRS_FIELDS)


@compiled
def _read_exactly(walk: int, base: int, at: int, size: int) -> int:
    """The offset of so many bytes."""
    off, length = read_bytes(walk, base, at)
    if off != b.FAILED and length != size:
        return fail(walk, b.BAD_VALUE, at, length)
    return off


@compiled
def _scan_attrs(walk: int, base: int, at: int, count: int) -> int:
    """The offset behind attributes and all elements that are not known."""
    if count == CHANGE_ELEMENTS:
        return at
    if at >= get(walk, b.END):
        return fail(walk, b.TRUNCATED, at, 0)
    head = byte(base, at)
    behind = at + 1
    if not is_nil(walk, base, at):
        behind = skip(walk, base, at, 1)
        if behind == b.FAILED:
            return b.FAILED
        if head & 0xF0 != 0x80 and head != 0xDE and head != 0xDF:
            return fail(walk, b.WRONG_TYPE, at, head)
        if behind - at > ATTRS_BYTES_MAX:
            return fail(walk, b.BAD_VALUE, at, behind - at)
        line = get(walk, s.ATTRS_AT) + 8 * _ATTRS_WIDTH * get(walk, s.ATTRS)
        put(line, 0, get(walk, b.ENTRY))
        put(line, 1, at)
        put(line, 2, behind - at)
        put(walk, s.ATTRS, get(walk, s.ATTRS) + 1)
    return skip(walk, base, behind, count - CHANGE_ELEMENTS - 1)


@compiled
def _scan_rows(walk: int, base: int, at: int, count: int) -> int:
    """All that stands behind `txn`, with the table known."""
    ts, at = read_time(walk, base, at)
    if at == b.FAILED:
        return b.FAILED
    put(walk, s.WRITE_TS, ts)
    rows, at = read_array(walk, base, at, 0)
    if at == b.FAILED:
        return b.FAILED
    for _ in range(rows):
        at = scan_row(walk, base, at)
        if at == b.FAILED:
            return b.FAILED
    at = _scan_attrs(walk, base, at, count)
    if at != b.FAILED and at != get(walk, b.END):
        return fail(walk, b.WRONG_SIZE, at, get(walk, b.END) - at)
    return at


@compiled
def _count_rows(walk: int, base: int, at: int, id_at: int, count: int) -> int:
    """A change of a table that is not kept: in a transaction its rows are counted."""
    if get(walk, s.IN_TXN):
        updates, rows, values, cells = get(walk, b.UPDATES), get(walk, b.ROWS), get(walk, b.VALUES), get(walk, b.CELLS)
        attrs = get(walk, s.ATTRS)
        put(walk, s.KEY_COLUMNS, s.COUNTS_ONLY)
        put(walk, s.CLUSTERING, 0)
        at = _scan_rows(walk, base, at, count)
        if at == b.FAILED:
            return b.FAILED
        set_counts(walk, updates, rows, values, cells)
        put(walk, s.ATTRS, attrs)
    return at if note_skip(walk, base, id_at) else b.FAILED


@compiled
def _scan_change(walk: int, base: int, at: int, count: int) -> int:
    id_at = _read_exactly(walk, base, at, TABLE_ID_BYTES)
    if id_at == b.FAILED:
        return b.FAILED
    print_at = _read_exactly(walk, base, id_at + TABLE_ID_BYTES, FINGERPRINT_BYTES)
    if print_at == b.FAILED:
        return b.FAILED
    at = print_at + FINGERPRINT_BYTES
    if is_nil(walk, base, at):
        at += 1
    else:
        at_txn = at
        txn, at = read_int(walk, base, at)
        if at == b.FAILED:
            return b.FAILED
        if txn < 0:
            return fail(walk, b.BAD_VALUE, at_txn, txn)
        if not get(walk, s.IN_TXN):
            return at
    line = find_print(walk, base, id_at, print_at)
    number = get(line, r.P_NUMBER)
    if number != f.UNKNOWN and get(line, r.P_KEPT):
        turn_to(walk, number)
        return _scan_rows(walk, base, at, count)
    if number == f.UNKNOWN and (not get(walk, b.SKIP_UNKNOWN) or is_kept_head(walk, base, id_at)):
        return fail_name(walk, b.UNKNOWN_TABLE, id_at, TABLE_ID_BYTES)
    return _count_rows(walk, base, at, id_at, count)


@inlined
def _scan_entry(walk: int, base: int) -> int:
    start, end = get(walk, b.START), get(walk, b.END)
    if start >= end:
        return fail(walk, b.TRUNCATED, start, 0)
    head = byte(base, start)
    if head & 0xF0 != 0x90:
        return fail(walk, b.WRONG_TYPE, start, head)
    if start + 1 >= end:
        return fail(walk, b.TRUNCATED, start + 1, 0)
    kind, count = byte(base, start + 1), head & 0x0F
    if kind == CHANGE:
        if count < CHANGE_ELEMENTS:
            return fail(walk, b.BAD_VALUE, start, count)
        return _scan_change(walk, base, start + 2, count)
    if DEFINITION <= kind <= STATE or KIND_IGNORABLE <= kind < 0x80 or 0xCC <= kind <= 0xCF:
        return end
    return fail(walk, b.UNKNOWN_KIND, start + 1, kind)


@entry_point
def scan_from(
    walk: int, base: int, limit: int, starts_at: int, sizes_at: int, moved: int, count: int, first: int
) -> int:
    """Scans entries from number `first` on; the number of the one at which it stopped, or `count` for all.

    Addresses: of the block, the data (`limit` bytes), and of the entries' starts, each `moved` too large, and sizes.
    """
    find_places(walk)
    entry, wait = first, 0
    while entry < count:
        if wait == 0:
            before = entry
            entry = scan_straight(walk, base, starts_at, sizes_at, moved, before, count, limit)
            wait = b.TRIES_APART if entry == before else 1
            continue
        wait -= 1
        start, size = get(starts_at, entry) - moved, get(sizes_at, entry)
        begin_entry(walk, entry, start, size)
        if not get(walk, s.IN_TXN):
            put(walk, b.NUMBER, 0)
        if start < 0 or size < 0 or start > limit or size > limit - start:
            fail(walk, b.TRUNCATED, start, size)
            return entry
        updates, rows, values, cells = get(walk, b.UPDATES), get(walk, b.ROWS), get(walk, b.VALUES), get(walk, b.CELLS)
        number, attrs, extra = get(walk, b.NUMBER), get(walk, s.ATTRS), get(walk, s.EXTRA)
        if _scan_entry(walk, base) == b.FAILED:
            set_counts(walk, updates, rows, values, cells)
            put(walk, b.NUMBER, number)
            put(walk, s.ATTRS, attrs)
            put(walk, s.EXTRA, extra)
            return entry
        entry += 1
    put(walk, b.STATUS, b.OK)
    return count
