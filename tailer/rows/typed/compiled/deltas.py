"""`_deltas`, `_cells` and `_range` of straight rows: what the generic form has of the same lines of the index.

Compiled; works on addresses: whoever calls keeps the arrays alive.
"""

from __future__ import annotations

from typing import Any, Final

from tailer.jit.decorators import compiled, entry_point
from tailer.jit.memory import get_offset, give_offset, load, store
from tailer.jit.words import get, put
from tailer.rows.generic.compiled.cells import is_simple
from tailer.rows.generic.compiled.columns import put_change, put_times
from tailer.rows.generic.compiled.ranges import put_range
from tailer.rows.generic.compiled.tables import CLUSTERING, COLUMN_BYTES, COLUMNS
from tailer.rows.generic.compiled.times import differs, walk_multi
from tailer.rows.typed.compiled.straight import DELETE_RANGE, DELETE_ROW, NO_LINE
from tailer.scan.compiled import lines as ln
from tailer.scan.index import NO_TTL
from tailer.types.compiled.digits import NO_ROOM
from tailer.types.compiled.plan import KIND, PART
from tailer.types.printed import COUNTER

# Numbers of `work`. What is read: the block of the generic form; the index's rows and cells; the table's line of the
# plan; by straight row what `straight` wrote.
BLOCK: Final = 0
LINES: Final = 1
CELLS: Final = 2
TABLE: Final = 3
INDEX_ROW: Final = 4
OP: Final = 5
TS: Final = 6
TTL: Final = 7
EXPIRES: Final = 8
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
RANGES: Final = 2


@compiled
def _row_times(work: int, row: int) -> Any:
    ttl = get_offset(get(work, TTL), row)
    return get(get(work, TS), row), 0 if ttl == NO_TTL else 1, ttl, get(get(work, EXPIRES), row)


@compiled
def _put_columns(work: int, begin: int, row: int, line: int) -> int:
    """The object of one row's columns, nothing if it has none; its end, NO_ROOM or LEFT."""
    block, limit, columns = get(work, BLOCK), get(work, LIMIT), get(get(work, TABLE), COLUMNS)
    times = _row_times(work, row)
    cell = get(work, CELLS) + ln.CELL_BYTES * get(line, ln.R_CELLS)
    end = cell + ln.CELL_BYTES * get(line, ln.R_CELLS_N)
    pos = begin
    while cell < end:
        first, column = cell, columns + COLUMN_BYTES * get(cell, ln.C_COLUMN)
        simple = is_simple(column)
        if simple:
            cell, other_times = first + ln.CELL_BYTES, differs(first, times)
        else:
            cell, other_times = walk_multi(first, end, times)
        if get(work, WHAT) == TIMES:
            if other_times:
                pos = put_times(pos, limit, block, column, first, cell, times)
        elif not simple or get(get(column, PART), KIND) == COUNTER:
            pos = put_change(pos, limit, block, column, first, cell)
            if other_times and not simple:
                put(work, HAS_CELLS, 1)
        if pos < 0:
            return pos
    return _closed(begin, pos, limit)


@compiled
def _closed(begin: int, pos: int, limit: int) -> int:
    """Each part has a comma before it; the first one's makes way for the bracket."""
    if pos == begin:
        return pos
    if pos + 1 > limit:
        return NO_ROOM
    store(begin, 0x7B)
    store(pos, 0x7D)
    return pos + 1


@compiled
def _put_row(work: int, begin: int, row: int) -> int:
    """The text of one row, nothing if it has none; its end, NO_ROOM or LEFT."""
    op, number = load(get(work, OP) + row), get(get(work, INDEX_ROW), row)
    line = get(work, LINES) + ln.ROW_BYTES * number
    if get(work, WHAT) == RANGES:
        if op != DELETE_RANGE:
            return begin
        return put_range(begin, get(work, LIMIT), get(work, BLOCK), get(get(work, TABLE), CLUSTERING), line)
    return begin if op >= DELETE_ROW or number == NO_LINE else _put_columns(work, begin, row, line)


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
