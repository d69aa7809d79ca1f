"""Cells of a row and elements of non-frozen columns, compiled: the twin of `scan.record.cells`."""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled
from tailer.jit.words import get, put
from tailer.scan.index import CELL_DELETED, CELL_EXPIRING, CELL_FIELDS, COMPLEX_DELETION, NULL_LENGTH, Status
from tailer.scan.mutation.compiled.flat import C_MULTI, C_NUMBER, C_WIDTH
from tailer.scan.mutation.compiled.walk import CELLS, CELLS_AT, CELLS_ROOM, END, FAILED, FULL, STAMP, fail
from tailer.scan.record.cells import CELL_ELEMENTS, ELEMENT_ELEMENTS, PARTS_OF_ELEMENTS
from tailer.scan.record.compiled.heads import (
    BAD_VALUE,
    TRUNCATED,
    is_nil,
    read_array,
    read_bytes,
    read_bytes_or_nil,
    read_int,
    skip,
)
from tailer.scan.record.compiled.state import (
    CLUSTERING,
    COLUMNS_AT,
    COLUMNS_N,
    COUNTS_ONLY,
    KEY_COLUMNS,
    MARKS,
    STATICS,
)
from tailer.scan.record.compiled.times import read_expiry, read_time, read_ts
from tailer.scan.record.times import NO_TTL

UNKNOWN_COLUMN: Final = int(Status.UNKNOWN_COLUMN)
CELL_WIDTH: Final = len(CELL_FIELDS)


@compiled
def add_cell(
    walk: int,
    column: int,
    flags: int,
    ts: int,
    ttl: int,
    expires: int,
    path_off: int,
    path_len: int,
    value_off: int,
    value_len: int,
) -> bool:
    """Adds a line; whether there was room for it."""
    line = get(walk, CELLS)
    if line == get(walk, CELLS_ROOM):
        fail(walk, FULL, 0, 0)
        return False
    cell = get(walk, CELLS_AT) + 8 * CELL_WIDTH * line
    put(cell, 0, column)
    put(cell, 1, flags)
    put(cell, 2, ts)
    put(cell, 3, ttl)
    put(cell, 4, expires)
    put(cell, 5, path_off)
    put(cell, 6, path_len)
    put(cell, 7, value_off)
    put(cell, 8, value_len)
    put(walk, CELLS, line + 1)
    return True


@compiled
def _add_value(
    walk: int, column: int, ts: int, ttl: int, expires: int, path_off: int, path_len: int, off: int, length: int
) -> bool:
    """A value, or nil, which is a tombstone and has no TTL."""
    if length == NULL_LENGTH:
        return add_cell(walk, column, CELL_DELETED, ts, 0, 0, path_off, path_len, off, 0)
    if ttl == NO_TTL:
        return add_cell(walk, column, 0, ts, 0, 0, path_off, path_len, off, length)
    return add_cell(walk, column, CELL_EXPIRING, ts, ttl, expires, path_off, path_len, off, length)


@compiled
def _scan_items(walk: int, base: int, at: int, column: int, row_ts: int) -> int:
    items, at = read_array(walk, base, at, 0)
    if at == FAILED:
        return FAILED
    for _ in range(items):
        parts, at = read_array(walk, base, at, ELEMENT_ELEMENTS)
        if at == FAILED:
            return FAILED
        path_off, path_len = read_bytes(walk, base, at)
        if path_off == FAILED:
            return FAILED
        off, length = read_bytes_or_nil(walk, base, path_off + path_len)
        if off == FAILED:
            return FAILED
        ts, at = read_ts(walk, base, off + max(length, 0), row_ts)
        if at == FAILED:
            return FAILED
        ttl, expires, at = read_expiry(walk, base, at)
        if at == FAILED or not _add_value(walk, column, ts, ttl, expires, path_off, path_len, off, length):
            return FAILED
        at = skip(walk, base, at, parts - ELEMENT_ELEMENTS)
        if at == FAILED:
            return FAILED
    return at


