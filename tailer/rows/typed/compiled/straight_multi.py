"""Non-frozen columns that a row assigns whole: their cells as one, for `straight` to see, and where the elements lie.

A column is assigned whole where all that was there is deleted a microsecond before the elements, all written at once,
or where it is deleted without any: a microsecond before the row's other values if it is assigned an empty one.
Compiled; works on addresses: whoever calls keeps the arrays alive.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.jit.decorators import entry_point, inlined
from tailer.jit.memory import copy, get_offset, give_offset, load, store
from tailer.jit.words import get, put
from tailer.scan.index import (
    CELL_DELETED,
    CELL_EXPIRING,
    CELL_FIELDS,
    COMPLEX_DELETION,
    HAS_TIMESTAMP,
    NO_DELETION,
    ROW_FIELDS,
    ROW_LINE,
    UPDATE_FIELDS,
)

# Numbers of `work`: addresses of the index's lines and of lines to write to, the table, its columns, marks of those to
# straighten by number.
UPDATES: Final = 0
ROWS: Final = 1
CELLS: Final = 2
ROW_COUNT: Final = 3
TABLE: Final = 4
COLUMNS: Final = 5
MARKS: Final = 6
TO_ROWS: Final = 7
TO_CELLS: Final = 8
SIZE: Final = 9

PATH: Final = CELL_FIELDS.index("path_off")
VALUE: Final = CELL_FIELDS.index("value_off")
"""Where of a cell an offset lies, and behind it a length."""

CELL_BYTES: Final = 8 * len(CELL_FIELDS)

_UPDATE_BYTES: Final = 8 * len(UPDATE_FIELDS)
_ROW_BYTES: Final = 8 * len(ROW_FIELDS)
_U_TABLE: Final = UPDATE_FIELDS.index("table")
_R_UPDATE, _R_KIND, _R_FLAGS, _R_TS, _R_CELLS, _R_COUNT = (
    ROW_FIELDS.index(name) for name in ("update", "kind", "flags", "ts", "cells_at", "cells_n")
)
_COLUMN, _FLAGS, _TS, _TTL, _EXPIRES, _LENGTH = (
    CELL_FIELDS.index(name) for name in ("column", "flags", "ts", "ttl", "expires", "value_len")
)
_NOT: Final = -1
_NO_ELEMENT: Final = CELL_DELETED | COMPLEX_DELETION


@inlined
def _straighten_row(work: int, first: int, count: int, begin: int) -> Any:
    """How many cells there are now, from `begin` on."""
    cells, marks = get(work, CELLS), get(work, MARKS)
    to, number, end = begin, first, first + count
    while number < end:
        cell = cells + CELL_BYTES * number
        copy(to, cell, CELL_BYTES)
        number += 1
        if load(marks + get(cell, _COLUMN)):
            after = _straighten_column(work, cell, number, end, to)
            if after == _NOT:
                copy(begin, cell, CELL_BYTES)
                return 1
            number = after
        to += CELL_BYTES
    return (to - begin) // CELL_BYTES


@inlined
def _straighten_column(work: int, deletion: int, first: int, end: int, to: int) -> Any:
    """Makes the cell at `to` that of a whole column whose elements begin at number `first`; the one behind, or _NOT."""
    if not get(deletion, _FLAGS) & COMPLEX_DELETION:
        return _NOT
    cells, column, number = get(work, CELLS), get(deletion, _COLUMN), first
    one = cell = cells + CELL_BYTES * first
    while number < end and get(cell, _COLUMN) == column:
        if get(cell, _FLAGS) & _NO_ELEMENT or not _is_alike(cell, one):
            return _NOT
        number += 1
        cell += CELL_BYTES
    put(to, _FLAGS, CELL_DELETED)
    if number > first:
        if get(deletion, _TS) != get(one, _TS) - 1:
            return _NOT
        for field in (_TS, _TTL, _EXPIRES):
            put(to, field, get(one, field))
        put(to, _FLAGS, get(one, _FLAGS) & CELL_EXPIRING)
    put(to, _COLUMN, column + get(work, COLUMNS))
    put(to, VALUE, first)
    put(to, _LENGTH, number - first)
    return number


@inlined
def _straighten_times(work: int, line: int, first: int, count: int) -> None:
    """Gives columns that are assigned empty the row's own time, as those that are deleted have it."""
    columns, ts = get(work, COLUMNS), get(line, _R_TS)
    if not get(line, _R_FLAGS) & HAS_TIMESTAMP:
        ts = _newest(first, count)
    cell = first
    for _ in range(count):
        if get(cell, _COLUMN) >= columns and get(cell, _FLAGS) & CELL_DELETED and get(cell, _TS) == ts - 1:
            put(cell, _TS, ts)
        cell += CELL_BYTES


