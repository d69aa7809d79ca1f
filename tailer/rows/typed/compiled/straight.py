"""Which rows of an index are typed column by column, their times and where their values lie. Compiled.

A row is straight where it has one value of each column at most, or nothing but a deletion; a range is where it opens.
Every other row is marked, for the plain twin: a deletion with values, a column that comes twice. Works on addresses
(`tailer.jit.words`): whoever calls keeps the arrays alive.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.jit.decorators import compiled, entry_point, inlined
from tailer.jit.memory import get_offset, give_offset, load, store
from tailer.jit.words import get, put
from tailer.rows.generic.compiled.times import differs, times_of_cells
from tailer.scan.compiled import lines as ln
from tailer.scan.compiled import one_row as o
from tailer.scan.index import (
    CELL_DELETED,
    CELL_EXPIRING,
    HAS_DELETION,
    HAS_TIMESTAMP,
    HAS_TTL,
    NO_TTL,
    PARTITION_DELETION,
    RANGE_END,
    ROW_LINE,
    STATIC_ROW,
)
from tailer.scan.record import record
from tailer.types.compiled.token import token

INSERT: Final = record.INSERT
UPDATE: Final = record.UPDATE
DELETE_ROW: Final = 2
DELETE_PARTITION: Final = 3
DELETE_RANGE: Final = 4

ABSENT: Final = -1
DELETED: Final = o.DELETED
CHANGED: Final = -3
"""In place of a length: the row has no such value; it deletes the column; it changes elements of it."""

SLOW: Final = -1
"""In place of a slot: a row with a value of this column is not straight."""

CHANGES: Final = -2
"""Less the slot, in its place: elements of the column are changed, which sets no value."""

IS_TIMED: Final = 0x100
"""A flag of a row of the index without liveness: its times are those of its cells."""

NO_LINE: Final = -1
"""In place of the number of a row's line in the index: it has none."""

# Numbers of `work`. What is read: addresses of the index's lines, the data, the entries' offsets; the table.
UPDATES: Final = 0
ROWS: Final = 1
VALUES: Final = 2
CELLS: Final = 3
DATA: Final = 4
OFFSETS: Final = 5
TABLE: Final = 6
ROW_COUNT: Final = 7
# By column number the place in the form, or SLOW; by entry, whether all its rows are slow; places of the key columns.
SLOTS: Final = 8
FORCED: Final = 9
KEY_SLOTS: Final = 10
KEY_COUNT: Final = 11
CLUSTERING_SLOTS: Final = 12
CLUSTERING_COUNT: Final = 13
# What is written: by row of the index whether it is slow; then by straight row.
SLOW_ROWS: Final = 14
BAD: Final = 15
ENTRY: Final = 16
OFFSET: Final = 17
NUMBER: Final = 18
OP: Final = 19
STATIC: Final = 20
TS: Final = 21
TTL: Final = 22
EXPIRES: Final = 23
TOKEN: Final = 24
# Slots that rows set, one row's after another's, and offsets to them, one more than rows.
SETS: Final = 25
ENDS: Final = 26
# By column of the form and row, ROOM rows apart: where a value lies.
OFF: Final = 27
LENGTH: Final = 28
ROOM: Final = 29
# Of all rows at once: operations as bits; whether one is static, has a TTL, has a number but 0, sets other columns than
# the first, has a cell with other times than its own.
SEEN_OPS: Final = 30
SEEN_STATIC: Final = 31
SEEN_TTL: Final = 32
SEEN_NUMBER: Final = 33
MIXED: Final = 34
SEEN_CELLS: Final = 35
# By straight row the number of its line in the index.
LINE: Final = 36
SIZE: Final = 37


_NOT: Final = -1
_TIMED: Final = CELL_DELETED | CELL_EXPIRING


@compiled
def _take_rows(work: int) -> int:
    """Notes what all rows that are plain are, and where their values lie."""
    line, updates, table, rows = get(work, ROWS), get(work, UPDATES), get(work, TABLE), get(work, ROW_COUNT)
    forced, slow, ends = get(work, FORCED), get(work, SLOW_ROWS), get(work, ENDS)
    count = place = width = 0
    mixed = False
    last = np.int64(_NOT)
    seen_static = seen_number = np.int64(0)
    give_offset(ends, 0, 0)
    for row in range(rows):
        update = updates + ln.UPDATE_BYTES * get(line, ln.R_UPDATE)
        if get(update, ln.U_TABLE) == table:
            end: Any = np.int64(_NOT)
            if load(forced + get(update, ln.U_ENTRY)) == 0:
                end = _take_alike(work, line, count, place, width)
                if end == _NOT:
                    mixed = count != 0
                    end = _take_row(work, line, count, place)
            if end == _NOT:
                store(slow + row, 1)
            elif get(line, ln.R_KIND) != RANGE_END:
                width, place = end - place, end
                last = _put_head(work, line, update, count, last)
                put(get(work, LINE), count, row)
                seen_static |= np.int64(get(line, ln.R_KIND) == STATIC_ROW)
                seen_number |= get(line, ln.R_NUMBER)
                count += 1
                give_offset(ends, count, place)
        line += ln.ROW_BYTES
    put(work, SEEN_STATIC, seen_static)
    put(work, SEEN_NUMBER, seen_number)
    _see_ops(work, count)
    put(work, MIXED, np.int64(mixed and _is_mixed(work, count)))
    return count


