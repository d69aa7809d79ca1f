"""The change that most are, compiled: one insert or update of simple columns, nothing but values with its own time.

The straight way through `entries` for what a service writes; see `mutation.compiled.straight`, whose rules hold: it
only goes where every check of the long way would pass, writes the same lines, and leaves every other entry to that,
from its start.

    97 02 | C4 10 table id | C4 08 fingerprint | C0 | CF write time 8 | 91 one row | C0 no attributes
    row: 99 | operation | array of key | array of clustering values or C0 | C2 | C0 C0 C0 | array of cells | C0
    cell: 96 | column | bytes or C0 | C0 C0 C0 C0
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.jit.decorators import compiled, inlined
from tailer.jit.words import byte, get, half_word, put, word
from tailer.limits import KEY_PART_BYTES_MAX
from tailer.scan.compiled import block as b
from tailer.scan.compiled import lines as ln
from tailer.scan.compiled import one_row as o
from tailer.scan.compiled.lines import add_one_row, has_room, next_cell, next_value, put_cell, put_value
from tailer.scan.compiled.one_row import BY_COLUMN, TO_LINES
from tailer.scan.index import CELL_DELETED, HAS_TIMESTAMP, NO_DELETION
from tailer.scan.mutation.compiled import flat as f
from tailer.scan.record.compiled import flat as r
from tailer.scan.record.compiled import state as s
from tailer.scan.record.compiled.ids import find_print, turn_to
from tailer.scan.record.compiled.pieces import (
    NO_TIMES,
    NULL,
    is_known,
    is_other,
    scan_column,
    scan_count,
    scan_value,
    straight_bytes,
)
from tailer.scan.record.compiled.rows import put_part
from tailer.scan.record.heads import NIL
from tailer.scan.record.record import INSERT, UPDATE

_signed: Any = np.int64

PARTS_MAX: Final = 15
"""Elements that the head of an array counts."""

STRAIGHT_SLACK: Final = 48
"""Bytes that must follow an entry: fewer than follow every change, as a `state` ends its section."""

_HEAD: Final = np.uint64(0x9702C410)
_PRINT: Final = np.uint64(0xC408)
_ROW: Final = np.uint64(0x9199)
_TIMES: Final = np.uint64(0xC2C0C0C0)
_ONE_ROW: Final = 3
_PLAIN_CELL: Final = 0x9600C4
_CELL: Final = np.uint64(40)
_HALF: Final = np.uint64(32)
_QUARTER: Final = np.uint64(48)


@compiled
def scan_straight(
    walk: int, base: int, starts: int, sizes: int, moved: int, first: int, behind: int, limit: int
) -> int:
    """Scans entries from number `first` on, up to `behind`, as long as they are such; the number of the next.

    Only those with STRAIGHT_SLACK bytes of the data (`limit` bytes) behind them; none of a transaction.
    """
    high = low = mark = np.uint64(0)
    entry, one_row, is_turned = first, 0, False
    while entry < behind and not get(walk, s.IN_TXN):
        start, size = get(starts, entry) - moved, get(sizes, entry)
        if start < 0 or size < 0 or start > limit - STRAIGHT_SLACK or size > limit - STRAIGHT_SLACK - start:
            break
        if word(base, start) >> _HALF != _HEAD or word(base, start + 20) >> _QUARTER != _PRINT:
            if not is_other(base, start, size):
                break
            entry += 1
            continue
        if not is_turned or not is_known(base, start, high, low, mark):
            high, low, mark = word(base, start + 4), word(base, start + 12), word(base, start + 22)
            one_row = _turn(walk, base, start)
            if one_row == b.FAILED:
                break
            is_turned = True
        extra = get(walk, s.EXTRA)
        if not _scan_change(walk, base, start, start + size, entry, one_row):
            put(walk, s.EXTRA, extra)
            break
        entry += 1
    return entry


@compiled
def _turn(walk: int, base: int, start: int) -> int:
    """Turns to the entry's table. Where its rows are noted; 0: nowhere, FAILED: the long way is to be taken."""
    line = find_print(walk, base, start + 4, start + 22)
    if get(line, r.P_KEPT) == 0:
        return b.FAILED
    turn_to(walk, get(line, r.P_NUMBER))
    if get(walk, s.CLUSTERING) > PARTS_MAX or get(walk, s.KEY_COLUMNS) > PARTS_MAX:
        return b.FAILED
    one_row = get(walk, b.ONE_ROW)
    return one_row if one_row != 0 and get(one_row, o.TABLE) == get(walk, b.TABLE) else 0


