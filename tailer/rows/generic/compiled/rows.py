"""The change rows of an index, compiled: see `generic.build` and `generic.update`. Knows no Arrow and no JSON line.

An entry that holds anything rare or odd (a truncation, a value that does not print here or is none of its type) gives
no rows; its number is put down among `odd`, for the plain build to make its rows or say what is wrong.
"""

from __future__ import annotations

from typing import Any

from tailer.jit.decorators import compiled, entry_point
from tailer.jit.words import get
from tailer.jit.words import put as give
from tailer.rows.generic.compiled import arrays as a
from tailer.rows.generic.compiled import work as w
from tailer.rows.generic.compiled.columns import put_clustering, put_columns, put_partition_key
from tailer.rows.generic.compiled.ranges import put_range
from tailer.rows.generic.compiled.tables import CLUSTERING, DELIVERED, LEFT_TO_PLAIN, READING
from tailer.rows.generic.compiled.times import times_of_cells
from tailer.rows.generic.compiled.work import add_no_text, add_text, copy_text, full, give_fixed, text_end
from tailer.scan.compiled import lines as ln
from tailer.scan.index import HAS_DELETION, HAS_TIMESTAMP, HAS_TTL, PARTITION_DELETION, RANGE_END, ROW_LINE, STATIC_ROW
from tailer.types.compiled.digits import LEFT, NO_ROOM
from tailer.types.compiled.token import token


@compiled
def _add_line(work: int, line: int, update: int, row: int, update_row: int) -> int:
    """How many change rows the line gave, from number `row` on; NO_ROOM or LEFT."""
    kind = get(line, ln.R_KIND)
    if kind == RANGE_END:
        return 0
    table = w.table_of(work, update)
    end = _add_key(work, table, update, row, update_row)
    if end < 0:
        return end
    if kind > ROW_LINE:
        return _add_range(work, table, line, row)
    add_no_text(work, w.RANGE, row)
    if kind == PARTITION_DELETION:
        _add_deletion(work, a.DELETE_PARTITION, line, row, 0, get(line, ln.R_DELETION))
        add_no_text(work, w.CLUSTERING, row)
        return 1
    end = put_clustering(work, table, line, row)
    if end < 0:
        return end
    return _add_data(work, table, update, line, row, 1 if kind == STATIC_ROW else 0)


@compiled
def _add_range(work: int, table: int, line: int, row: int) -> int:
    """A range deletion, where it opens."""
    _add_deletion(work, a.DELETE_RANGE, line, row, 0, get(line, ln.R_TS))
    add_no_text(work, w.CLUSTERING, row)
    end = put_range(text_end(work, w.RANGE, row), full(work, w.RANGE), work, get(table, CLUSTERING), line)
    if end < 0:
        return end
    add_text(work, w.RANGE, row, end)
    return 1


@compiled
def _add_data(work: int, table: int, update: int, line: int, row: int, is_static: int) -> int:
    """A row whose key and clustering are there: its deletion, then its data."""
    flags, deleted = get(line, ln.R_FLAGS), 0
    is_empty = not flags & HAS_TIMESTAMP and get(line, ln.R_CELLS_N) == 0
    if is_empty and not flags & HAS_DELETION:
        return LEFT
    if flags & HAS_DELETION:
        _add_deletion(work, a.DELETE_ROW, line, row, is_static, get(line, ln.R_DELETION))
        if is_empty:
            return 1
        deleted = 1
        row += 1
        if _add_key(work, table, update, row, row - 1) < 0 or copy_text(work, w.CLUSTERING, row - 1, row) < 0:
            return NO_ROOM
        add_no_text(work, w.RANGE, row)
    times = _times(work, line)
    give_fixed(work, a.OP, row, a.INSERT if flags & HAS_TIMESTAMP and not is_static else a.UPDATE)
    _add_times(work, row, is_static, get(line, ln.R_NUMBER) + deleted, times)
    end = put_columns(work, table, line, row, times)
    return end if end < 0 else 1 + deleted