@inlined
def _take_alike(work: int, line: int, at: int, place: int, width: int) -> int:
    """The same as `_take_row` for what most rows are: an insert of the same `width` columns as the row before."""
    if get(line, ln.R_KIND) != ROW_LINE or get(line, ln.R_FLAGS) != HAS_TIMESTAMP or get(line, ln.R_CELLS_N) != width:
        return _NOT
    cell, ts = get(work, CELLS) + ln.CELL_BYTES * get(line, ln.R_CELLS), get(line, ln.R_TS)
    slots, sets, off, length = get(work, SLOTS), get(work, SETS), get(work, OFF), get(work, LENGTH)
    room = 4 * get(work, ROOM)
    for taken in range(place, place + width):
        slot = get_offset(slots, get(cell, ln.C_COLUMN))
        if slot != get_offset(sets, taken - width) or get(cell, ln.C_FLAGS) & _TIMED or get(cell, ln.C_TS) != ts:
            _forget(work, line, at, taken - place)
            return _NOT
        give_offset(off + slot * room, at, get(cell, ln.C_VALUE))
        give_offset(length + slot * room, at, get(cell, ln.C_VALUE_LENGTH))
        give_offset(sets, taken, slot)
        cell += ln.CELL_BYTES
    store(get(work, OP) + at, INSERT)
    put(get(work, TS), at, ts)
    return place + width


@compiled
def _forget(work: int, line: int, at: int, count: int) -> None:
    """Takes back what the first cells of a row gave the row at `at`."""
    length, slots, room = get(work, LENGTH), get(work, SLOTS), 4 * get(work, ROOM)
    cell = get(work, CELLS) + ln.CELL_BYTES * get(line, ln.R_CELLS)
    for _ in range(count):
        slot = get_offset(slots, get(cell, ln.C_COLUMN))
        give_offset(length + (CHANGES - slot if slot <= CHANGES else slot) * room, at, ABSENT)
        cell += ln.CELL_BYTES


@compiled
def _take_row(work: int, line: int, at: int, place: int) -> int:
    """Where its sets end, or _NOT where the row is not plain. The end of a range is no row."""
    kind, flags, count = get(line, ln.R_KIND), get(line, ln.R_FLAGS), get(line, ln.R_CELLS_N)
    if kind == PARTITION_DELETION or (kind <= ROW_LINE and flags & HAS_DELETION):
        if kind != PARTITION_DELETION and (flags & HAS_TIMESTAMP or count):
            return _NOT
        store(get(work, OP) + at, DELETE_PARTITION if kind == PARTITION_DELETION else DELETE_ROW)
        put(get(work, TS), at, get(line, ln.R_DELETION))
        return place
    if kind > ROW_LINE:
        store(get(work, OP) + at, DELETE_RANGE)
        put(get(work, TS), at, get(line, ln.R_TS))
        return place
    ts, ttl, expires = get(line, ln.R_TS), np.int64(NO_TTL), np.int64(0)
    if flags & HAS_TTL:
        ttl, expires = get(line, ln.R_TTL), get(line, ln.R_EXPIRES)
    if not flags & (HAS_TIMESTAMP | IS_TIMED):
        if count == 0:
            return _NOT
        first = get(work, CELLS) + ln.CELL_BYTES * get(line, ln.R_CELLS)
        ts, ttl, expires = _newest(first, count)
    end = _take_cells(work, line, at, place, ts, ttl, expires)
    if end != _NOT:
        store(get(work, OP) + at, INSERT if flags & HAS_TIMESTAMP and kind == ROW_LINE else UPDATE)
        put(get(work, TS), at, ts)
        if ttl != NO_TTL:
            give_offset(get(work, TTL), at, ttl)
            put(get(work, EXPIRES), at, expires)
            put(work, SEEN_TTL, 1)
    return end


