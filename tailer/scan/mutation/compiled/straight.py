"""The mutation that most are, compiled: one row with a timestamp and all columns of a list that is known.

The straight way through `mutations` for what an INSERT writes: such a row alone, plain values with the row's own time.
It only goes where every check of the long way would pass, and writes the same lines. Whatever else an entry has or
lacks, it is scanned the long way, from its start; lines that are not counted are overwritten there.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.jit.decorators import compiled, inlined
from tailer.jit.vints import read_length, read_vint
from tailer.jit.words import byte, get, put, put_half, word
from tailer.scan.index import HAS_TIMESTAMP, NO_DELETION, ROW_LINE, VALUE_FIELDS
from tailer.scan.mutation.compiled.bounds import ROW_WIDTH
from tailer.scan.mutation.compiled.columns import K_AT, K_BASE, K_COUNT, K_LEN, K_WIDTH, read_column_list
from tailer.scan.mutation.compiled.flat import (
    C_LENGTH,
    C_MULTI,
    I_KEPT,
    I_NUMBER,
    T_COLUMNS_AT,
    T_LENGTHS_AT,
    T_LENGTHS_N,
    T_TRUNCATIONS,
    T_WIDTH,
)
from tailer.scan.mutation.compiled.ids import TABLE_ID_BYTES, find_id
from tailer.scan.mutation.compiled.one_row import (
    CLUSTERING,
    COUNT,
    ENTRY,
    KEY,
    KEY_LENGTH,
    LENGTH,
    OFF,
    ROOM,
    SETS,
    TS,
    one_row_for,
)
from tailer.scan.mutation.compiled.rows import CELL_WIDTH, HAS_ALL_COLUMNS, USE_ROW_TIMESTAMP, put_plain_cell
from tailer.scan.mutation.compiled.updates import END_OF_PARTITION, HAS_ROW_ESTIMATE, UPDATE_WIDTH, drop_lines
from tailer.scan.mutation.compiled.walk import (
    CELLS,
    CELLS_AT,
    CELLS_ROOM,
    END,
    FAILED,
    KNOWN,
    LENGTHS,
    LISTS,
    ROWS,
    ROWS_AT,
    ROWS_ROOM,
    TABLE,
    TABLE_AT,
    TABLES,
    TIMESTAMP_EPOCH,
    UPDATES,
    UPDATES_AT,
    UPDATES_ROOM,
    VALUES,
    VALUES_AT,
    VALUES_ROOM,
    is_beyond,
    is_same,
)
from tailer.scan.tables import NO_COLUMN

VALUE_WIDTH: Final = len(VALUE_FIELDS)
ROW_FLAGS: Final = HAS_TIMESTAMP | HAS_ALL_COLUMNS

VALUES_MAX: Final = 32
"""Clustering values that one header describes."""


@compiled
def scan_straight(walk: int, base: int, starts: int, sizes: int, first: int, behind: int, least: int, most: int) -> int:
    """Scans entries from number `first` on, up to `behind`, as long as they are such; the number of the next.

    Only payloads from `least` up to `most`: these bytes are at `base`, with SLACK behind them.
    """
    updates, rows, values, cells = get(walk, UPDATES), get(walk, ROWS), get(walk, VALUES), get(walk, CELLS)
    high = low = np.uint64(0)
    line = table = known = place = lengths = count = number = one_row = 0
    entry = first
    while entry < behind:
        start, size = get(starts, entry), get(sizes, entry)
        end = start + size
        if start < least or size < 0 or size > most - start or byte(base, start) != 1:
            break
        if line == 0 or word(base, start + 1) != high or word(base, start + 9) != low:
            # Mostly it is the table of the entry before.
            high, low = word(base, start + 1), word(base, start + 9)
            line = find_id(walk, base, start + 1)
            number = get(line, I_NUMBER)
            if get(line, I_KEPT) == 0:
                break
            table, known = get(walk, TABLES) + 8 * T_WIDTH * number, get(walk, KNOWN) + 8 * 2 * K_WIDTH * number
            place = get(walk, LISTS) + 8 * 2 * get(table, T_COLUMNS_AT)
            lengths, count = get(walk, LENGTHS) + 8 * get(table, T_LENGTHS_AT), get(table, T_LENGTHS_N)
            if get(table, T_TRUNCATIONS) != NO_COLUMN or count > VALUES_MAX:
                break
            one_row = one_row_for(walk, number, known, place)
        columns = get(known, K_COUNT)
        if not _has_room(walk, updates, rows, values + count, cells + columns):
            break
        key_length, key = read_vint(base, start + 1 + TABLE_ID_BYTES)
        if is_beyond(key_length, end - key - 1):
            break
        at, ts = _scan_head(base, key + key_length, end)
        if at == FAILED:
            break
        after = _behind_list(base, at, end, known)
        if after == FAILED:
            if not _learn_list(walk, base, at, end, number, table):
                break
            # The same entry once more, with a list that is known.
            line = 0
            continue
        at = _behind(base, after) if byte(base, key + key_length) else after
        if byte(base, at) != ROW_FLAGS:
            break
        if one_row:
            if not _put_one_row(one_row, base, at + 1, end, entry, key, key_length, ts, lengths, count, place, columns):
                break
            entry += 1
            continue
        value, cell = get(walk, VALUES_AT) + 8 * VALUE_WIDTH * values, get(walk, CELLS_AT) + 8 * CELL_WIDTH * cells
        at, ts = _scan_row(base, at + 1, end, ts, lengths, count, place, columns, value, cell)
        if at == FAILED:
            break
        _put_update(get(walk, UPDATES_AT) + 8 * UPDATE_WIDTH * updates, entry, number, key, key_length)
        _put_row(get(walk, ROWS_AT) + 8 * ROW_WIDTH * rows, updates, ts, values, count, cells, columns)
        updates, rows, values, cells, entry = updates + 1, rows + 1, values + count, cells + columns, entry + 1
    drop_lines(walk, updates, rows, values, cells)
    return entry


@inlined
def _has_room(walk: int, updates: int, rows: int, values: int, cells: int) -> bool:
    """Whether there is room for one update and row more, and for so many values and cells."""
    if updates == get(walk, UPDATES_ROOM) or rows == get(walk, ROWS_ROOM):
        return False
    return values <= get(walk, VALUES_ROOM) and cells <= get(walk, CELLS_ROOM)


@inlined
def _scan_row(
    base: int, at: int, end: int, ts: int, lengths: int, count: int, place: int, columns: int, value: int, cell: int
) -> tuple[int, int]:
    """Writes values and cells of a row, from its clustering values on: the offset of its end, and its timestamp."""
    at = _scan_values(base, at, end, lengths, count, value)
    if at == FAILED:
        return FAILED, 0
    delta, at = read_vint(base, at)
    ts += delta + TIMESTAMP_EPOCH
    at = _scan_cells(base, at, end, place, columns, ts, cell)
    return at if at == end - 1 and byte(base, at) == END_OF_PARTITION else FAILED, ts


@inlined
def _scan_head(base: int, at: int, end: int) -> tuple[int, int]:
    """The offset behind the update's bases, from its flags on, and its smallest timestamp, less the epoch."""
    if byte(base, at) & ~HAS_ROW_ESTIMATE:
        return FAILED, 0
    ts, at = read_vint(base, at + 1)
    return _behind(base, _behind(base, at)), ts


