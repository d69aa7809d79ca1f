"""`_deltas` and `_cells` of straight rows: what the generic form has of their non-frozen columns.

Compiled; works on addresses: whoever calls keeps the arrays alive.
"""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled, entry_point
from tailer.jit.memory import get_offset, give_offset, store
from tailer.jit.words import get, put
from tailer.rows.generic.compiled.columns import put_change, put_times
from tailer.scan.compiled import lines as ln
from tailer.types.compiled.digits import NO_ROOM

# Numbers of `work`. What is read: the block of the generic form; the index's cells; by slot the column's line of the
# plan, zero if it has one cell; what `straight` wrote of the rows.
BLOCK: Final = 0
CELLS: Final = 1
COLUMNS: Final = 2
SETS: Final = 3
ENDS: Final = 4
OFF: Final = 5
LENGTH: Final = 6
LINE: Final = 7
TS: Final = 8
ROWS: Final = 9
WHAT: Final = 10
# What is written: the texts' offsets, whether there is one, marks of rows that are left; the texts and where room for
# them ends.
OFFSETS: Final = 11
VALID: Final = 12
BAD: Final = 13
BEGIN: Final = 14
LIMIT: Final = 15
# The row to go on with; whether there is anything for `_cells`, which is found out with `_deltas`.
NEXT: Final = 16
HAS_CELLS: Final = 17
SIZE: Final = 18

# WHAT is made.
DELTAS: Final = 0
TIMES: Final = 1


@compiled
def _put_row(work: int, begin: int, row: int) -> int:
    """The object of one row's columns, nothing if it has none; its end, NO_ROOM or LEFT."""
    sets, ends, limit = get(work, SETS), get(work, ENDS), get(work, LIMIT)
    pos = begin
    for place in range(get_offset(ends, row), get_offset(ends, row + 1)):
        slot = get_offset(sets, place)
        column = get(get(work, COLUMNS), slot)
        if column != 0:
            first = get_offset(get(work, OFF) + slot * get(work, LINE), row)
            count = max(get_offset(get(work, LENGTH) + slot * get(work, LINE), row), 0)
            cell = get(work, CELLS) + ln.CELL_BYTES * (first - 1)
            end = cell + ln.CELL_BYTES * (count + 1)
            ts = get(get(work, TS), row)
            # With elements all times are the row's own.
            differs = count == 0 and get(cell, ln.C_TS) != ts
            if get(work, WHAT) == DELTAS:
                pos = put_change(pos, limit, get(work, BLOCK), column, cell, end)
                if differs:
                    put(work, HAS_CELLS, 1)
            elif differs:
                pos = put_times(pos, limit, get(work, BLOCK), column, cell, end, (ts, 0, 0, 0))
            if pos < 0:
                return pos
    if pos > begin:
        if pos + 1 > limit:
            return NO_ROOM
        # Each part has a comma before it; the first one's makes way for the bracket.
        store(begin, 0x7B)
        store(pos, 0x7D)
        pos += 1
    return pos


@entry_point
def put_deltas(work: int) -> int:
    """The texts of WHAT from row NEXT on; NO_ROOM when there has to be more room for them, else zero."""
    offsets = get(work, OFFSETS)
    give_offset(offsets, 0, 0)
    for row in range(get(work, NEXT), get(work, ROWS)):
        begin = get(work, BEGIN) + get_offset(offsets, row)
        end = _put_row(work, begin, row)
        if end == NO_ROOM:
            put(work, NEXT, row)
            return NO_ROOM
        if end < 0:
            store(get(work, BAD) + row, 1)
            end = begin
        store(get(work, VALID) + row, end > begin)
        give_offset(offsets, row + 1, end - get(work, BEGIN))
    return 0