@inlined
def _take_cells(work: int, line: int, at: int, place: int, ts: int, ttl: int, expires: int) -> int:
    slots, sets = get(work, SLOTS), get(work, SETS)
    off, length, room = get(work, OFF), get(work, LENGTH), 4 * get(work, ROOM)
    cell, differing = get(work, CELLS) + ln.CELL_BYTES * get(line, ln.R_CELLS), np.int64(0)
    times = ts, np.int64(ttl != NO_TTL), ttl, expires
    for taken in range(get(line, ln.R_CELLS_N)):
        slot, size = get_offset(slots, get(cell, ln.C_COLUMN)), np.int64(DELETED)
        is_change = slot <= CHANGES
        if is_change:
            slot, size = CHANGES - slot, np.int64(CHANGED)
        elif not get(cell, ln.C_FLAGS) & CELL_DELETED:
            size = get(cell, ln.C_VALUE_LENGTH)
        if slot == SLOW or get_offset(length + slot * room, at) != ABSENT:
            _forget(work, line, at, taken)
            return _NOT
        differing |= np.int64(differs(cell, times))
        give_offset(off + slot * room, at, get(cell, ln.C_VALUE))
        give_offset(length + slot * room, at, size)
        if not is_change:
            give_offset(sets, place, slot)
            place += 1
        cell += ln.CELL_BYTES
    put(work, SEEN_CELLS, get(work, SEEN_CELLS) | differing)
    return place


@inlined
def _put_head(work: int, line: int, update: int, at: int, last: int) -> int:
    """What a straight row has from its update and line: place, key, clustering. `last`: where the key before lies."""
    entry, key = get(update, ln.U_ENTRY), get(update, ln.U_KEY)
    put(get(work, ENTRY), at, entry)
    put(get(work, NUMBER), at, get(line, ln.R_NUMBER))
    store(get(work, STATIC) + at, get(line, ln.R_KIND) == STATIC_ROW)
    _put_key(work, at, entry, key, get(update, ln.U_KEY_LENGTH), last)
    if get(line, ln.R_KIND) > ROW_LINE:
        return key
    slots = get(work, CLUSTERING_SLOTS)
    value = get(work, VALUES) + ln.VALUE_BYTES * get(line, ln.R_VALUES)
    for column in range(min(get(work, CLUSTERING_COUNT), get(line, ln.R_VALUES_N))):
        _put_place(work, get(slots, column), at, get(value, 0), max(get(value, 1), ABSENT))
        value += ln.VALUE_BYTES
    return key


@inlined
def _put_key(work: int, at: int, entry: int, key: int, length: int, last: int) -> None:
    """The entry's offset, the token, and where the values of the partition key lie."""
    put(get(work, OFFSET), at, get(get(work, OFFSETS), entry))
    tokens = get(work, TOKEN)
    if key == last:
        put(tokens, at, get(tokens, at - 1))
    else:
        put(tokens, at, token(get(work, DATA) + key, length))
    slots = get(work, KEY_SLOTS)
    if get(work, KEY_COUNT) == 1:
        _put_place(work, get(slots, 0), at, key, length)
    else:
        _put_parts(work, slots, at, key, key + length)


@compiled
def _see_ops(work: int, count: int) -> None:
    ops, seen = get(work, OP), np.int64(0)
    for at in range(count):
        seen |= np.int64(1) << load(ops + at)
    put(work, SEEN_OPS, seen)


@compiled
def _is_mixed(work: int, count: int) -> bool:
    """Whether rows set other columns than the first."""
    sets, ends = get(work, SETS), get(work, ENDS)
    width = get_offset(ends, 1) if count else 0
    mixed = False
    for at in range(count):
        mixed |= get_offset(ends, at + 1) != width * (at + 1)
    if not mixed:
        for place in range(width, width * count):
            mixed |= get_offset(sets, place) != get_offset(sets, place - width)
    return mixed


@compiled
def _newest(cell: int, count: int) -> Any:
    """The times of a row without liveness."""
    ts, has_ttl, ttl, expires = times_of_cells(cell, cell + ln.CELL_BYTES * count)
    return ts, ttl if has_ttl else np.int64(NO_TTL), expires


@compiled
def _put_parts(work: int, slots: int, at: int, key: int, end: int) -> None:
    """Several values, each behind two bytes of length and before a zero byte (format page 8)."""
    data = get(work, DATA)
    for column in range(get(work, KEY_COUNT)):
        if key + 3 > end:
            break
        size = load(data + key) << 8 | load(data + key + 1)
        if key + 3 + size > end or load(data + key + 2 + size) != 0:
            break
        _put_place(work, get(slots, column), at, key + 2, size)
        key += 3 + size
        if column + 1 == get(work, KEY_COUNT) and key == end:
            return
    store(get(work, BAD) + at, 1)


@inlined
def _put_place(work: int, slot: int, at: int, off: int, size: int) -> None:
    line = 4 * slot * get(work, ROOM)
    give_offset(get(work, OFF) + line, at, off)
    give_offset(get(work, LENGTH) + line, at, size)


@entry_point
def find_straight(work: int) -> int:
    """Notes the straight rows of the table; how many."""
    count = _take_rows(work)
    return count


@entry_point
def put_keys(work: int, rows: int, keys: int, lengths: int) -> int:
    """The same of rows whose ENTRY and other values are there: what comes from offset and length of their keys.

    Gives how many.
    """
    for at in range(rows):
        _put_key(work, at, get(get(work, ENTRY), at), get(keys, at), get(lengths, at), np.int64(_NOT))
    return rows