@inlined
def _behind_list(base: int, at: int, end: int, known: int) -> int:
    """The offset behind the column list, if it is the one that is known."""
    length = get(known, K_LEN)
    if 0 < length <= end - at and is_same(base, at, get(known, K_BASE), get(known, K_AT), length):
        return at + length
    return FAILED


@compiled
def _learn_list(walk: int, base: int, at: int, end: int, number: int, table: int) -> bool:
    """Reads another list, to be the one that is known."""
    put(walk, TABLE, number)
    put(walk, TABLE_AT, table)
    put(walk, END, end)
    return at <= end and read_column_list(walk, base, at, 0)[0] != FAILED


@inlined
def _put_one_row(
    one_row: int,
    base: int,
    at: int,
    end: int,
    entry: int,
    key: int,
    key_length: int,
    ts: int,
    lengths: int,
    count: int,
    place: int,
    columns: int,
) -> bool:
    """Notes a row, from its clustering values on; whether it is a plain one. Until it is counted, it can be written
    over."""
    row, room = get(one_row, COUNT), 4 * get(one_row, ROOM)
    off, length = get(one_row, OFF) + 4 * row, get(one_row, LENGTH) + 4 * row
    at = _one_row_values(base, at, end, lengths, count, get(one_row, CLUSTERING), off, length, room)
    if at == FAILED:
        return False
    delta, at = read_vint(base, at)
    at = _one_row_cells(base, at, end, place, columns, get(one_row, SETS), off, length, room)
    if at != end - 1 or byte(base, at) != END_OF_PARTITION:
        return False
    put(get(one_row, ENTRY), row, entry)
    put(get(one_row, TS), row, ts + delta + TIMESTAMP_EPOCH)
    put(get(one_row, KEY), row, key)
    put(get(one_row, KEY_LENGTH), row, key_length)
    put(one_row, COUNT, row + 1)
    return True


