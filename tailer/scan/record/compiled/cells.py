"""Cells of a row and elements of non-frozen columns, compiled: the twin of `scan.record.cells`."""

from __future__ import annotations

from tailer.jit.decorators import compiled
from tailer.jit.words import get, put
from tailer.scan.compiled import block as b
from tailer.scan.compiled.block import fail
from tailer.scan.compiled.lines import add_cell
from tailer.scan.index import CELL_DELETED, CELL_EXPIRING, COMPLEX_DELETION, NO_TTL, NULL_LENGTH
from tailer.scan.mutation.compiled import flat as f
from tailer.scan.record.cells import CELL_ELEMENTS, ELEMENT_ELEMENTS, PARTS_OF_ELEMENTS
from tailer.scan.record.compiled import state as s
from tailer.scan.record.compiled.heads import is_nil, read_array, read_bytes, read_bytes_or_nil, read_int, skip
from tailer.scan.record.compiled.times import read_expiry, read_time, read_ts


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
    if at == b.FAILED:
        return b.FAILED
    for _ in range(items):
        parts, at = read_array(walk, base, at, ELEMENT_ELEMENTS)
        if at == b.FAILED:
            return b.FAILED
        path_off, path_len = read_bytes(walk, base, at)
        if path_off == b.FAILED:
            return b.FAILED
        off, length = read_bytes_or_nil(walk, base, path_off + path_len)
        if off == b.FAILED:
            return b.FAILED
        ts, at = read_ts(walk, base, off + max(length, 0), row_ts)
        if at == b.FAILED:
            return b.FAILED
        ttl, expires, at = read_expiry(walk, base, at)
        if at == b.FAILED or not _add_value(walk, column, ts, ttl, expires, path_off, path_len, off, length):
            return b.FAILED
        at = skip(walk, base, at, parts - ELEMENT_ELEMENTS)
        if at == b.FAILED:
            return b.FAILED
    return at


@compiled
def _scan_elements(walk: int, base: int, at: int, column: int, row_ts: int) -> int:
    count, at = read_array(walk, base, at, PARTS_OF_ELEMENTS)
    if at == b.FAILED:
        return b.FAILED
    if is_nil(walk, base, at):
        at += 1
    else:
        deletion, at = read_time(walk, base, at)
        if at == b.FAILED or not add_cell(walk, column, COMPLEX_DELETION, deletion, 0, 0, 0, 0, 0, 0):
            return b.FAILED
    at = _scan_items(walk, base, at, column, row_ts)
    return at if at == b.FAILED else skip(walk, base, at, count - PARTS_OF_ELEMENTS)


@compiled
def _place_of(walk: int, at: int, number: int, is_static: int) -> int:
    """The place of the column that a cell names, once in a row; FAILED."""
    place = number - get(walk, s.KEY_COLUMNS) - get(walk, s.CLUSTERING)
    if place < 0 or place >= get(walk, s.COLUMNS_N):
        return fail(walk, b.UNKNOWN_COLUMN, at, number)
    mark = walk + 8 * s.MARKS
    if get(mark, place) == get(walk, b.STAMP) or (is_static != 0) != (place < get(walk, s.STATICS)):
        return fail(walk, b.BAD_VALUE, at, number)
    put(mark, place, get(walk, b.STAMP))
    return place


@compiled
def _put_cell(
    walk: int, base: int, at: int, number: int, line: int, ts: int, ttl: int, expires: int, off: int, length: int
) -> int:
    """The offset behind the elements at `at`, which are nil where the cell is a value. `line`: of the column, or 0."""
    column, multi = number, False
    if line:
        column, multi = get(line, f.C_NUMBER), get(line, f.C_MULTI) != 0
    if not is_nil(walk, base, at) or (line != 0 and multi and length != NULL_LENGTH):
        return fail(walk, b.BAD_VALUE, at, number)
    if line != 0 and multi:
        return at + 1 if add_cell(walk, column, COMPLEX_DELETION, ts, 0, 0, 0, 0, 0, 0) else b.FAILED
    return at + 1 if _add_value(walk, column, ts, ttl, expires, 0, 0, off, length) else b.FAILED


@compiled
def _scan_cell(walk: int, base: int, at: int, is_static: int, row_ts: int) -> int:
    count, at_column = read_array(walk, base, at, CELL_ELEMENTS)
    if at_column == b.FAILED:
        return b.FAILED
    number, at = read_int(walk, base, at_column)
    if at == b.FAILED:
        return b.FAILED
    line = 0
    if get(walk, s.KEY_COLUMNS) != s.COUNTS_ONLY:
        place = _place_of(walk, at_column, number, is_static)
        if place == b.FAILED:
            return b.FAILED
        line = get(walk, s.COLUMNS_AT) + 8 * f.C_WIDTH * place
    off, length = read_bytes_or_nil(walk, base, at)
    if off == b.FAILED:
        return b.FAILED
    ts, at = read_ts(walk, base, off + max(length, 0), row_ts)
    if at == b.FAILED:
        return b.FAILED
    ttl, expires, at = read_expiry(walk, base, at)
    if at == b.FAILED:
        return b.FAILED
    if at >= get(walk, b.END):
        return fail(walk, b.TRUNCATED, at, 0)
    if length == NULL_LENGTH and not is_nil(walk, base, at) and (line == 0 or get(line, f.C_MULTI) != 0):
        at = _scan_elements(walk, base, at, get(line, f.C_NUMBER) if line else number, row_ts)
    else:
        at = _put_cell(walk, base, at, number, line, ts, ttl, expires, off, length)
    return at if at == b.FAILED else skip(walk, base, at, count - CELL_ELEMENTS)


@compiled
def scan_cells(walk: int, base: int, at: int, is_static: int, row_ts: int) -> int:
    """The offset behind the cells of a row. Adds their lines."""
    count, at = read_array(walk, base, at, 0)
    if at == b.FAILED:
        return b.FAILED
    put(walk, b.STAMP, get(walk, b.STAMP) + 1)
    for _ in range(count):
        at = _scan_cell(walk, base, at, is_static, row_ts)
        if at == b.FAILED:
            return b.FAILED
    return at


@compiled
def no_cells(walk: int, base: int, at: int) -> int:
    """The offset behind the cells of a deletion, which has none."""
    count, first = read_array(walk, base, at, 0)
    return fail(walk, b.BAD_VALUE, at, count) if first != b.FAILED and count != 0 else first
