"""Elements of collections that have a cell each, as a reader sees them: in order, and their JSON. Compiled.

See `images.view` and `images.text`.
"""

from __future__ import annotations

from typing import Final

from tailer.image_state.compiled import work as w
from tailer.image_state.compiled.facts import CELL, fact_at, is_dead, same_path, same_value
from tailer.image_state.compiled.standing import compare
from tailer.image_state.compiled.values import put_component
from tailer.jit.decorators import compiled
from tailer.jit.memory import store
from tailer.jit.words import get, is_same
from tailer.jit.words import put as give
from tailer.rows.generic.compiled.tables import MAP, SET, SIMPLE
from tailer.types.compiled.digits import NO_ROOM
from tailer.types.compiled.plan import PART, PART_BYTES, PARTS_BYTES
from tailer.types.compiled.values import put_key, put_part

PATH_ROOM: Final = 64
"""More than the order of a name of one size takes."""

_ROOM: Final = 8


@compiled
def value_at(view: int, column: int) -> int:
    """What is seen of a column: whether it is known, and where its value is."""
    return view + 8 * (w.V_COLUMNS + w.VALUE_WIDTH * column)


@compiled
def _is_behind(work: int, order: int, fact: int, other: int) -> bool:
    """Whether an element comes behind another one."""
    path, length = get(fact, w.F_PATH), get(fact, w.F_PATH_LENGTH)
    there, size = get(other, w.F_PATH), get(other, w.F_PATH_LENGTH)
    if order == w.UNSIGNED or length == 0 or size == 0:
        return compare(path, length, there, size) > 0
    begin = get(work, w.PATHS)
    end = put_component(begin, order, 0, path, length)
    other_begin = begin + PATH_ROOM
    other_end = put_component(other_begin, order, 0, there, size)
    return compare(begin, end - begin, other_begin, other_end - other_begin) > 0


@compiled
def _is_of(fact: int, column: int) -> bool:
    length = get(fact, w.F_NAME_LENGTH)
    if length != get(column, w.C_LABEL_LENGTH) - 3:
        return False
    return is_same(get(fact, w.F_NAME), 0, get(column, w.C_LABEL) + 1, 0, length)


@compiled
def gather(work: int, table: int, view: int, state: int) -> None:
    """Finds the living elements of each column that has such, in order."""
    for number in range(get(table, w.T_REGULAR_COUNT)):
        column, value = get(table, w.T_REGULAR) + w.COLUMN_BYTES * number, value_at(view, number)
        if get(value, 0) != w.VALUE or get(column, w.C_SHAPE) == SIMPLE:
            continue
        elements, count = get(work, w.ELEMENTS) + 8 * get(work, w.ELEMENT_COUNT), 0
        for at in range(get(work, w.FACT_COUNT)):
            fact = fact_at(work, at)
            if get(fact, w.F_KIND) != CELL or not get(fact, w.F_STATE) & state or not _is_of(fact, column):
                continue
            if is_dead(work, fact):
                continue
            place = count
            while place > 0:
                last = fact_at(work, get(elements, place - 1))
                if not _is_behind(work, get(column, w.C_PATH_ORDER), last, fact):
                    break
                give(elements, place, get(elements, place - 1))
                place -= 1
            give(elements, place, at)
            count += 1
        give(value, 1, elements)
        give(value, 2, count)
        give(work, w.ELEMENT_COUNT, get(work, w.ELEMENT_COUNT) + count)


@compiled
def same_elements(work: int, old: int, new: int) -> bool:
    """Whether two values have the same elements."""
    if get(old, 2) != get(new, 2):
        return False
    for number in range(get(old, 2)):
        fact, other = fact_at(work, get(get(old, 1), number)), fact_at(work, get(get(new, 1), number))
        value, there = get(fact, w.F_VALUE), get(other, w.F_VALUE)
        if not same_path(fact, other):
            return False
        if not same_value(value, get(fact, w.F_VALUE_LENGTH), there, get(other, w.F_VALUE_LENGTH)):
            return False
    return True


@compiled
def put_elements(work: int, pos: int, limit: int, column: int, value: int) -> int:
    """The JSON of a column's elements; NO_ROOM or LEFT."""
    shape = get(column, w.C_SHAPE)
    store(pos, 0x7B if shape == MAP else 0x5B)
    pos += 1
    for number in range(get(value, 2)):
        if number:
            store(pos, 0x2C)
            pos += 1
        pos = _put_element(work, pos, limit, column, fact_at(work, get(get(value, 1), number)))
        if pos < 0:
            return pos
        if pos + _ROOM > limit:
            return NO_ROOM
    store(pos, 0x7D if shape == MAP else 0x5D)
    return pos + 1


@compiled
def _put_element(work: int, pos: int, limit: int, column: int, fact: int) -> int:
    shape, writer = get(column, w.C_SHAPE), get(work, w.WRITER)
    part = get(column, w.C_TYPE) + PARTS_BYTES
    if shape == SET:
        return put_part(writer, pos, limit, get(part, PART), get(fact, w.F_PATH), get(fact, w.F_PATH_LENGTH))
    if shape == MAP:
        pos = put_key(writer, pos, limit, get(part, PART), get(fact, w.F_PATH), get(fact, w.F_PATH_LENGTH))
        if pos < 0:
            return pos
        if pos + _ROOM > limit:
            return NO_ROOM
        store(pos, 0x3A)
        pos += 1
        part += PART_BYTES
    return put_part(writer, pos, limit, get(part, PART), get(fact, w.F_VALUE), get(fact, w.F_VALUE_LENGTH))