@inlined
def _newest(first: int, count: int) -> Any:
    """The time of the newest value, or else of the newest deletion."""
    value = deletion = np.int64(NO_DELETION)
    cell = first
    for _ in range(count):
        if get(cell, _FLAGS) & CELL_DELETED:
            deletion = max(deletion, get(cell, _TS))
        else:
            value = max(value, get(cell, _TS))
        cell += CELL_BYTES
    return value if value != NO_DELETION else deletion


@inlined
def _is_alike(cell: int, one: int) -> Any:
    """Whether two elements were written at once."""
    expiring = get(cell, _FLAGS) & CELL_EXPIRING
    same = get(cell, _TS) == get(one, _TS) and expiring == get(one, _FLAGS) & CELL_EXPIRING
    return same and (not expiring or (get(cell, _TTL) == get(one, _TTL) and get(cell, _EXPIRES) == get(one, _EXPIRES)))


@entry_point
def straighten(work: int) -> Any:
    """Writes the cells of the table's rows one behind the other, and in the rows where they are.

    Of a marked column that is assigned whole there is one, with the column's number and that of all columns: its
    value are the number of the first element's cell and how many there are. A row that has other cells of a marked
    column has just the first of those.
    """
    line, to_line, table = get(work, ROWS), get(work, TO_ROWS), get(work, TABLE)
    first = 0
    for _ in range(get(work, ROW_COUNT)):
        update = get(work, UPDATES) + _UPDATE_BYTES * get(line, _R_UPDATE)
        if get(update, _U_TABLE) == table and get(line, _R_KIND) <= ROW_LINE:
            begin = get(work, TO_CELLS) + CELL_BYTES * first
            count = _straighten_row(work, get(line, _R_CELLS), get(line, _R_COUNT), begin)
            put(to_line, _R_CELLS, first)
            put(to_line, _R_COUNT, count)
            _straighten_times(work, line, begin, count)
            first += count
        line += _ROW_BYTES
        to_line += _ROW_BYTES
    return 0


@entry_point
def put_elements(field: int, cells: int, off: int, length: int, rows: int, to_off: int, to_length: int) -> Any:
    """Where the paths or values of all elements lie: `off` and `length` are those of straightened cells."""
    place = 0
    for row in range(rows):
        cell = cells + CELL_BYTES * get_offset(off, row)
        for _ in range(get_offset(length, row)):
            give_offset(to_off, place, get(cell, field))
            give_offset(to_length, place, get(cell, field + 1))
            place += 1
            cell += CELL_BYTES
    return 0


@entry_point
def put_fields(
    fields: int, data: int, cells: int, off: int, length: int, rows: int, to_off: int, to_length: int, bad: int
) -> Any:
    """Where the fields of user-defined types lie, a line of `rows` numbers a field, as elements have them.

    `to_length` is below zero everywhere. A row with a field that is not known, or comes twice, is marked.
    """
    for row in range(rows):
        cell = cells + CELL_BYTES * get_offset(off, row)
        for _ in range(get_offset(length, row)):
            path = data + get(cell, PATH)
            field = np.int64(-1)
            if get(cell, PATH + 1) == 2:
                field = load(path) << 8 | load(path + 1)
            if field < 0 or field >= fields or get_offset(to_length, field * rows + row) >= 0:
                store(bad + row, 1)
            else:
                give_offset(to_off, field * rows + row, get(cell, VALUE))
                give_offset(to_length, field * rows + row, get(cell, VALUE + 1))
            cell += CELL_BYTES
    return 0
