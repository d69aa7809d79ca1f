"""From the change rows of a batch to operations on rows of the state, and the keys that these have in LMDB. Compiled.

See `image_state.keys` and `rebuild.changes`. A partition that has anything in the batch which is not for the compiled
merge is left to the plain one with all that it has there.
"""

from __future__ import annotations

from typing import Final

from tailer.image_state.compiled import work as w
from tailer.image_state.compiled.values import is_usual, put_component
from tailer.jit.decorators import compiled, entry_point
from tailer.jit.memory import load, store
from tailer.jit.words import get
from tailer.jit.words import put as give
from tailer.rows.generic.compiled import arrays as a
from tailer.rows.generic.compiled.tables import LIST, SET, SIMPLE
from tailer.scan.compiled import lines as ln
from tailer.scan.index import COMPLEX_DELETION, ROW_LINE
from tailer.types.compiled.digits import LEFT, put_copy

KEY_ROOM: Final = 1024
"""The most that the keys of one change row take."""

PARTITION_MAX: Final = 240
ROW_MAX: Final = 229
"""Longer names are cut in their keys, which is left to the plain merge (`image_state.keys`)."""

ID: Final = 16
_TOKEN: Final = 8
_LENGTH: Final = 4
ROWS: Final = 1


@compiled
def _fixed(work: int, field: int, row: int) -> int:
    return get(get(work, w.FIXED), field * get(work, w.FIXED_ROOM) + row)


@compiled
def put_escaped(pos: int, byte: int) -> int:
    store(pos, byte)
    if byte:
        return pos + 1
    store(pos + 1, 0xFF)
    return pos + 2


@compiled
def put_part(pos: int, at: int, length: int) -> int:
    """A key column behind its length."""
    for place in range(_LENGTH):
        pos = put_escaped(pos, (length >> (8 * (_LENGTH - 1 - place))) & 0xFF)
    for byte_at in range(at, at + length):
        pos = put_escaped(pos, load(byte_at))
    return pos


@compiled
def put_token(pos: int, token: int) -> int:
    """A token, in the order of tokens."""
    for at in range(_TOKEN):
        byte = (token >> (8 * (_TOKEN - 1 - at))) & 0xFF
        pos = put_escaped(pos, byte ^ 0x80 if at == 0 else byte)
    return pos


@compiled
def _put_partition(work: int, table: int, update: int, token: int, pos: int) -> int:
    """What the keys of a partition begin with; LEFT."""
    pos = put_copy(pos, get(table, w.T_ID), ID)
    limit = pos + PARTITION_MAX
    pos = put_token(pos, token)
    at = get(work, w.DATA) + get(update, ln.U_KEY)
    end = at + get(update, ln.U_KEY_LENGTH)
    count, column = get(table, w.T_KEY_COUNT), get(table, w.T_KEY)
    for _ in range(count):
        start, length = at, end - at
        if count > 1:
            start, length = at + 2, load(at) << 8 | load(at + 1)
            at = start + length + 1
        if length > PARTITION_MAX or not is_usual(get(column, w.C_KIND), start, length):
            return LEFT
        pos = put_part(pos, start, length)
        if pos > limit:
            return LEFT
        column += w.COLUMN_BYTES
    store(pos, 0)
    store(pos + 1, 0)
    return pos + 2


@compiled
def _put_row(work: int, table: int, line: int, pos: int) -> int:
    """The row's part of its key; LEFT."""
    count = get(table, w.T_CLUSTERING_COUNT)
    if get(line, ln.R_VALUES_N) != count:
        return LEFT
    limit = pos + ROW_MAX
    store(pos, ROWS)
    pos += 1
    value, column = get(work, w.VALUES) + ln.VALUE_BYTES * get(line, ln.R_VALUES), get(table, w.T_CLUSTERING)
    for _ in range(count):
        at, length = get(work, w.DATA) + get(value, ln.V_OFF), get(value, ln.V_LENGTH)
        if length > ROW_MAX or not is_usual(get(column, w.C_KIND), at, max(length, 0)):
            return LEFT
        pos = put_component(pos, get(column, w.C_ORDER), get(column, w.C_DESC), at, length)
        if pos > limit:
            return LEFT
        value += ln.VALUE_BYTES
        column += w.COLUMN_BYTES
    return pos


@compiled
def _is_usual_path(work: int, column: int, cell: int) -> bool:
    """Whether what names the element is as it usually is; true for a cell that has no such thing."""
    shape, length = get(column, w.C_SHAPE), get(cell, ln.C_PATH_LENGTH)
    if shape == SIMPLE or get(cell, ln.C_FLAGS) & COMPLEX_DELETION:
        return True
    if shape == LIST and length != ID:
        return False
    if shape == SET and get(cell, ln.C_VALUE_LENGTH) > 0:
        return False
    return is_usual(get(column, w.C_PATH_KIND), get(work, w.DATA) + get(cell, ln.C_PATH), length)


