"""The lines of the index, compiled: where each field of a line stands, and the one place that writes lines.

    update   entry, table, key_off, key_len
    row      update, number, kind, flags, ts, ttl, expires, deletion, clustering_at, clustering_n, cells_at, cells_n
    value    off, len
    cell     column, flags, ts, ttl, expires, path_off, path_len, value_off, value_len
    skip     base, at, count: where a table id lies, and how many entries of that table were passed over

`scan.index` says what they mean. `put_…` writes a line at an address, `add_…` behind those that there are, if there is
room, and counts it.
"""

from __future__ import annotations

from typing import Final

from tailer.jit.decorators import compiled, inlined
from tailer.jit.words import get, is_same, put
from tailer.scan.compiled import block as b
from tailer.scan.compiled.block import fail
from tailer.scan.index import CELL_FIELDS, NO_DELETION, ROW_FIELDS, ROW_LINE, UPDATE_FIELDS, VALUE_FIELDS

SKIP_FIELDS: Final = ("base", "at", "count")

UPDATE_BYTES: Final = 8 * len(UPDATE_FIELDS)
ROW_BYTES: Final = 8 * len(ROW_FIELDS)
VALUE_BYTES: Final = 8 * len(VALUE_FIELDS)
CELL_BYTES: Final = 8 * len(CELL_FIELDS)
SKIP_BYTES: Final = 8 * len(SKIP_FIELDS)

U_ENTRY, U_TABLE, U_KEY, U_KEY_LENGTH = range(len(UPDATE_FIELDS))
R_UPDATE, R_NUMBER, R_KIND, R_FLAGS, R_TS, R_TTL, R_EXPIRES, R_DELETION, R_VALUES, R_VALUES_N, R_CELLS, R_CELLS_N = (
    range(len(ROW_FIELDS))
)
V_OFF, V_LENGTH = range(len(VALUE_FIELDS))
C_COLUMN, C_FLAGS, C_TS, C_TTL, C_EXPIRES, C_PATH, C_PATH_LENGTH, C_VALUE, C_VALUE_LENGTH = range(len(CELL_FIELDS))

RECENT_SKIPS: Final = 16
TABLE_ID_BYTES: Final = 16


@inlined
def put_update(line: int, entry: int, table: int, key: int, key_length: int) -> None:
    """A partition update."""
    put(line, U_ENTRY, entry)
    put(line, U_TABLE, table)
    put(line, U_KEY, key)
    put(line, U_KEY_LENGTH, key_length)


@inlined
def put_row(
    line: int,
    update: int,
    number: int,
    kind: int,
    flags: int,
    ts: int,
    ttl: int,
    expires: int,
    deletion: int,
    values: int,
    values_n: int,
    cells: int,
    cells_n: int,
) -> None:
    """A row, a deletion or a bound."""
    put(line, R_UPDATE, update)
    put(line, R_NUMBER, number)
    put(line, R_KIND, kind)
    put(line, R_FLAGS, flags)
    put(line, R_TS, ts)
    put(line, R_TTL, ttl)
    put(line, R_EXPIRES, expires)
    put(line, R_DELETION, deletion)
    put(line, R_VALUES, values)
    put(line, R_VALUES_N, values_n)
    put(line, R_CELLS, cells)
    put(line, R_CELLS_N, cells_n)


@inlined
def put_value(line: int, off: int, length: int) -> None:
    """A clustering value."""
    put(line, V_OFF, off)
    put(line, V_LENGTH, length)


@inlined
def put_cell(
    line: int,
    column: int,
    flags: int,
    ts: int,
    ttl: int,
    expires: int,
    path: int,
    path_length: int,
    value: int,
    value_length: int,
) -> None:
    """A cell, or a complex deletion."""
    put(line, C_COLUMN, column)
    put(line, C_FLAGS, flags)
    put(line, C_TS, ts)
    put(line, C_TTL, ttl)
    put(line, C_EXPIRES, expires)
    put(line, C_PATH, path)
    put(line, C_PATH_LENGTH, path_length)
    put(line, C_VALUE, value)
    put(line, C_VALUE_LENGTH, value_length)


@compiled
def add_update(walk: int, off: int, length: int) -> bool:
    """The update that is read from now on, of the current table; whether there was room."""
    line = get(walk, b.UPDATES)
    if line == get(walk, b.UPDATES_ROOM):
        fail(walk, b.FULL, 0, 0)
        return False
    put_update(get(walk, b.UPDATES_AT) + UPDATE_BYTES * line, get(walk, b.ENTRY), get(walk, b.TABLE), off, length)
    put(walk, b.UPDATE, line)
    put(walk, b.UPDATES, line + 1)
    return True


