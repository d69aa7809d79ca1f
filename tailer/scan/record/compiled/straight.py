"""The change that most are, compiled: one insert or update of simple columns, nothing but values with its own time.

The straight way through `entries` for what a service writes; see `mutation.compiled.straight`, whose rules hold: it
only goes where every check of the long way would pass, writes the same lines, and leaves every other entry to that,
from its start.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.jit.decorators import compiled, inlined
from tailer.jit.words import byte, get, half_word, put, put_half, word
from tailer.scan.index import CELL_DELETED, HAS_TIMESTAMP, NO_DELETION, ROW_LINE
from tailer.scan.mutation.compiled.bounds import ROW_WIDTH, VALUE_WIDTH
from tailer.scan.mutation.compiled.flat import C_MULTI, C_NUMBER, C_WIDTH
from tailer.scan.mutation.compiled.one_row import CLUSTERING as ONE_ROW_CLUSTERING
from tailer.scan.mutation.compiled.one_row import (
    COUNT,
    ENTRY,
    KEY,
    KEY_LENGTH,
    LENGTH,
    NUMBERS,
    OFF,
    OP,
    ROOM,
    SETS,
    SLOTS,
    TS,
    UNSET,
    WIDTH,
)
from tailer.scan.mutation.compiled.one_row import TABLE as ONE_ROW_TABLE
from tailer.scan.mutation.compiled.updates import UPDATE_WIDTH, drop_lines
from tailer.scan.mutation.compiled.walk import (
    CELLS,
    CELLS_AT,
    CELLS_ROOM,
    FAILED,
    ONE_ROW,
    ROWS,
    ROWS_AT,
    ROWS_ROOM,
    TABLE,
    UPDATES,
    UPDATES_AT,
    UPDATES_ROOM,
    VALUES,
    VALUES_AT,
    VALUES_ROOM,
)
from tailer.scan.record.compiled.cells import CELL_WIDTH
from tailer.scan.record.compiled.flat import P_KEPT, P_NUMBER
from tailer.scan.record.compiled.heads import NIL
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
from tailer.scan.record.compiled.state import (
    CLUSTERING,
    COLUMNS_AT,
    COLUMNS_N,
    DATA_END,
    EXTRA,
    IN_TXN,
    KEY_COLUMNS,
    STATICS,
)
from tailer.scan.record.record import INSERT, UPDATE
from tailer.scan.record.rows import PART_BYTES_MAX

_signed: Any = np.int64

DELETED: Final = -2
"""In place of a length: nil. What `rows.typed.compiled.straight` has for it."""

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


@inlined
def _scan_key(walk: int, base: int, at: int, end: int, count: int) -> tuple[int, int, int]:
    """Where the key lies, its length, and the offset behind; FAILED."""
    if byte(base, at) != 0x90 | count:
        return 0, 0, FAILED
    at += 1
    if count == 1:
        off, length = straight_bytes(base, at, end)
        return off, length, FAILED if off == FAILED else off + length
    begun = get(walk, EXTRA)
    for _ in range(count):
        off, length = straight_bytes(base, at, end)
        if off == FAILED or length > PART_BYTES_MAX:
            put(walk, EXTRA, begun)
            return 0, 0, FAILED
        put_part(walk, base, off, length)
        at = off + length
    return get(walk, DATA_END) + begun, get(walk, EXTRA) - begun, at


@inlined
def _put_place(off: int, lengths: int, line: int, at: int, length: int) -> None:
    """Where a value of a row noted by the column lies."""
    put_half(off + line, 0, at)
    put_half(lengths + line, 0, length)


@inlined
def _scan_values(base: int, at: int, end: int, count: int, one_row: int, value: int) -> int:
    """The offset behind clustering values, or FAILED: noted by the column or written to the lines at `value`."""
    head = byte(base, at)
    if count == 0:
        return at + 1 if head == NIL or head == 0x90 else FAILED
    if head != 0x90 | count:
        return FAILED
    at += 1
    for number in range(count):
        off, length = straight_bytes(base, at, end)
        if off == FAILED:
            return FAILED
        if one_row:
            line = 4 * (get(one_row, ROOM) * get(get(one_row, ONE_ROW_CLUSTERING), number) + get(one_row, COUNT))
            _put_place(get(one_row, OFF), get(one_row, LENGTH), line, off, length)
        else:
            put(value, 0, off)
            put(value, 1, length)
            value += 8 * VALUE_WIDTH
        at = off + length
    return at


@inlined
def _put_cell(cell: int, number: int, ts: int, off: int, length: int) -> None:
    put(cell, 0, number)
    put(cell, 1, CELL_DELETED if length == NULL else 0)
    put(cell, 2, ts)
    put(cell, 3, 0)
    put(cell, 4, 0)
    put(cell, 5, 0)
    put(cell, 6, 0)
    put(cell, 7, off)
    put(cell, 8, max(length, 0))


@inlined
def _scan_cells(walk: int, base: int, at: int, end: int, count: int, ts: int, cell: int) -> int:
    """The offset behind cells of simple, not static columns in rising order, or FAILED. Writes lines, not counted."""
    first = get(walk, KEY_COLUMNS) + get(walk, CLUSTERING)
    last, columns, most = get(walk, STATICS) - 1, get(walk, COLUMNS_AT), get(walk, COLUMNS_N)
    for _ in range(count):
        number, at = scan_column(base, at)
        place = number - first
        if at == FAILED or place <= last or place >= most or get(columns + 8 * C_WIDTH * place, C_MULTI):
            return FAILED
        last = place
        off, length, at = scan_value(base, at, end)
        if at == FAILED or at > end:
            return FAILED
        _put_cell(cell, get(columns + 8 * C_WIDTH * place, C_NUMBER), ts, off, length)
        cell += 8 * CELL_WIDTH
    return at


@compiled
def _learn_cells(walk: int, base: int, at: int, end: int, count: int, one_row: int) -> bool:
    """Notes which columns the first row sets, which all others are to set too; whether it is a plain one."""
    first, last, columns = get(walk, KEY_COLUMNS) + get(walk, CLUSTERING), get(walk, STATICS) - 1, get(walk, COLUMNS_AT)
    if count > get(walk, COLUMNS_N):
        return False
    for taken in range(count):
        number, at = scan_column(base, at)
        place = number - first
        if at == FAILED or place <= last or place >= get(walk, COLUMNS_N):
            return False
        last = place
        slot = get(get(one_row, SLOTS), get(columns + 8 * C_WIDTH * place, C_NUMBER))
        if slot < 0:
            return False
        put(get(one_row, SETS), taken, slot)
        put(get(one_row, NUMBERS), taken, number)
        _, _, at = scan_value(base, at, end)
        if at == FAILED or at > end:
            return False
    return True


@inlined
def _one_row_cells(base: int, at: int, end: int, count: int, one_row: int) -> int:
    """The offset behind cells of the columns that all rows noted so set, or FAILED."""
    room, row = 4 * get(one_row, ROOM), 4 * get(one_row, COUNT)
    off, lengths = get(one_row, OFF) + row, get(one_row, LENGTH) + row
    sets, numbers = get(one_row, SETS), get(one_row, NUMBERS)
    for taken in range(count):
        # A cell of six, a column of one byte, bytes of one byte's length: what most begin with, read at once.
        head = word(base, at)
        number, line = get(numbers, taken), room * get(sets, taken)
        if number < 0x80 and _signed(head >> _CELL) == _PLAIN_CELL | number << 8:
            start, length = at + 4, _signed(head >> _HALF) & 0xFF
            at = start + length
            if at + 4 > end or half_word(base, at) != NO_TIMES:
                return FAILED
            at += 4
        else:
            found, at = scan_column(base, at)
            if at == FAILED or found != number:
                return FAILED
            start, length, at = scan_value(base, at, end)
            if at == FAILED or at > end:
                return FAILED
            if length == NULL:
                length = DELETED
        _put_place(off, lengths, line, start, length)
    return at


@inlined
def _put_one_row(
    walk: int, base: int, at: int, end: int, entry: int, op: int, ts: int, key: int, key_length: int, one_row: int
) -> bool:
    """Notes a row, from its cells on; whether it is a plain one."""
    count, at = scan_count(base, at)
    if at == FAILED or (op == UPDATE and count == 0):
        return False
    is_alike = get(one_row, WIDTH) == count and get(one_row, OP) == op
    if not is_alike and (get(one_row, WIDTH) != UNSET or not _learn_cells(walk, base, at, end, count, one_row)):
        return False
    at = _one_row_cells(base, at, end, count, one_row)
    if at == FAILED or at + 2 != end or byte(base, at) != NIL or byte(base, at + 1) != NIL:
        return False
    row = get(one_row, COUNT)
    put(get(one_row, ENTRY), row, entry)
    put(get(one_row, TS), row, ts)
    put(get(one_row, KEY), row, key)
    put(get(one_row, KEY_LENGTH), row, key_length)
    put(one_row, COUNT, row + 1)
    put(one_row, WIDTH, count)
    put(one_row, OP, op)
    return True


@inlined
def _put_update(walk: int, entry: int, key: int, key_length: int) -> None:
    update = get(walk, UPDATES_AT) + 8 * UPDATE_WIDTH * get(walk, UPDATES)
    put(update, 0, entry)
    put(update, 1, get(walk, TABLE))
    put(update, 2, key)
    put(update, 3, key_length)


@inlined
def _put_row(walk: int, op: int, ts: int, values_n: int, cells_n: int) -> None:
    row = get(walk, ROWS_AT) + 8 * ROW_WIDTH * get(walk, ROWS)
    put(row, 0, get(walk, UPDATES))
    put(row, 1, 0)
    put(row, 2, ROW_LINE)
    put(row, 3, HAS_TIMESTAMP if op == INSERT else 0)
    put(row, 4, ts if op == INSERT else NO_DELETION)
    put(row, 5, 0)
    put(row, 6, 0)
    put(row, 7, NO_DELETION)
    put(row, 8, get(walk, VALUES))
    put(row, 9, values_n)
    put(row, 10, get(walk, CELLS))
    put(row, 11, cells_n)


@inlined
def _put_lines(
    walk: int, base: int, at: int, end: int, entry: int, op: int, ts: int, key: int, key_length: int
) -> bool:
    """Adds the lines of a row, from its cells on; whether it is a plain one and there is room."""
    count, at = scan_count(base, at)
    updates, rows, values, cells = get(walk, UPDATES), get(walk, ROWS), get(walk, VALUES), get(walk, CELLS)
    if at == FAILED or count > get(walk, CELLS_ROOM) - cells or (op == UPDATE and count == 0):
        return False
    if updates == get(walk, UPDATES_ROOM) or rows == get(walk, ROWS_ROOM):
        return False
    at = _scan_cells(walk, base, at, end, count, ts, get(walk, CELLS_AT) + 8 * CELL_WIDTH * cells)
    if at == FAILED or at + 2 != end or byte(base, at) != NIL or byte(base, at + 1) != NIL:
        return False
    values_n = get(walk, CLUSTERING)
    _put_update(walk, entry, key, key_length)
    _put_row(walk, op, ts, values_n, count)
    drop_lines(walk, updates + 1, rows + 1, values + values_n, cells + count)
    return True


@compiled
def _turn(walk: int, base: int, start: int) -> int:
    """Turns to the entry's table. Where its rows are noted; 0: nowhere, FAILED: the long way is to be taken."""
    line = find_print(walk, base, start + 4, start + 22)
    if get(line, P_KEPT) == 0:
        return FAILED
    turn_to(walk, get(line, P_NUMBER))
    if get(walk, CLUSTERING) > PARTS_MAX or get(walk, KEY_COLUMNS) > PARTS_MAX:
        return FAILED
    one_row = get(walk, ONE_ROW)
    return one_row if one_row != 0 and get(one_row, ONE_ROW_TABLE) == get(walk, TABLE) else 0