@inlined
def _one_row_values(
    base: int, at: int, end: int, lengths: int, count: int, slots: int, off: int, sizes: int, room: int
) -> int:
    """As `_scan_values`."""
    if count == 0:
        return at
    header, at = read_vint(base, at)
    if header != 0:
        return FAILED
    for number in range(count):
        length, at = read_length(base, at, get(lengths, number))
        if is_beyond(length, end - at):
            return FAILED
        _put_place(off, sizes, room * get(slots, number), at, length)
        at += length
    return at


@inlined
def _one_row_cells(
    base: int, at: int, end: int, place: int, count: int, slots: int, off: int, sizes: int, room: int
) -> int:
    """As `_scan_cells`."""
    for number in range(count):
        column = get(place, number)
        if byte(base, at) != USE_ROW_TIMESTAMP or get(column, C_MULTI):
            return FAILED
        at += 1
        length, at = read_length(base, at, get(column, C_LENGTH))
        if is_beyond(length, end - at):
            return FAILED
        _put_place(off, sizes, room * get(slots, number), at, length)
        at += length
    return at


@inlined
def _put_place(off: int, sizes: int, line: int, at: int, length: int) -> None:
    """Where a value lies."""
    put_half(off + line, 0, at)
    put_half(sizes + line, 0, length)


@inlined
def _behind(base: int, at: int) -> int:
    """The offset behind a number that nobody asks for."""
    return read_vint(base, at)[1]


@inlined
def _scan_values(base: int, at: int, end: int, lengths: int, count: int, value: int) -> int:
    """The offset behind clustering values that are neither null nor empty."""
    if count == 0:
        return at
    header, at = read_vint(base, at)
    if header != 0:
        return FAILED
    for number in range(count):
        length, at = read_length(base, at, get(lengths, number))
        if is_beyond(length, end - at):
            return FAILED
        put(value, 0, at)
        put(value, 1, length)
        value += 8 * VALUE_WIDTH
        at += length
    return at


@inlined
def _scan_cells(base: int, at: int, end: int, place: int, count: int, ts: int, cell: int) -> int:
    """The offset behind values with the row's timestamp."""
    for number in range(count):
        column = get(place, number)
        if byte(base, at) != USE_ROW_TIMESTAMP or get(column, C_MULTI):
            return FAILED
        at += 1
        length, at = read_length(base, at, get(column, C_LENGTH))
        if is_beyond(length, end - at):
            return FAILED
        put_plain_cell(cell, column, ts, at, length)
        cell += 8 * CELL_WIDTH
        at += length
    return at


@inlined
def _put_update(update: int, entry: int, number: int, key: int, key_length: int) -> None:
    put(update, 0, entry)
    put(update, 1, number)
    put(update, 2, key)
    put(update, 3, key_length)


@inlined
def _put_row(row: int, update: int, ts: int, values_at: int, values_n: int, cells_at: int, cells_n: int) -> None:
    put(row, 0, update)
    put(row, 1, 0)
    put(row, 2, ROW_LINE)
    put(row, 3, HAS_TIMESTAMP)
    put(row, 4, ts)
    put(row, 5, 0)
    put(row, 6, 0)
    put(row, 7, NO_DELETION)
    put(row, 8, values_at)
    put(row, 9, values_n)
    put(row, 10, cells_at)
    put(row, 11, cells_n)