@inlined
def add_row(
    walk: int,
    kind: int,
    flags: int,
    ts: int,
    ttl: int,
    expires: int,
    deletion: int,
    values: int,
    values_n: int,
    cells: int,
    cells_n: int,
) -> bool:
    """A row of the update being read, with the next number; whether there was room."""
    line = get(walk, b.ROWS)
    if line == get(walk, b.ROWS_ROOM):
        fail(walk, b.FULL, 0, 0)
        return False
    row, update, number = get(walk, b.ROWS_AT) + ROW_BYTES * line, get(walk, b.UPDATE), get(walk, b.NUMBER)
    put_row(row, update, number, kind, flags, ts, ttl, expires, deletion, values, values_n, cells, cells_n)
    put(walk, b.ROWS, line + 1)
    return True


@compiled
def add_cell(
    walk: int,
    column: int,
    flags: int,
    ts: int,
    ttl: int,
    expires: int,
    path: int,
    path_length: int,
    value: int,
    value_length: int,
) -> bool:
    """A cell; whether there was room."""
    line = get(walk, b.CELLS)
    if line == get(walk, b.CELLS_ROOM):
        fail(walk, b.FULL, 0, 0)
        return False
    cell = get(walk, b.CELLS_AT) + CELL_BYTES * line
    put_cell(cell, column, flags, ts, ttl, expires, path, path_length, value, value_length)
    put(walk, b.CELLS, line + 1)
    return True


@inlined
def set_counts(walk: int, updates: int, rows: int, values: int, cells: int) -> None:
    """How many lines there are: takes back the others, or counts those that were put."""
    put(walk, b.UPDATES, updates)
    put(walk, b.ROWS, rows)
    put(walk, b.VALUES, values)
    put(walk, b.CELLS, cells)


@inlined
def has_room(walk: int, values_n: int, cells_n: int) -> bool:
    """Whether there is room for one update and row more, with so many values and cells."""
    if get(walk, b.UPDATES) == get(walk, b.UPDATES_ROOM) or get(walk, b.ROWS) == get(walk, b.ROWS_ROOM):
        return False
    if values_n > get(walk, b.VALUES_ROOM) - get(walk, b.VALUES):
        return False
    return cells_n <= get(walk, b.CELLS_ROOM) - get(walk, b.CELLS)


@inlined
def next_value(walk: int) -> int:
    """The address behind the last value."""
    return get(walk, b.VALUES_AT) + VALUE_BYTES * get(walk, b.VALUES)


@inlined
def next_cell(walk: int) -> int:
    """The address behind the last cell."""
    return get(walk, b.CELLS_AT) + CELL_BYTES * get(walk, b.CELLS)


@inlined
def add_one_row(
    walk: int, entry: int, table: int, key: int, key_length: int, flags: int, ts: int, values_n: int, cells_n: int
) -> None:
    """An update of one row whose values and cells were put behind the last ones, where there is room for it."""
    updates, rows, values, cells = get(walk, b.UPDATES), get(walk, b.ROWS), get(walk, b.VALUES), get(walk, b.CELLS)
    put_update(get(walk, b.UPDATES_AT) + UPDATE_BYTES * updates, entry, table, key, key_length)
    row = get(walk, b.ROWS_AT) + ROW_BYTES * rows
    put_row(row, updates, 0, ROW_LINE, flags, ts, 0, 0, NO_DELETION, values, values_n, cells, cells_n)
    set_counts(walk, updates + 1, rows + 1, values + values_n, cells + cells_n)


@compiled
def note_skip(walk: int, base: int, at: int) -> bool:
    """Counts an entry that is passed over; whether there was room. Only the latest ids are looked at."""
    count = get(walk, b.SKIPS)
    for number in range(count - 1, max(count - RECENT_SKIPS, 0) - 1, -1):
        skip = get(walk, b.SKIPS_AT) + SKIP_BYTES * number
        if is_same(base, at, get(skip, 0), get(skip, 1), TABLE_ID_BYTES):
            put(skip, 2, get(skip, 2) + 1)
            return True
    if count == get(walk, b.SKIPS_ROOM):
        fail(walk, b.FULL, at, 0)
        return False
    skip = get(walk, b.SKIPS_AT) + SKIP_BYTES * count
    put(skip, 0, base)
    put(skip, 1, at)
    put(skip, 2, 1)
    put(walk, b.SKIPS, count + 1)
    return True