@compiled
def scan_straight(
    walk: int, base: int, starts: int, sizes: int, moved: int, first: int, behind: int, limit: int
) -> int:
    """Scans entries from number `first` on, up to `behind`, as long as they are such; the number of the next.

    Only those with STRAIGHT_SLACK bytes of the data (`limit` bytes) behind them; none of a transaction.
    """
    high = low = mark = np.uint64(0)
    entry, one_row, is_turned = first, 0, False
    while entry < behind and not get(walk, IN_TXN):
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
            if one_row == FAILED:
                break
            is_turned = True
        end, at, extra = start + size, start + 40, get(walk, EXTRA)
        ts, op = _signed(word(base, start + 32)), byte(base, at + 2)
        if byte(base, start + 30) != NIL or byte(base, start + 31) != 0xCF or ts < 0:
            break
        if word(base, at) >> _QUARTER != _ROW or op > UPDATE:
            break
        key, key_length, at = _scan_key(walk, base, at + _ONE_ROW, end, get(walk, KEY_COLUMNS))
        if at == FAILED:
            break
        values, values_n = get(walk, VALUES), get(walk, CLUSTERING)
        is_plain = one_row != 0 or values_n <= get(walk, VALUES_ROOM) - values
        if is_plain:
            at = _scan_values(base, at, end, values_n, one_row, get(walk, VALUES_AT) + 8 * VALUE_WIDTH * values)
            is_plain = at != FAILED and half_word(base, at) == _TIMES
        if is_plain:
            if one_row:
                is_plain = _put_one_row(walk, base, at + 4, end, entry, op, ts, key, key_length, one_row)
            else:
                is_plain = _put_lines(walk, base, at + 4, end, entry, op, ts, key, key_length)
        if not is_plain:
            put(walk, EXTRA, extra)
            break
        entry += 1
    return entry