@compiled
def _scan_elements(walk: int, base: int, at: int, column: int, row_ts: int) -> int:
    count, at = read_array(walk, base, at, PARTS_OF_ELEMENTS)
    if at == FAILED:
        return FAILED
    if is_nil(walk, base, at):
        at += 1
    else:
        deletion, at = read_time(walk, base, at)
        if at == FAILED or not add_cell(walk, column, COMPLEX_DELETION, deletion, 0, 0, 0, 0, 0, 0):
            return FAILED
    at = _scan_items(walk, base, at, column, row_ts)
    return at if at == FAILED else skip(walk, base, at, count - PARTS_OF_ELEMENTS)


@compiled
def _place_of(walk: int, at: int, number: int, is_static: int) -> int:
    """The place of the column that a cell names, once in a row; FAILED."""
    place = number - get(walk, KEY_COLUMNS) - get(walk, CLUSTERING)
    if place < 0 or place >= get(walk, COLUMNS_N):
        return fail(walk, UNKNOWN_COLUMN, at, number)
    mark = walk + 8 * MARKS
    if get(mark, place) == get(walk, STAMP) or (is_static != 0) != (place < get(walk, STATICS)):
        return fail(walk, BAD_VALUE, at, number)
    put(mark, place, get(walk, STAMP))
    return place


@compiled
def _put_cell(
    walk: int, base: int, at: int, number: int, line: int, ts: int, ttl: int, expires: int, off: int, length: int
) -> int:
    """The offset behind the elements at `at`, which are nil where the cell is a value. `line`: of the column, or 0."""
    column, multi = number, False
    if line:
        column, multi = get(line, C_NUMBER), get(line, C_MULTI) != 0
    if not is_nil(walk, base, at) or (line != 0 and multi and length != NULL_LENGTH):
        return fail(walk, BAD_VALUE, at, number)
    if line != 0 and multi:
        return at + 1 if add_cell(walk, column, COMPLEX_DELETION, ts, 0, 0, 0, 0, 0, 0) else FAILED
    return at + 1 if _add_value(walk, column, ts, ttl, expires, 0, 0, off, length) else FAILED


@compiled
def _scan_cell(walk: int, base: int, at: int, is_static: int, row_ts: int) -> int:
    count, at_column = read_array(walk, base, at, CELL_ELEMENTS)
    if at_column == FAILED:
        return FAILED
    number, at = read_int(walk, base, at_column)
    if at == FAILED:
        return FAILED
    line = 0
    if get(walk, KEY_COLUMNS) != COUNTS_ONLY:
        place = _place_of(walk, at_column, number, is_static)
        if place == FAILED:
            return FAILED
        line = get(walk, COLUMNS_AT) + 8 * C_WIDTH * place
    off, length = read_bytes_or_nil(walk, base, at)
    if off == FAILED:
        return FAILED
    ts, at = read_ts(walk, base, off + max(length, 0), row_ts)
    if at == FAILED:
        return FAILED
    ttl, expires, at = read_expiry(walk, base, at)
    if at == FAILED:
        return FAILED
    if at >= get(walk, END):
        return fail(walk, TRUNCATED, at, 0)
    if length == NULL_LENGTH and not is_nil(walk, base, at) and (line == 0 or get(line, C_MULTI) != 0):
        at = _scan_elements(walk, base, at, get(line, C_NUMBER) if line else number, row_ts)
    else:
        at = _put_cell(walk, base, at, number, line, ts, ttl, expires, off, length)
    return at if at == FAILED else skip(walk, base, at, count - CELL_ELEMENTS)


@compiled
def scan_cells(walk: int, base: int, at: int, is_static: int, row_ts: int) -> int:
    """The offset behind the cells of a row. Adds their lines."""
    count, at = read_array(walk, base, at, 0)
    if at == FAILED:
        return FAILED
    put(walk, STAMP, get(walk, STAMP) + 1)
    for _ in range(count):
        at = _scan_cell(walk, base, at, is_static, row_ts)
        if at == FAILED:
            return FAILED
    return at


@compiled
def no_cells(walk: int, base: int, at: int) -> int:
    """The offset behind the cells of a deletion, which has none."""
    count, first = read_array(walk, base, at, 0)
    return fail(walk, BAD_VALUE, at, count) if first != FAILED and count != 0 else first
