"""Entries of a service's log, compiled: the loop of `scan.record.scan`, and the tables it looks for."""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled, entry_point, inlined
from tailer.jit.words import byte, get, put
from tailer.limits import ATTRS_BYTES_MAX
from tailer.scan.index import Status
from tailer.scan.mutation.compiled.flat import UNKNOWN
from tailer.scan.mutation.compiled.mutations import TRIES_APART, note_skip
from tailer.scan.mutation.compiled.updates import drop_lines
from tailer.scan.mutation.compiled.walk import (
    CELLS,
    END,
    ENTRY,
    FAILED,
    KEPT_INSIDE,
    NUMBER,
    PLACES,
    PLACES_N,
    ROWS,
    SKIP_UNKNOWN,
    START,
    STATUS,
    TABLE,
    UPDATES,
    UPDATES_AT,
    VALUES,
    fail,
    fail_name,
)
from tailer.scan.record.compiled.flat import P_KEPT, P_NUMBER
from tailer.scan.record.compiled.heads import (
    BAD_VALUE,
    TRUNCATED,
    WRONG_TYPE,
    is_nil,
    read_array,
    read_bytes,
    read_int,
    skip,
)
from tailer.scan.record.compiled.ids import find_print, is_kept_head, turn_to
from tailer.scan.record.compiled.rows import scan_row
from tailer.scan.record.compiled.state import (
    ATTRS,
    ATTRS_AT,
    CLUSTERING,
    COUNTS_ONLY,
    EXTRA,
    IN_TXN,
    KEY_COLUMNS,
    WRITE_TS,
)
from tailer.scan.record.compiled.straight import scan_straight
from tailer.scan.record.compiled.times import read_time
from tailer.scan.record.record import CHANGE, DEFINITION, KIND_IGNORABLE, STATE
from tailer.scan.record.scan import ATTRS_FIELDS, CHANGE_ELEMENTS, FINGERPRINT_BYTES, TABLE_ID_BYTES
from tailer.scan.record.walk import NO_TABLE

OK: Final = int(Status.OK)
UNKNOWN_TABLE: Final = int(Status.UNKNOWN_TABLE)
UNKNOWN_KIND: Final = int(Status.UNKNOWN_KIND)
WRONG_SIZE: Final = int(Status.WRONG_SIZE)

_ATTRS_WIDTH: Final = len(ATTRS_FIELDS)


@compiled
def _read_exactly(walk: int, base: int, at: int, size: int) -> int:
    """The offset of so many bytes."""
    off, length = read_bytes(walk, base, at)
    if off != FAILED and length != size:
        return fail(walk, BAD_VALUE, at, length)
    return off


@compiled
def _scan_attrs(walk: int, base: int, at: int, count: int) -> int:
    """The offset behind attributes and all elements that are not known."""
    if count == CHANGE_ELEMENTS:
        return at
    if at >= get(walk, END):
        return fail(walk, TRUNCATED, at, 0)
    head = byte(base, at)
    behind = at + 1
    if not is_nil(walk, base, at):
        behind = skip(walk, base, at, 1)
        if behind == FAILED:
            return FAILED
        if head & 0xF0 != 0x80 and head != 0xDE and head != 0xDF:
            return fail(walk, WRONG_TYPE, at, head)
        if behind - at > ATTRS_BYTES_MAX:
            return fail(walk, BAD_VALUE, at, behind - at)
        line = get(walk, ATTRS_AT) + 8 * _ATTRS_WIDTH * get(walk, ATTRS)
        put(line, 0, get(walk, ENTRY))
        put(line, 1, at)
        put(line, 2, behind - at)
        put(walk, ATTRS, get(walk, ATTRS) + 1)
    return skip(walk, base, behind, count - CHANGE_ELEMENTS - 1)


@compiled
def _scan_rows(walk: int, base: int, at: int, count: int) -> int:
    """All that stands behind `txn`, with the table known."""
    ts, at = read_time(walk, base, at)
    if at == FAILED:
        return FAILED
    put(walk, WRITE_TS, ts)
    rows, at = read_array(walk, base, at, 0)
    if at == FAILED:
        return FAILED
    for _ in range(rows):
        at = scan_row(walk, base, at)
        if at == FAILED:
            return FAILED
    at = _scan_attrs(walk, base, at, count)
    if at != FAILED and at != get(walk, END):
        return fail(walk, WRONG_SIZE, at, get(walk, END) - at)
    return at