@compiled
def _add_deletion(work: int, op: int, line: int, row: int, is_static: int, deletion: int) -> None:
    give_fixed(work, a.OP, row, op)
    _add_times(work, row, is_static, get(line, ln.R_NUMBER), (deletion, 0, 0, 0))
    add_no_text(work, w.COLUMNS, row)
    add_no_text(work, w.CELLS, row)


@compiled
def _times(work: int, line: int) -> Any:
    if get(line, ln.R_FLAGS) & HAS_TTL:
        return get(line, ln.R_TS), 1, get(line, ln.R_TTL), get(line, ln.R_EXPIRES)
    if get(line, ln.R_FLAGS) & HAS_TIMESTAMP:
        return get(line, ln.R_TS), 0, 0, 0
    return times_of_cells(w.first_cell(work, line), w.last_cell(work, line))


@compiled
def _add_times(work: int, row: int, is_static: int, number: int, times: Any) -> None:
    give_fixed(work, a.IS_STATIC, row, is_static)
    give_fixed(work, a.NUMBER, row, number)
    give_fixed(work, a.WRITE_TS, row, times[0])
    give_fixed(work, a.HAS_ROW_TTL, row, times[1])
    give_fixed(work, a.TTL, row, times[2])
    give_fixed(work, a.EXPIRES_AT, row, times[3])


@compiled
def _add_key(work: int, table: int, update: int, row: int, known: int) -> int:
    """Table, offset, token and key: copied from row `known` of the same update, or made if that is this one."""
    give_fixed(work, a.TABLE, row, get(update, ln.U_TABLE))
    give_fixed(work, a.ENTRY, row, get(update, ln.U_ENTRY))
    give_fixed(work, a.OFFSET, row, get(get(work, w.LOGICAL), get(update, ln.U_ENTRY)))
    give_fixed(work, a.HAS_TOKEN, row, 1)
    if row != known:
        give_fixed(work, a.TOKEN, row, w.get_fixed(work, a.TOKEN, known))
        return copy_text(work, w.KEY, known, row)
    data = get(work, w.DATA)
    give_fixed(work, a.TOKEN, row, token(data + get(update, ln.U_KEY), get(update, ln.U_KEY_LENGTH)))
    end = put_partition_key(work, table, update, row)
    if end >= 0:
        add_text(work, w.KEY, row, end)
    return end


@entry_point
def fill(work: int) -> int:
    """Makes the rows from NEXT_LINE on; 0 when all is done, NO_ROOM when the text FULL has to be larger.

    An entry's rows are all there or none. `odd` gets the numbers of the entries that are left, in order.
    """
    line, row, end_of_lines = get(work, w.NEXT_LINE), get(work, w.NEXT_ROW), get(work, w.LINES_END)
    entry = update = entry_line = 0
    entry_row = update_row = row
    reading = 0
    while line < end_of_lines:
        found = w.update_of(work, line)
        end = 0
        if found != update:
            update, update_row = found, row
            if entry_line == 0 or get(update, ln.U_ENTRY) != entry:
                entry, entry_line, entry_row = get(update, ln.U_ENTRY), line, row
            reading = get(w.table_of(work, update), READING)
            if reading == LEFT_TO_PLAIN:
                end = LEFT
        if end == 0 and reading == DELIVERED:
            end = _add_line(work, line, update, row, update_row)
        if end >= 0:
            for made in range(row, row + end):
                give_fixed(work, a.LINE, made, (line - get(work, w.LINES)) // ln.ROW_BYTES)
            row += end
            line += ln.ROW_BYTES
            continue
        row = entry_row
        if end == NO_ROOM:
            give(work, w.NEXT_LINE, entry_line)
            give(work, w.NEXT_ROW, row)
            return NO_ROOM
        give(get(work, w.ODD), get(work, w.ODD_COUNT), entry)
        give(work, w.ODD_COUNT, get(work, w.ODD_COUNT) + 1)
        while line < end_of_lines and get(w.update_of(work, line), ln.U_ENTRY) == entry:
            line += ln.ROW_BYTES
    give(work, w.NEXT_ROW, row)
    return 0
