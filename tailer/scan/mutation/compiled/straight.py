"""The mutation that most are, compiled: one row with a timestamp and all columns of a list that is known.

The straight way through `mutations` for what an INSERT writes: such a row alone, plain values with the row's own time.
It only goes where every check of the long way would pass, and writes the same lines, or notes the row by the column
(`one_row`, which other rows may be too: `straight_timed`). Whatever else an entry has or lacks, it is scanned the long
way, from its start; lines that are not counted are overwritten there.

    1 | table id 16 | key length | key | flags | timestamp | local time | TTL | column list | row estimate if flagged |
    row flags | header 0 and clustering values | timestamp | 08 and value for each column | 01
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.jit.decorators import compiled, inlined
from tailer.jit.vints import read_length, read_vint
from tailer.jit.words import byte, get, put, word
from tailer.scan.compiled import block as b
from tailer.scan.compiled import lines as ln
from tailer.scan.compiled import one_row as o
from tailer.scan.compiled.block import is_beyond
from tailer.scan.compiled.lines import add_one_row, has_room, next_cell, next_value, put_cell
from tailer.scan.compiled.one_row import BY_COLUMN, TO_LINES
from tailer.scan.index import HAS_TIMESTAMP
from tailer.scan.mutation.compiled import flat as f
from tailer.scan.mutation.compiled.columns import (
    K_COUNT,
    K_LEN,
    is_last_list,
    known_lists,
    place_of_list,
    read_column_list,
)
from tailer.scan.mutation.compiled.ids import TABLE_ID_BYTES, find_id
from tailer.scan.mutation.compiled.straight_timed import note_timed
from tailer.scan.mutation.compiled.straight_values import scan_values
from tailer.scan.mutation.compiled.times import TIMESTAMP_EPOCH
from tailer.scan.mutation.flags import END_OF_PARTITION, HAS_ALL_COLUMNS, HAS_ROW_ESTIMATE, USE_ROW_TIMESTAMP
from tailer.scan.tables import NO_COLUMN

ROW_FLAGS: Final = HAS_TIMESTAMP | HAS_ALL_COLUMNS

VALUES_MAX: Final = 32
"""Clustering values that one header describes."""


@compiled
def scan_straight(walk: int, base: int, starts: int, sizes: int, first: int, behind: int, least: int, most: int) -> int:
    """Scans entries from number `first` on, up to `behind`, as long as they are such; the number of the next.

    Only payloads from `least` up to `most`: these bytes are at `base`, with SLACK behind them.
    """
    high = low = np.uint64(0)
    number, known, place, lengths, count, one_row = b.FAILED, 0, 0, 0, 0, 0
    entry = first
    while entry < behind:
        start, size = get(starts, entry), get(sizes, entry)
        if start < least or size < 0 or size > most - start or byte(base, start) != 1:
            break
        # Mostly it is the table of the entry before.
        if number == b.FAILED or word(base, start + 1) != high or word(base, start + 9) != low:
            high, low = word(base, start + 1), word(base, start + 9)
            number, known, place, lengths, count, one_row = _turn(walk, base, start + 1)
            if number == b.FAILED:
                break
        end = start + size
        key, key_length, list_at, ts = _scan_head(base, start + 1 + TABLE_ID_BYTES, end)
        if list_at == b.FAILED:
            break
        at = _behind_list(base, list_at, end, known, byte(base, key + key_length))
        if at == b.FAILED:
            # An entry with another list than that of the rows that are noted takes the long way at once.
            if one_row or not _learn_list(walk, base, list_at, end, number):
                break
            # The same entry once more, with a list that is known.
            number = b.FAILED
            continue
        columns, bases = get(known, K_COUNT), key + key_length + 1
        if one_row:
            at, ts = _note_row(walk, base, bases, at, end, ts, lengths, count, place, columns, one_row)
        else:
            at, ts = _put_row(walk, base, at, end, ts, lengths, count, place, columns)
        if at == b.FAILED:
            break
        _add(walk, entry, number, key, key_length, ts, count, columns, one_row)
        entry += 1
    return entry


@compiled
def _turn(walk: int, base: int, at: int) -> tuple[int, int, int, int, int, int]:
    """The table whose id is at `at`, or FAILED where its rows take the long way.

    What is known of its column list; that list; the lengths of its clustering columns, how many; where rows are noted.
    """
    line = find_id(walk, base, at)
    number = get(line, f.I_NUMBER)
    if get(line, f.I_KEPT) == 0:
        return b.FAILED, 0, 0, 0, 0, 0
    table, known = get(walk, b.TABLES) + 8 * f.T_WIDTH * number, known_lists(walk, number, 0)
    count = get(table, f.T_LENGTHS_N)
    if get(table, f.T_TRUNCATIONS) != NO_COLUMN or count > VALUES_MAX:
        return b.FAILED, 0, 0, 0, 0, 0
    place = place_of_list(walk, table, known, 0)
    lengths = get(walk, b.LENGTHS) + 8 * get(table, f.T_LENGTHS_AT)
    return number, known, place, lengths, count, _one_row_for(walk, number, known, place)


@compiled
def _one_row_for(walk: int, number: int, known: int, place: int) -> int:
    """Where rows of the table of that number with the column list at `place` are noted; 0: nowhere."""
    one_row = get(walk, b.ONE_ROW)
    if one_row == 0 or get(one_row, o.TABLE) != number or get(known, K_LEN) == 0:
        return 0
    width, sets, slots = get(known, K_COUNT), get(one_row, o.SETS), get(one_row, o.SLOTS)
    first = get(one_row, o.WIDTH) == o.UNSET
    if not first and get(one_row, o.WIDTH) != width:
        return 0
    for column in range(width):
        slot = get(slots, get(get(place, column), f.C_NUMBER))
        if slot == o.UNWANTED or (not first and get(sets, column) != slot):
            return 0
        if first:
            put(sets, column, slot)
    put(one_row, o.WIDTH, width)
    return one_row


@inlined
def _behind(base: int, at: int) -> int:
    """The offset behind a number that nobody asks for."""
    return read_vint(base, at)[1]


@inlined
def _scan_head(base: int, at: int, end: int) -> tuple[int, int, int, int]:
    """Where the key lies, its length; the offset behind the update's bases, or FAILED, and its smallest timestamp, less
    the epoch."""
    length, key = read_vint(base, at)
    if is_beyond(length, end - key - 1) or byte(base, key + length) & ~HAS_ROW_ESTIMATE:
        return 0, 0, b.FAILED, 0
    ts, at = read_vint(base, key + length + 1)
    return key, length, _behind(base, _behind(base, at)), ts


@inlined
def _behind_list(base: int, at: int, end: int, known: int, has_estimate: int) -> int:
    """The offset of the row's flags, behind the column list, if it is the one that is known."""
    if not is_last_list(base, at, end, known):
        return b.FAILED
    at += get(known, K_LEN)
    return _behind(base, at) if has_estimate else at


