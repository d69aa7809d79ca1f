"""Non-frozen columns: their cells as one, for `straight` to see, and where the elements of whole values lie.

A column is assigned whole where all that was there is deleted before its elements; else elements of it are changed.
Compiled; works on addresses: whoever calls keeps the arrays alive.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.jit.decorators import entry_point, inlined
from tailer.jit.memory import copy, get_offset, give_offset, load, store
from tailer.jit.words import get, put
from tailer.rows.generic.compiled.times import times_of_cells
from tailer.rows.typed.compiled.straight import IS_TIMED
from tailer.scan.compiled import lines as ln
from tailer.scan.index import (
    CELL_DELETED,
    CELL_EXPIRING,
    COMPLEX_DELETION,
    HAS_TIMESTAMP,
    HAS_TTL,
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


_NO_ELEMENT: Final = CELL_DELETED | COMPLEX_DELETION


@inlined
def _straighten_row(work: int, line: int, timed: int, begin: int) -> Any:
    """How many cells there are now, from `begin` on. `timed`: the row with its times."""
    cells, marks = get(work, CELLS), get(work, MARKS)
    number, to = get(line, ln.R_CELLS), begin
    end = number + get(line, ln.R_CELLS_N)
    while number < end:
        cell = cells + ln.CELL_BYTES * number
        copy(to, cell, ln.CELL_BYTES)
        if load(marks + get(cell, ln.C_COLUMN)):
            number = _straighten_column(work, timed, number, end, to)
        else:
            number += 1
        to += ln.CELL_BYTES
    return (to - begin) // ln.CELL_BYTES


@inlined
def _straighten_column(work: int, timed: int, first: int, end: int, to: int) -> Any:
    """Makes the cell at `to` that of all cells of a column, the first of which has number `first`; the one behind.

    The cell's column stays as it is where these are neither a whole value nor changes of elements.
    """
    cell = get(work, CELLS) + ln.CELL_BYTES * first
    column, is_whole = get(cell, ln.C_COLUMN), get(cell, ln.C_FLAGS) & COMPLEX_DELETION != 0
    begin = first + 1 if is_whole else first
    left_out = _NO_ELEMENT if is_whole else COMPLEX_DELETION
    number, plain = begin, True
    cell += ln.CELL_BYTES * (begin - first)
    while number < end and get(cell, ln.C_COLUMN) == column:
        plain &= get(cell, ln.C_FLAGS) & left_out == 0
        number += 1
        cell += ln.CELL_BYTES
    if plain:
        put(to, ln.C_COLUMN, column + get(work, COLUMNS) * (1 if is_whole else 2))
        put(
            to, ln.C_FLAGS, CELL_DELETED if number == begin else CELL_EXPIRING * (get(timed, ln.R_FLAGS) & HAS_TTL != 0)
        )
        for field, of_row in ((ln.C_TS, ln.R_TS), (ln.C_TTL, ln.R_TTL), (ln.C_EXPIRES, ln.R_EXPIRES)):
            put(to, field, get(timed, of_row))
        put(to, ln.C_VALUE, begin)
        put(to, ln.C_VALUE_LENGTH, number - begin)
    return number


@inlined
def _time_row(work: int, line: int, to_line: int) -> None:
    """Gives a row without liveness the times that its cells give it."""
    count = get(line, ln.R_CELLS_N)
    if not get(line, ln.R_FLAGS) & HAS_TIMESTAMP and count:
        cell = get(work, CELLS) + ln.CELL_BYTES * get(line, ln.R_CELLS)
        ts, has_ttl, ttl, expires = times_of_cells(cell, cell + ln.CELL_BYTES * count)
        put(to_line, ln.R_FLAGS, get(line, ln.R_FLAGS) | IS_TIMED | (HAS_TTL if has_ttl else 0))
        put(to_line, ln.R_TS, ts)
        put(to_line, ln.R_TTL, ttl)
        put(to_line, ln.R_EXPIRES, expires)


@entry_point
def straighten(work: int) -> Any:
    """Writes the cells of the table's rows one behind the other, and in the rows where they are.

    Of a marked column there is one, with the row's times. Where the column is assigned whole, it has the column's
    number and that of all columns; where elements are changed, twice that. Its value are the number of the first
    element's cell and how many there are. Rows without liveness get their times (IS_TIMED).
    """
    line, to_line, table = get(work, ROWS), get(work, TO_ROWS), get(work, TABLE)
    first = 0
    for _ in range(get(work, ROW_COUNT)):
        update = get(work, UPDATES) + ln.UPDATE_BYTES * get(line, ln.R_UPDATE)
        if get(update, ln.U_TABLE) == table and get(line, ln.R_KIND) <= ROW_LINE:
            _time_row(work, line, to_line)
            count = _straighten_row(work, line, to_line, get(work, TO_CELLS) + ln.CELL_BYTES * first)
            put(to_line, ln.R_CELLS, first)
            put(to_line, ln.R_CELLS_N, count)
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