@inlined
def _scan_change(walk: int, base: int, start: int, end: int, entry: int, one_row: int) -> bool:
    """Adds the change's row; whether it is a straight one and there is room. Keys put together are not taken back."""
    at, ts, op = start + 40, _signed(word(base, start + 32)), byte(base, start + 42)
    if byte(base, start + 30) != NIL or byte(base, start + 31) != 0xCF or ts < 0:
        return False
    if word(base, at) >> _QUARTER != _ROW or op > UPDATE:
        return False
    key, key_length, at = _scan_key(walk, base, at + _ONE_ROW, end, get(walk, s.KEY_COLUMNS))
    if at == b.FAILED:
        return False
    if one_row:
        at = _scan_values(walk, base, at, end, one_row, BY_COLUMN)
    else:
        at = _scan_values(walk, base, at, end, one_row, TO_LINES)
    if at == b.FAILED or half_word(base, at) != _TIMES:
        return False
    count, at = scan_count(base, at + 4)
    if at == b.FAILED or (op == UPDATE and count == 0):
        return False
    if one_row:
        return _note_row(walk, base, at, end, count, entry, op, ts, key, key_length, one_row)
    return _put_row(walk, base, at, end, count, entry, op, ts, key, key_length)


@inlined
def _scan_key(walk: int, base: int, at: int, end: int, count: int) -> tuple[int, int, int]:
    """Where the key lies, its length, and the offset behind; FAILED."""
    if byte(base, at) != 0x90 | count:
        return 0, 0, b.FAILED
    at += 1
    if count == 1:
        off, length = straight_bytes(base, at, end)
        return off, length, b.FAILED if off == b.FAILED else off + length
    begun = get(walk, s.EXTRA)
    for _ in range(count):
        off, length = straight_bytes(base, at, end)
        if off == b.FAILED or length > KEY_PART_BYTES_MAX:
            return 0, 0, b.FAILED
        put_part(walk, base, off, length)
        at = off + length
    return get(walk, s.DATA_END) + begun, get(walk, s.EXTRA) - begun, at


@inlined
def _scan_values(walk: int, base: int, at: int, end: int, one_row: int, by_column: bool) -> int:
    """The offset behind clustering values, or FAILED."""
    head, count = byte(base, at), get(walk, s.CLUSTERING)
    if count == 0:
        return at + 1 if head == NIL or head == 0x90 else b.FAILED
    if head != 0x90 | count or (not by_column and not has_room(walk, count, 0)):
        return b.FAILED
    at += 1
    for number in range(count):
        off, length = straight_bytes(base, at, end)
        if off == b.FAILED:
            return b.FAILED
        if by_column:
            o.put_place(o.places(one_row, get(one_row, o.CLUSTERING)), number, off, length)
        else:
            put_value(next_value(walk) + ln.VALUE_BYTES * number, off, length)
        at = off + length
    return at


@inlined
def _is_end(base: int, at: int, end: int) -> bool:
    """Whether nothing stands there but neither bounds nor attributes."""
    return at + 2 == end and byte(base, at) == NIL and byte(base, at + 1) == NIL


@inlined
def _put_row(
    walk: int, base: int, at: int, end: int, count: int, entry: int, op: int, ts: int, key: int, key_length: int
) -> bool:
    """Adds the lines of a row, from its first cell on; whether it is a straight one and there is room."""
    if not has_room(walk, get(walk, s.CLUSTERING), count):
        return False
    at = _scan_cells(walk, base, at, end, count, ts, next_cell(walk), TO_LINES)
    if at == b.FAILED or not _is_end(base, at, end):
        return False
    flags = HAS_TIMESTAMP if op == INSERT else 0
    row_ts = ts if op == INSERT else NO_DELETION
    add_one_row(walk, entry, get(walk, b.TABLE), key, key_length, flags, row_ts, get(walk, s.CLUSTERING), count)
    return True