@compiled
def _learn_list(walk: int, base: int, at: int, end: int, number: int) -> bool:
    """Reads another list, to be the one that is known."""
    put(walk, b.TABLE, number)
    put(walk, b.TABLE_AT, get(walk, b.TABLES) + 8 * f.T_WIDTH * number)
    put(walk, b.END, end)
    return at <= end and read_column_list(walk, base, at, 0)[0] != b.FAILED


@inlined
def _note_row(
    walk: int,
    base: int,
    bases: int,
    at: int,
    end: int,
    ts: int,
    lengths: int,
    count: int,
    place: int,
    columns: int,
    one_row: int,
) -> tuple[int, int]:
    """Notes the row's values by the column: `_scan_row`, or `note_timed` where it is no plain insert."""
    values, cells = o.places(one_row, get(one_row, o.CLUSTERING)), o.places(one_row, get(one_row, o.SETS))
    behind, row_ts = _scan_row(base, at, end, ts, lengths, count, place, columns, BY_COLUMN, values, cells)
    if behind != b.FAILED:
        return behind, row_ts
    return note_timed(walk, base, bases, at, end, lengths, count, place, columns, one_row)


@inlined
def _put_row(
    walk: int, base: int, at: int, end: int, ts: int, lengths: int, count: int, place: int, columns: int
) -> tuple[int, int]:
    """Puts the lines of the row's values, if there is room: `_scan_row`."""
    if not has_room(walk, count, columns):
        return b.FAILED, 0
    values, cells = (next_value(walk), 0, 0, 0), (next_cell(walk), 0, 0, 0)
    return _scan_row(base, at, end, ts, lengths, count, place, columns, TO_LINES, values, cells)


@inlined
def _add(
    walk: int, entry: int, number: int, key: int, key_length: int, ts: int, count: int, columns: int, one_row: int
) -> None:
    """Counts the row whose values were put."""
    if one_row:
        o.add_row(one_row, entry, ts, key, key_length)
    else:
        add_one_row(walk, entry, number, key, key_length, HAS_TIMESTAMP, ts, count, columns)


@inlined
def _scan_row(
    base: int,
    at: int,
    end: int,
    ts: int,
    lengths: int,
    count: int,
    place: int,
    columns: int,
    by_column: bool,
    values: tuple[int, int, int, int],
    cells: tuple[int, int, int, int],
) -> tuple[int, int]:
    """The offset of the row's end, from its flags on, or FAILED, and its timestamp."""
    if byte(base, at) != ROW_FLAGS:
        return b.FAILED, 0
    at = scan_values(base, at + 1, end, lengths, count, by_column, values)
    if at == b.FAILED:
        return b.FAILED, 0
    delta, at = read_vint(base, at)
    ts += delta + TIMESTAMP_EPOCH
    at = _scan_cells(base, at, end, place, columns, ts, by_column, cells)
    return at if at == end - 1 and byte(base, at) == END_OF_PARTITION else b.FAILED, ts


@inlined
def _scan_cells(
    base: int, at: int, end: int, place: int, count: int, ts: int, by_column: bool, to: tuple[int, int, int, int]
) -> int:
    """The offset behind values with the row's timestamp."""
    for number in range(count):
        column = get(place, number)
        if byte(base, at) != USE_ROW_TIMESTAMP or get(column, f.C_MULTI):
            return b.FAILED
        at += 1
        length, at = read_length(base, at, get(column, f.C_LENGTH))
        if is_beyond(length, end - at):
            return b.FAILED
        if by_column:
            o.put_place(to, number, at, length)
        else:
            put_cell(to[0] + ln.CELL_BYTES * number, get(column, f.C_NUMBER), 0, ts, 0, 0, 0, 0, at, length)
        at += length
    return at
