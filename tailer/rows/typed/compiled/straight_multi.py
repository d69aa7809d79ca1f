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
from tailer.rows.generic.compiled.times import times_of_cells
from tailer.scan.compiled import lines as ln
from tailer.scan.index import (
    CELL_DELETED,
    CELL_EXPIRING,
    COMPLEX_DELETION,
    HAS_TIMESTAMP,
    ROW_LINE,
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


_NOT: Final = -1
_NO_ELEMENT: Final = CELL_DELETED | COMPLEX_DELETION


@inlined
def _straighten_row(work: int, first: int, count: int, begin: int) -> Any:
    """How many cells there are now, from `begin` on."""
    cells, marks = get(work, CELLS), get(work, MARKS)
    to, number, end = begin, first, first + count
    while number < end:
        cell = cells + ln.CELL_BYTES * number
        copy(to, cell, ln.CELL_BYTES)
        number += 1
        if load(marks + get(cell, ln.C_COLUMN)):
            after = _straighten_column(work, cell, number, end, to)
            if after == _NOT:
                copy(begin, cell, ln.CELL_BYTES)
                return 1
            number = after
        to += ln.CELL_BYTES
    return (to - begin) // ln.CELL_BYTES


@inlined
def _straighten_column(work: int, deletion: int, first: int, end: int, to: int) -> Any:
    """Makes the cell at `to` that of a whole column whose elements begin at number `first`; the one behind, or _NOT."""
    if not get(deletion, ln.C_FLAGS) & COMPLEX_DELETION:
        return _NOT
    cells, column, number = get(work, CELLS), get(deletion, ln.C_COLUMN), first
    one = cell = cells + ln.CELL_BYTES * first
    while number < end and get(cell, ln.C_COLUMN) == column:
        if get(cell, ln.C_FLAGS) & _NO_ELEMENT or not _is_alike(cell, one):
            return _NOT
        number += 1
        cell += ln.CELL_BYTES
    put(to, ln.C_FLAGS, CELL_DELETED)
    if number > first:
        if get(deletion, ln.C_TS) != get(one, ln.C_TS) - 1:
            return _NOT
        for field in (ln.C_TS, ln.C_TTL, ln.C_EXPIRES):
            put(to, field, get(one, field))
        put(to, ln.C_FLAGS, get(one, ln.C_FLAGS) & CELL_EXPIRING)
    put(to, ln.C_COLUMN, column + get(work, COLUMNS))
    put(to, ln.C_VALUE, first)
    put(to, ln.C_VALUE_LENGTH, number - first)
    return number


@inlined
def _straighten_times(work: int, line: int, first: int, count: int) -> None:
    """Gives columns that are assigned empty the row's own time, as those that are deleted have it."""
    columns, ts = get(work, COLUMNS), get(line, ln.R_TS)
    if not get(line, ln.R_FLAGS) & HAS_TIMESTAMP and count:
        ts = times_of_cells(first, first + ln.CELL_BYTES * count)[0]
    cell = first
    for _ in range(count):
        if get(cell, ln.C_COLUMN) >= columns and get(cell, ln.C_FLAGS) & CELL_DELETED and get(cell, ln.C_TS) == ts - 1:
            put(cell, ln.C_TS, ts)
        cell += ln.CELL_BYTES


@inlined
def _is_alike(cell: int, one: int) -> Any:
    """Whether two elements were written at once."""
    expiring = get(cell, ln.C_FLAGS) & CELL_EXPIRING
    same = get(cell, ln.C_TS) == get(one, ln.C_TS) and expiring == get(one, ln.C_FLAGS) & CELL_EXPIRING
    return same and (
        not expiring
        or (get(cell, ln.C_TTL) == get(one, ln.C_TTL) and get(cell, ln.C_EXPIRES) == get(one, ln.C_EXPIRES))
    )


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
        update = get(work, UPDATES) + ln.UPDATE_BYTES * get(line, ln.R_UPDATE)
        if get(update, ln.U_TABLE) == table and get(line, ln.R_KIND) <= ROW_LINE:
            begin = get(work, TO_CELLS) + ln.CELL_BYTES * first
            count = _straighten_row(work, get(line, ln.R_CELLS), get(line, ln.R_CELLS_N), begin)
            put(to_line, ln.R_CELLS, first)
            put(to_line, ln.R_CELLS_N, count)
            _straighten_times(work, line, begin, count)
            first += count
        line += ln.ROW_BYTES
        to_line += ln.ROW_BYTES
    return 0


@entry_point
def put_elements(field: int, cells: int, off: int, length: int, rows: int, to_off: int, to_length: int) -> Any:
    """Where the paths or values of all elements lie: `off` and `length` are those of straightened cells."""
    place = 0
    for row in range(rows):
        cell = cells + ln.CELL_BYTES * get_offset(off, row)
        for _ in range(get_offset(length, row)):
            give_offset(to_off, place, get(cell, field))
            give_offset(to_length, place, get(cell, field + 1))
            place += 1
            cell += ln.CELL_BYTES
    return 0


@entry_point
def put_fields(
    fields: int, data: int, cells: int, off: int, length: int, rows: int, to_off: int, to_length: int, bad: int
) -> Any:
    """Where the fields of user-defined types lie, a line of `rows` numbers a field, as elements have them.

    `to_length` is below zero everywhere. A row with a field that is not known, or comes twice, is marked.
    """
    for row in range(rows):
        cell = cells + ln.CELL_BYTES * get_offset(off, row)
        for _ in range(get_offset(length, row)):
            path = data + get(cell, ln.C_PATH)
            field = np.int64(-1)
            if get(cell, ln.C_PATH + 1) == 2:
                field = load(path) << 8 | load(path + 1)
            if field < 0 or field >= fields or get_offset(to_length, field * rows + row) >= 0:
                store(bad + row, 1)
            else:
                give_offset(to_off, field * rows + row, get(cell, ln.C_VALUE))
                give_offset(to_length, field * rows + row, get(cell, ln.C_VALUE + 1))
            cell += ln.CELL_BYTES
    return 0