@inlined
def _note_row(
    walk: int,
    base: int,
    at: int,
    end: int,
    count: int,
    entry: int,
    op: int,
    ts: int,
    key: int,
    key_length: int,
    one_row: int,
) -> bool:
    """Notes a row by the column, from its first cell on; whether it is a straight one, with all others' columns."""
    width = get(one_row, o.WIDTH)
    if width != count and (width != o.UNSET or not _learn_cells(walk, base, at, end, count, one_row)):
        return False
    at = _note_cells(base, at, end, count, one_row)
    if at == b.FAILED or not _is_end(base, at, end):
        return False
    if op == UPDATE:
        o.set_update(one_row)
    o.add_row(one_row, entry, ts, key, key_length)
    put(one_row, o.WIDTH, count)
    return True


@inlined
def _scan_cells(walk: int, base: int, at: int, end: int, count: int, ts: int, to: int, by_column: bool) -> int:
    """The offset behind cells of simple, not static columns in rising order, or FAILED.

    `to`: where their lines go; or what learns `by_column` which columns they are, and notes no values.
    """
    first = get(walk, s.KEY_COLUMNS) + get(walk, s.CLUSTERING)
    last, columns, most = get(walk, s.STATICS) - 1, get(walk, s.COLUMNS_AT), get(walk, s.COLUMNS_N)
    for taken in range(count):
        number, at = scan_column(base, at)
        place = number - first
        column = columns + 8 * f.C_WIDTH * place
        if at == b.FAILED or place <= last or place >= most or get(column, f.C_MULTI):
            return b.FAILED
        last = place
        off, length, at = scan_value(base, at, end)
        if at == b.FAILED or at > end:
            return b.FAILED
        if not by_column:
            flags = CELL_DELETED if length == NULL else 0
            cell = to + ln.CELL_BYTES * taken
            put_cell(cell, get(column, f.C_NUMBER), flags, ts, 0, 0, 0, 0, off, max(length, 0))
        elif not _learn_column(to, taken, number, get(column, f.C_NUMBER)):
            return b.FAILED
    return at


@inlined
def _learn_column(one_row: int, taken: int, number: int, column: int) -> bool:
    """Notes a column that the first row sets; whether it is wanted."""
    slot = get(get(one_row, o.SLOTS), column)
    put(get(one_row, o.SETS), taken, slot)
    put(get(one_row, o.NUMBERS), taken, number)
    return slot != o.UNWANTED


@compiled
def _learn_cells(walk: int, base: int, at: int, end: int, count: int, one_row: int) -> bool:
    """Notes which columns the first row sets, which all others are to set too; whether it is a straight one."""
    return _scan_cells(walk, base, at, end, count, 0, one_row, BY_COLUMN) != b.FAILED


@inlined
def _note_cells(base: int, at: int, end: int, count: int, one_row: int) -> int:
    """The offset behind cells of the columns that all rows noted set, or FAILED. They need no look at the table."""
    to, numbers = o.places(one_row, get(one_row, o.SETS)), get(one_row, o.NUMBERS)
    for taken in range(count):
        # A cell of six, a column of one byte, bytes of one byte's length: what most begin with, read at once.
        head, number = word(base, at), get(numbers, taken)
        if number < 0x80 and _signed(head >> _CELL) == _PLAIN_CELL | number << 8:
            start, length = at + 4, _signed(head >> _HALF) & 0xFF
            at = start + length
            if at + 4 > end or half_word(base, at) != NO_TIMES:
                return b.FAILED
            at += 4
        else:
            found, at = scan_column(base, at)
            if at == b.FAILED or found != number:
                return b.FAILED
            start, length, at = scan_value(base, at, end)
            if at == b.FAILED or at > end:
                return b.FAILED
            if length == NULL:
                length = o.DELETED
        o.put_place(to, taken, start, length)
    return at
