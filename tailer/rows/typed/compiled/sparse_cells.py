"""Rows of wide tables as `straight` is to see them: a row's values are told by their places, not by their columns.

The numbers that `straight` writes by column of the form are then as many as a row has values, not as there are columns.
Compiled; works on addresses: whoever calls keeps the arrays alive.
"""

from __future__ import annotations

from typing import Any, Final

from tailer.jit.decorators import entry_point, inlined
from tailer.jit.memory import copy, get_offset, give_offset, load
from tailer.jit.words import get, put
from tailer.scan.index import CELL_FIELDS, ROW_FIELDS, UPDATE_FIELDS

# Numbers of `work`: the index's lines, the table, its columns' slots, the most values of a row; by column the last row
# that has it, below zero before; cells to write to.
UPDATES: Final = 0
ROWS: Final = 1
CELLS: Final = 2
ROW_COUNT: Final = 3
TABLE: Final = 4
SLOTS: Final = 5
WIDTH: Final = 6
SEEN: Final = 7
TO_CELLS: Final = 8
# For `real_slots`: by row of the index whether it is slow; offsets and slots of straight rows.
SLOW_ROWS: Final = 9
ENDS: Final = 10
SETS: Final = 11
SIZE: Final = 12

_UPDATE_BYTES: Final = 8 * len(UPDATE_FIELDS)
_ROW_BYTES: Final = 8 * len(ROW_FIELDS)
_CELL_BYTES: Final = 8 * len(CELL_FIELDS)
_U_TABLE: Final = UPDATE_FIELDS.index("table")
_R_UPDATE, _R_CELLS, _R_COUNT = (ROW_FIELDS.index(name) for name in ("update", "cells_at", "cells_n"))
_COLUMN: Final = CELL_FIELDS.index("column")


@inlined
def _is_of_table(work: int, line: int) -> Any:
    return get(get(work, UPDATES) + _UPDATE_BYTES * get(line, _R_UPDATE), _U_TABLE) == get(work, TABLE)


@entry_point
def put_places(work: int) -> int:
    """Writes the cells of the table's rows with their places for columns: WIDTH for one that makes its row slow.

    That is one without a slot, and one whose column the row has already had.
    """
    line, slots, seen = get(work, ROWS), get(work, SLOTS), get(work, SEEN)
    for row in range(get(work, ROW_COUNT)):
        if _is_of_table(work, line):
            first = _CELL_BYTES * get(line, _R_CELLS)
            for place in range(get(line, _R_COUNT)):
                cell = get(work, CELLS) + first + _CELL_BYTES * place
                to, column = get(work, TO_CELLS) + first + _CELL_BYTES * place, get(cell, _COLUMN)
                copy(to, cell, _CELL_BYTES)
                is_left = get_offset(slots, column) < 0 or get_offset(seen, column) == row
                put(to, _COLUMN, get(work, WIDTH) if is_left else place)
                give_offset(seen, column, row)
        line += _ROW_BYTES
    return 0


@entry_point
def real_slots(work: int) -> Any:
    """Puts the slots of their columns in place of the places of straight rows' values."""
    line, slots, sets, ends = get(work, ROWS), get(work, SLOTS), get(work, SETS), get(work, ENDS)
    straight = 0
    for row in range(get(work, ROW_COUNT)):
        if load(get(work, SLOW_ROWS) + row) == 0 and _is_of_table(work, line):
            cell = get(work, CELLS) + _CELL_BYTES * get(line, _R_CELLS)
            for place in range(get_offset(ends, straight), get_offset(ends, straight + 1)):
                give_offset(sets, place, get_offset(slots, get(cell, _COLUMN)))
                cell += _CELL_BYTES
            straight += 1
        line += _ROW_BYTES
    return 0