@compiled
def _count_rows(walk: int, base: int, at: int, id_at: int, count: int) -> int:
    """A change of a table that is not kept: in a transaction its rows are counted."""
    if get(walk, IN_TXN):
        updates, rows, values, cells = get(walk, UPDATES), get(walk, ROWS), get(walk, VALUES), get(walk, CELLS)
        attrs = get(walk, ATTRS)
        put(walk, KEY_COLUMNS, COUNTS_ONLY)
        put(walk, CLUSTERING, 0)
        at = _scan_rows(walk, base, at, count)
        if at == FAILED:
            return FAILED
        drop_lines(walk, updates, rows, values, cells)
        put(walk, ATTRS, attrs)
    return at if note_skip(walk, base, id_at) else FAILED


@compiled
def _scan_change(walk: int, base: int, at: int, count: int) -> int:
    id_at = _read_exactly(walk, base, at, TABLE_ID_BYTES)
    if id_at == FAILED:
        return FAILED
    print_at = _read_exactly(walk, base, id_at + TABLE_ID_BYTES, FINGERPRINT_BYTES)
    if print_at == FAILED:
        return FAILED
    at = print_at + FINGERPRINT_BYTES
    if is_nil(walk, base, at):
        at += 1
    else:
        at_txn = at
        txn, at = read_int(walk, base, at)
        if at == FAILED:
            return FAILED
        if txn < 0:
            return fail(walk, BAD_VALUE, at_txn, txn)
        if not get(walk, IN_TXN):
            return at
    line = find_print(walk, base, id_at, print_at)
    number = get(line, P_NUMBER)
    if number != UNKNOWN and get(line, P_KEPT):
        turn_to(walk, number)
        return _scan_rows(walk, base, at, count)
    if number == UNKNOWN and (not get(walk, SKIP_UNKNOWN) or is_kept_head(walk, base, id_at)):
        return fail_name(walk, UNKNOWN_TABLE, id_at, TABLE_ID_BYTES)
    return _count_rows(walk, base, at, id_at, count)


@inlined
def _scan_entry(walk: int, base: int) -> int:
    start, end = get(walk, START), get(walk, END)
    if start >= end:
        return fail(walk, TRUNCATED, start, 0)
    head = byte(base, start)
    if head & 0xF0 != 0x90:
        return fail(walk, WRONG_TYPE, start, head)
    if start + 1 >= end:
        return fail(walk, TRUNCATED, start + 1, 0)
    kind, count = byte(base, start + 1), head & 0x0F
    if kind == CHANGE:
        if count < CHANGE_ELEMENTS:
            return fail(walk, BAD_VALUE, start, count)
        return _scan_change(walk, base, start + 2, count)
    if DEFINITION <= kind <= STATE or KIND_IGNORABLE <= kind < 0x80 or 0xCC <= kind <= 0xCF:
        return end
    return fail(walk, UNKNOWN_KIND, start + 1, kind)


@inlined
def _begin(walk: int, entry: int, start: int, size: int) -> None:
    """Where the scan is."""
    put(walk, ENTRY, entry)
    put(walk, TABLE, NO_TABLE)
    put(walk, START, start)
    put(walk, END, start + size)
    put(walk, KEPT_INSIDE, 0)
    if not get(walk, IN_TXN):
        put(walk, NUMBER, 0)


@entry_point
def scan_from(
    walk: int, base: int, limit: int, starts_at: int, sizes_at: int, moved: int, count: int, first: int
) -> int:
    """Scans entries from number `first` on; the number of the one at which it stopped, or `count` for all.

    Addresses: of the block, the data (`limit` bytes), and of the entries' starts, each `moved` too large, and sizes.
    """
    for place in range(PLACES_N):
        put(walk, UPDATES_AT + place, walk + get(walk, PLACES + place))
    entry, wait = first, 0
    while entry < count:
        if wait == 0:
            before = entry
            entry = scan_straight(walk, base, starts_at, sizes_at, moved, before, count, limit)
            wait = TRIES_APART if entry == before else 1
            continue
        wait -= 1
        start, size = get(starts_at, entry) - moved, get(sizes_at, entry)
        _begin(walk, entry, start, size)
        if start < 0 or size < 0 or start > limit or size > limit - start:
            fail(walk, TRUNCATED, start, size)
            return entry
        updates, rows, values, cells = get(walk, UPDATES), get(walk, ROWS), get(walk, VALUES), get(walk, CELLS)
        number, attrs, extra = get(walk, NUMBER), get(walk, ATTRS), get(walk, EXTRA)
        if _scan_entry(walk, base) == FAILED:
            drop_lines(walk, updates, rows, values, cells)
            put(walk, NUMBER, number)
            put(walk, ATTRS, attrs)
            put(walk, EXTRA, extra)
            return entry
        entry += 1
    put(walk, STATUS, OK)
    return count