@compiled
def _is_ours(work: int, table: int, line: int, op: int) -> bool:
    """Whether all that the line says is for the compiled merge."""
    if not get(table, w.T_READY) or get(line, ln.R_KIND) != ROW_LINE or op > a.DELETE_ROW:
        return False
    if get(line, ln.R_CELLS_N) + 2 > w.FACTS_MAX:
        return False
    cell = get(work, w.CELL_LINES) + ln.CELL_BYTES * get(line, ln.R_CELLS)
    for _ in range(get(line, ln.R_CELLS_N)):
        column = get(table, w.T_COLUMNS) + w.COLUMN_BYTES * get(cell, ln.C_COLUMN)
        at = get(work, w.DATA) + get(cell, ln.C_VALUE)
        if not get(column, w.C_READY) or not _is_usual_path(work, column, cell):
            return False
        if not is_usual(get(column, w.C_KIND), at, get(cell, ln.C_VALUE_LENGTH)):
            return False
        cell += ln.CELL_BYTES
    return True


@compiled
def _is_behind(begin: int, end: int, other: int, other_end: int) -> bool:
    """Whether the bytes of a key come behind another one's."""
    while begin < end and other < other_end:
        if load(begin) != load(other):
            return bool(load(begin) > load(other))
        begin += 1
        other += 1
    return end - begin > other_end - other


@compiled
def same_key(begin: int, end: int, other: int, other_end: int) -> bool:
    if end - begin != other_end - other:
        return False
    for at in range(end - begin):
        if load(begin + at) != load(other + at):
            return False
    return True


@compiled
def _add(work: int, row: int, unit: int, partition: int, line: int) -> int:
    """The operation of a change row, and its keys; LEFT."""
    update = get(work, w.UPDATES) + ln.UPDATE_BYTES * get(line, ln.R_UPDATE)
    table = get(work, w.TABLES) + w.TABLE_BYTES * _fixed(work, a.TABLE, row)
    if not _is_ours(work, table, line, _fixed(work, a.OP, row)):
        return LEFT
    begin = get(work, w.KEYS_END)
    end = _put_partition(work, table, update, _fixed(work, a.TOKEN, row), begin)
    if end < 0:
        return LEFT
    row_end = _put_row(work, table, line, end)
    if row_end < 0:
        return LEFT
    if get(partition, w.P_KEY_END) == 0:
        give(partition, w.P_KEY, begin)
        give(partition, w.P_KEY_END, end)
    elif not same_key(begin, end, get(partition, w.P_KEY), get(partition, w.P_KEY_END)):
        # Two keys of one token.
        return LEFT
    last, last_end = get(partition, w.P_ROW_KEY), get(partition, w.P_ROW_KEY_END)
    if get(partition, w.P_UNIT) == unit and last_end and not _is_behind(begin, row_end, last, last_end):
        # The rows of a unit are merged in the order of their keys, each once.
        return LEFT
    give(partition, w.P_ROW_KEY, begin)
    give(partition, w.P_ROW_KEY_END, row_end)
    give(work, w.KEYS_END, row_end)
    op = get(work, w.OPS) + w.OP_BYTES * get(work, w.OP_COUNT)
    give(op, w.O_ROW, row)
    give(op, w.O_LINE, line)
    give(op, w.O_TABLE, table)
    give(op, w.O_PARTITION, partition)
    give(op, w.O_UNIT, unit)
    give(op, w.O_KEY, begin)
    give(op, w.O_KEY_END, row_end)
    give(work, w.OP_COUNT, get(work, w.OP_COUNT) + 1)
    return 0


@entry_point
def put_keys(work: int) -> int:
    """Makes the operations of all change rows and puts down the unit of each row; how many units there are.

    A unit is what one entry says of one partition, in rows that stand together.
    """
    unit = -1
    last_offset = last_partition = last_line = -1
    for row in range(get(work, w.ROWS)):
        offset, number = _fixed(work, a.OFFSET, row), get(get(work, w.PARTITION_OF), row)
        partition = get(work, w.PARTITIONS) + w.PARTITION_BYTES * number
        line = _fixed(work, a.LINE, row)
        if offset != last_offset or number != last_partition:
            unit += 1
            if get(partition, w.P_OFFSET) == offset:
                give(partition, w.P_LEFT, 1)
            give(partition, w.P_OFFSET, offset)
            last_line = -1
        end = 0
        if line < 0:
            end = LEFT
        elif (line != last_line or unit != get(partition, w.P_UNIT)) and not get(partition, w.P_LEFT):
            end = _add(work, row, unit, partition, get(work, w.LINES) + ln.ROW_BYTES * line)
        if end < 0:
            give(partition, w.P_LEFT, 1)
        give(partition, w.P_UNIT, unit)
        give(get(work, w.UNIT), row, unit)
        last_offset, last_partition, last_line = offset, number, line
    return unit + 1
