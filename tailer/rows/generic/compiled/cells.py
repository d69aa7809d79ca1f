"""`columns` and `cells` of a change row, compiled: see `tailer.rows.generic.columns`, `.collections` and `.times`.

Cells are addresses of lines of the index, columns of lines of the plan. A negative end is NO_ROOM (there is too little
before `limit`) or LEFT, as the writers of values have it.
"""

from __future__ import annotations

from typing import Any, Final

from tailer.jit.decorators import compiled
from tailer.jit.memory import store
from tailer.jit.words import get
from tailer.rows.generic.compiled.tables import LIST, MAP, SET, SHAPE, SIMPLE, UDT
from tailer.rows.generic.compiled.times import differs, whole_deletion
from tailer.rows.generic.compiled.work import DATA, WRITER
from tailer.scan.compiled import lines as ln
from tailer.scan.index import CELL_DELETED, CELL_EXPIRING, COMPLEX_DELETION
from tailer.types.compiled.digits import LEFT, NO_ROOM, literal, put, put_number, read_signed
from tailer.types.compiled.plan import COUNT, LABEL, LABEL_LENGTH, PART, PART_BYTES, PARTS_BYTES
from tailer.types.compiled.scalars import put_quoted_uuid
from tailer.types.compiled.values import put_key, put_label, put_null, put_part, put_value

DIFFERENCE_ROOM: Final = 160
"""The most that one cell's differing times take, with what stands around them."""

_WRITE_TS: Final = literal(b'"write_ts":')
_TTL_NAME: Final = literal(b'"ttl":')
_EXPIRES_AT: Final = literal(b'"expires_at":')
_DELETED_TS: Final = literal(b'"deleted_ts":')
_ELEMENTS: Final = literal(b'"elements":[')
_REPLACED: Final = literal(b'{"replaced":true')
_NOT_REPLACED: Final = literal(b'{"replaced":false')
_PUT: Final = literal(b',"put":')
_REMOVED: Final = literal(b',"removed":[')


@compiled
def put_difference(pos: int, cell: int, times: Any) -> int:
    """The object of what a cell has other than its row; only where there is something."""
    write_ts, has_ttl, ttl, expires = times
    flags = get(cell, ln.C_FLAGS)
    expiring = flags & CELL_EXPIRING != 0
    begun = pos
    if get(cell, ln.C_TS) != write_ts:
        pos = put_number(put(pos + 1, _WRITE_TS), get(cell, ln.C_TS))
    if not flags & CELL_DELETED:
        if expiring != (has_ttl != 0) or (expiring and get(cell, ln.C_TTL) != ttl):
            store(pos, 0x2C)
            pos = _put_time(put(pos + 1, _TTL_NAME), get(cell, ln.C_TTL), expiring)
        if expiring != (has_ttl != 0) or (expiring and get(cell, ln.C_EXPIRES) != expires):
            store(pos, 0x2C)
            pos = _put_time(put(pos + 1, _EXPIRES_AT), get(cell, ln.C_EXPIRES), expiring)
    store(begun, 0x7B)
    store(pos, 0x7D)
    return pos + 1


@compiled
def _put_time(pos: int, number: int, expiring: bool) -> int:
    return put_number(pos, number) if expiring else put_null(pos)


@compiled
def put_simple(pos: int, limit: int, work: int, column: int, cell: int) -> int:
    """What `columns` has for a column of one cell."""
    if get(cell, ln.C_FLAGS) & CELL_DELETED:
        return put_null(pos)
    return put_value(
        get(work, WRITER),
        pos,
        limit,
        get(column, PART),
        get(work, DATA) + get(cell, ln.C_VALUE),
        get(cell, ln.C_VALUE_LENGTH),
    )


@compiled
def put_multi(pos: int, limit: int, work: int, column: int, cell: int, end: int) -> int:
    """What `columns` has for one non-frozen column, whose cells are the lines from `cell` to before `end`."""
    if pos + DIFFERENCE_ROOM > limit:
        return NO_ROOM
    deleted = get(cell, ln.C_FLAGS) & COMPLEX_DELETION != 0
    if deleted:
        cell += ln.CELL_BYTES
    if cell == end:
        return put_null(pos)
    pos = put(pos, _REPLACED) if deleted else put(pos, _NOT_REPLACED)
    shape = get(column, SHAPE)
    is_object = shape == MAP or shape == UDT
    removed = 0
    first = True
    for line in range(cell, end, ln.CELL_BYTES):
        if get(line, ln.C_FLAGS) & CELL_DELETED:
            removed += 1
            continue
        if first:
            pos = put(pos, _PUT)
        store(pos, 0x2C if not first else (0x7B if is_object else 0x5B))
        first = False
        pos = _put_element(pos + 1, limit, work, column, line)
        if pos < 0:
            return pos
    if not first:
        store(pos, 0x7D if is_object else 0x5D)
        pos += 1
    if removed:
        pos = _put_removed(pos, limit, work, column, cell, end)
        if pos < 0:
            return pos
    store(pos, 0x7D)
    return pos + 1


