"""The JSON columns of one change row, compiled: partition key, clustering, and `columns` with `cells`."""

from __future__ import annotations

from typing import Any, Final

from tailer.jit.decorators import compiled
from tailer.jit.memory import load, store
from tailer.jit.words import get
from tailer.rows.generic.compiled import work as w
from tailer.rows.generic.compiled.cells import (
    DIFFERENCE_ROOM,
    is_simple,
    put_column_label,
    put_difference,
    put_multi,
    put_multi_times,
    put_simple,
)
from tailer.rows.generic.compiled.tables import CLUSTERING, COLUMN_BYTES, COLUMNS, KEY, KEY_COUNT
from tailer.rows.generic.compiled.times import differs
from tailer.rows.generic.compiled.work import add_no_text, add_text, full, text_end
from tailer.scan.compiled import lines as ln
from tailer.types.compiled.digits import LEFT, NO_ROOM
from tailer.types.compiled.plan import PART
from tailer.types.compiled.values import put_null, put_value

_ROOM: Final = 160


@compiled
def put_partition_key(work: int, table: int, update: int, row: int) -> int:
    """The object of the key's columns. Several stand with 16-bit lengths and a zero behind each (format page 8)."""
    pos, limit = text_end(work, w.KEY, row), full(work, w.KEY)
    at = get(work, w.DATA) + get(update, ln.U_KEY)
    end = at + get(update, ln.U_KEY_LENGTH)
    count, column = get(table, KEY_COUNT), get(table, KEY)
    for number in range(count):
        start, length = at, end - at
        if count > 1:
            if at + 2 > end:
                return LEFT
            start, length = at + 2, load(at) << 8 | load(at + 1)
            at = start + length + 1
            if at > end or load(at - 1) != 0:
                return LEFT
        pos = _put_field(work, pos, limit, column, start, length, number == 0)
        if pos < 0:
            return pos
        column += COLUMN_BYTES
    if count > 1 and at != end:
        return LEFT
    store(pos, 0x7D)
    return pos + 1


@compiled
def put_clustering(work: int, table: int, line: int, row: int) -> int:
    """The object of a row's clustering values, which becomes the row's; none if there are none."""
    if get(line, ln.R_VALUES_N) == 0:
        add_no_text(work, w.CLUSTERING, row)
        return 0
    pos, limit = text_end(work, w.CLUSTERING, row), full(work, w.CLUSTERING)
    pos = put_values(pos, limit, work, get(table, CLUSTERING), line)
    if pos < 0:
        return pos
    add_text(work, w.CLUSTERING, row, pos)
    return 0


@compiled
def put_values(pos: int, limit: int, work: int, column: int, line: int) -> int:
    """The object of the clustering values of a row or bound, at least one; NO_ROOM or LEFT. `column`: the first's."""
    value = get(work, w.VALUES) + ln.VALUE_BYTES * get(line, ln.R_VALUES)
    for number in range(get(line, ln.R_VALUES_N)):
        at = get(work, w.DATA) + get(value, ln.V_OFF)
        pos = _put_field(work, pos, limit, column, at, get(value, ln.V_LENGTH), number == 0)
        if pos < 0:
            return pos
        column += COLUMN_BYTES
        value += ln.VALUE_BYTES
    store(pos, 0x7D)
    return pos + 1


@compiled
def _put_field(work: int, pos: int, limit: int, column: int, at: int, length: int, first: bool) -> int:
    """A column of a key with what stands before it, and room behind it; a length below zero is null."""
    if pos + _ROOM > limit:
        return NO_ROOM
    store(pos, 0x7B if first else 0x2C)
    pos = put_column_label(pos + 1, limit, column)
    if pos < 0:
        return pos
    if length < 0:
        return put_null(pos)
    pos = put_value(get(work, w.WRITER), pos, limit, get(column, PART), at, length)
    return NO_ROOM if pos >= 0 and pos + _ROOM > limit else pos


@compiled
def put_columns(work: int, table: int, line: int, row: int, times: Any) -> int:
    """`columns` and `cells` of a row with data, which become the row's."""
    columns = get(table, COLUMNS)
    cell, end = w.first_cell(work, line), w.last_cell(work, line)
    pos, more = text_end(work, w.COLUMNS, row), text_end(work, w.CELLS, row)
    begun, more_begun = pos, more
    while cell < end:
        first = cell
        number = get(cell, ln.C_COLUMN)
        column = columns + COLUMN_BYTES * number
        simple = is_simple(column)
        cell += ln.CELL_BYTES
        while not simple and cell < end and get(cell, ln.C_COLUMN) == number:
            cell += ln.CELL_BYTES
        pos = put_change(pos, full(work, w.COLUMNS), work, column, first, cell)
        if pos < 0:
            return pos
        if not simple or differs(first, times):
            more = put_times(more, full(work, w.CELLS), work, column, first, cell, times)
            if more < 0:
                return more
    limit = full(work, w.COLUMNS)
    pos = max(pos, begun + 1)
    if pos + 1 > limit:
        return NO_ROOM
    # Each part has a comma before it; the first one's makes way for the bracket.
    store(begun, 0x7B)
    store(pos, 0x7D)
    add_text(work, w.COLUMNS, row, pos + 1)
    if more == more_begun:
        add_no_text(work, w.CELLS, row)
        return 0
    if more >= full(work, w.CELLS):
        return NO_ROOM
    store(more_begun, 0x7B)
    store(more, 0x7D)
    add_text(work, w.CELLS, row, more + 1)
    return 0


@compiled
def put_change(pos: int, limit: int, work: int, column: int, cell: int, end: int) -> int:
    """A column's name and what is set of it, behind a comma."""
    if pos + _ROOM > limit:
        return NO_ROOM
    store(pos, 0x2C)
    pos = put_column_label(pos + 1, limit, column)
    if pos < 0:
        return pos
    if is_simple(column):
        return put_simple(pos, limit, work, column, cell)
    return put_multi(pos, limit, work, column, cell, end)


@compiled
def put_times(pos: int, limit: int, work: int, column: int, cell: int, end: int, times: Any) -> int:
    """A column's name and what differs in it, behind a comma; `pos` itself where nothing does."""
    if pos + _ROOM > limit:
        return NO_ROOM
    store(pos, 0x2C)
    label = put_column_label(pos + 1, limit, column)
    if label < 0 or label + DIFFERENCE_ROOM > limit:
        return NO_ROOM
    if is_simple(column):
        return put_difference(label, cell, times)
    after = put_multi_times(label, limit, work, column, cell, end, times)
    return pos if after == label else after
