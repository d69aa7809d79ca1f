"""Rows of wide tables as `straight` is to see them: a row's values are told by their places, not by their columns.

The numbers that `straight` writes by column of the form are then as many as a row has values, not as there are columns.
Compiled; works on addresses: whoever calls keeps the arrays alive.
"""

from __future__ import annotations

from typing import Any, Final

from tailer.jit.decorators import entry_point, inlined
from tailer.jit.memory import copy, get_offset, give_offset, load
from tailer.jit.words import get, put
from tailer.scan.compiled import lines as ln
from tailer.scan.index import RANGE_END

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


@inlined
def _is_of_table(work: int, line: int) -> Any:
    return get(get(work, UPDATES) + ln.UPDATE_BYTES * get(line, ln.R_UPDATE), ln.U_TABLE) == get(work, TABLE)


@entry_point
def put_places(work: int) -> int:
    """Writes the cells of the table's rows with their places for columns: WIDTH for one that makes its row slow.

    That is one without a slot, and one whose column the row has already had.
    """
    line, slots, seen = get(work, ROWS), get(work, SLOTS), get(work, SEEN)
    for row in range(get(work, ROW_COUNT)):
        if _is_of_table(work, line):
            first = ln.CELL_BYTES * get(line, ln.R_CELLS)
            for place in range(get(line, ln.R_CELLS_N)):
                cell = get(work, CELLS) + first + ln.CELL_BYTES * place
                to, column = get(work, TO_CELLS) + first + ln.CELL_BYTES * place, get(cell, ln.C_COLUMN)
                copy(to, cell, ln.CELL_BYTES)
                is_left = get_offset(slots, column) < 0 or get_offset(seen, column) == row
                put(to, ln.C_COLUMN, get(work, WIDTH) if is_left else place)
                give_offset(seen, column, row)
        line += ln.ROW_BYTES
    return 0


@entry_point
def real_slots(work: int) -> Any:
    """Puts the slots of their columns in place of the places of straight rows' values; how many rows these are.

    The end of a range is no row of its own (`straight`): it has no place in `ends`.
    """
    line, slots, sets, ends = get(work, ROWS), get(work, SLOTS), get(work, SETS), get(work, ENDS)
    straight = 0
    for row in range(get(work, ROW_COUNT)):
        is_row = load(get(work, SLOW_ROWS) + row) == 0 and get(line, ln.R_KIND) != RANGE_END
        if is_row and _is_of_table(work, line):
            cell = get(work, CELLS) + ln.CELL_BYTES * get(line, ln.R_CELLS)
            for place in range(get_offset(ends, straight), get_offset(ends, straight + 1)):
                give_offset(sets, place, get_offset(slots, get(cell, ln.C_COLUMN)))
                cell += ln.CELL_BYTES
            straight += 1
        line += ln.ROW_BYTES
    return straight