@compiled
def _put_removed(pos: int, limit: int, work: int, column: int, cell: int, end: int) -> int:
    first = True
    for line in range(cell, end, ln.CELL_BYTES):
        if not get(line, ln.C_FLAGS) & CELL_DELETED:
            continue
        if first:
            pos = put(pos, _REMOVED)
        else:
            store(pos, 0x2C)
            pos += 1
        first = False
        pos = _put_name(pos, limit, work, column, line)
        if pos < 0:
            return pos
        if pos + DIFFERENCE_ROOM > limit:
            return NO_ROOM
    store(pos, 0x5D)
    return pos + 1


@compiled
def _put_element(pos: int, limit: int, work: int, column: int, cell: int) -> int:
    """An element as `put` has it, and room behind it."""
    shape = get(column, SHAPE)
    if shape == LIST:
        store(pos, 0x5B)
        pos += 1
    pos = _put_name(pos, limit, work, column, cell)
    if pos >= 0 and shape != SET:
        part = get(column, PART) + PARTS_BYTES
        if shape == MAP:
            part += PART_BYTES
        elif shape == UDT:
            part += PART_BYTES * read_signed(get(work, DATA) + get(cell, ln.C_PATH), 2)
        store(pos, 0x2C if shape == LIST else 0x3A)
        pos = put_part(
            get(work, WRITER),
            pos + 1,
            limit,
            get(part, PART),
            get(work, DATA) + get(cell, ln.C_VALUE),
            get(cell, ln.C_VALUE_LENGTH),
        )
        if pos >= 0 and shape == LIST:
            store(pos, 0x5D)
            pos += 1
    return NO_ROOM if pos >= 0 and pos + DIFFERENCE_ROOM > limit else pos


@compiled
def _put_name(pos: int, limit: int, work: int, column: int, cell: int) -> int:
    """The text that names an element."""
    shape, type_ = get(column, SHAPE), get(column, PART)
    path, length = get(work, DATA) + get(cell, ln.C_PATH), get(cell, ln.C_PATH_LENGTH)
    part = type_ + PARTS_BYTES
    if shape == SET:
        return put_part(get(work, WRITER), pos, limit, get(part, PART), path, length)
    if shape == MAP:
        return put_key(get(work, WRITER), pos, limit, get(part, PART), path, length)
    if shape == LIST:
        return put_quoted_uuid(pos, path) if length == 16 else LEFT
    field = read_signed(path, 2) if length == 2 else -1
    if field < 0 or field >= get(type_, COUNT):
        return LEFT
    part += PART_BYTES * field
    return put_label(pos, limit, get(part, LABEL), get(part, LABEL_LENGTH) - 1)


@compiled
def put_multi_times(pos: int, limit: int, work: int, column: int, cell: int, end: int, times: Any) -> int:
    """What `cells` has for one non-frozen column: `pos` itself where nothing differs."""
    begun = pos
    if get(cell, ln.C_FLAGS) & COMPLEX_DELETION:
        deletion = get(cell, ln.C_TS)
        cell += ln.CELL_BYTES
        if deletion != whole_deletion(cell == end, times):
            pos = put_number(put(pos + 1, _DELETED_TS), deletion)
    first = True
    for line in range(cell, end, ln.CELL_BYTES):
        if not differs(line, times):
            continue
        store(pos, 0x2C)
        pos = put(pos + 1, _ELEMENTS) if first else pos + 1
        first = False
        store(pos, 0x5B)
        pos = _put_name(pos + 1, limit, work, column, line)
        if pos < 0:
            return pos
        if pos + 2 * DIFFERENCE_ROOM > limit:
            return NO_ROOM
        store(pos, 0x2C)
        pos = put_difference(pos + 1, line, times)
        store(pos, 0x5D)
        pos += 1
    if not first:
        store(pos, 0x5D)
        pos += 1
    if pos > begun:
        store(begun, 0x7B)
        store(pos, 0x7D)
        pos += 1
    return pos


@compiled
def is_simple(column: int) -> bool:
    """Whether a column has one cell."""
    return get(column, SHAPE) == SIMPLE


@compiled
def put_column_label(pos: int, limit: int, column: int) -> int:
    """A column's name with its colon; NO_ROOM."""
    return put_label(pos, limit, get(column, LABEL), get(column, LABEL_LENGTH))
