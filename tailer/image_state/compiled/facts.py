"""Facts of a row while it is worked on: out of its stored bytes, and out of a line of the index. Compiled.

See `images.packed` and `rebuild.changes`. What is not for the compiled merge is LEFT.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tailer.image_state.compiled import work as w
from tailer.images import packed as p
from tailer.images.guesses import GUESSED_NODE
from tailer.images.packed import PLACES_SECONDS
from tailer.jit.decorators import compiled
from tailer.jit.memory import load, store
from tailer.jit.words import get, is_same, little_half, little_word
from tailer.jit.words import put as give
from tailer.rebuild.facts import Kind
from tailer.rows.generic.compiled.tables import SIMPLE
from tailer.scan.compiled import lines as ln
from tailer.scan.index import CELL_DELETED, CELL_EXPIRING, COMPLEX_DELETION, HAS_DELETION, HAS_TIMESTAMP, HAS_TTL
from tailer.types.compiled.digits import LEFT, put_copy

LIVE: Final = int(Kind.LIVE)
CELL: Final = int(Kind.CELL)
CELL_GONE: Final = int(Kind.CELL_GONE)
COLUMN_GONE: Final = int(Kind.COLUMN_GONE)
ROW_GONE: Final = int(Kind.ROW_GONE)

HEAD: Final = p.HEAD.size
FACT: Final = p.FACT.size
TIMES: Final = p.TIMES.size
_MARK: Final = 8 * w.MARK_WIDTH
_ID: Final = 16
_GUESSED_NODE: Final = int.from_bytes(GUESSED_NODE, "little")


@compiled
def half(at: int) -> int:
    """Two bytes, the lowest first."""
    return load(at) | load(at + 1) << 8


@compiled
def word32(at: int) -> int:
    """Four bytes likewise, not negative."""
    found: Any = np.int64(little_half(at, 0))
    return found


@compiled
def word64(at: int) -> int:
    """Eight bytes, signed."""
    found: Any = np.int64(little_word(at, 0))
    return found


@compiled
def fact_at(work: int, number: int) -> int:
    """A fact of the row at hand."""
    return get(work, w.FACTS) + w.FACT_BYTES * number


@compiled
def told_at(work: int, number: int) -> int:
    """A fact that is told of it."""
    return get(work, w.TOLD) + w.FACT_BYTES * number


@compiled
def unpack(work: int, slot: int) -> int:
    """The row at hand is the one with these bytes, as old as it is now; LEFT."""
    give(work, w.FACT_COUNT, 0)
    give(work, w.SET_COUNT, 0)
    for number in range(w.GONE, w.CLUSTERING_LENGTH + 1):
        give(work, number, 0)
    at = get(slot, w.S_AT)
    if get(slot, w.S_LENGTH) == 0:
        return 0
    flags, sets, count = load(at), half(at + 2), word32(at + 4)
    if sets > w.SETS_MAX or count > w.FACTS_MAX:
        return LEFT
    give(work, w.GONE, flags & p.GONE)
    give(work, w.HAS_DUE, 1 if flags & p.HAS_DUE else 0)
    give(work, w.DUE, word64(at + 8))
    give(work, w.COMPLETE, word32(at + 24))
    placed = word32(at + 28)
    aged = 1 if placed and placed + PLACES_SECONDS < get(work, w.READ_PAST) else 0
    give(work, w.AGED, aged)
    give(work, w.PLACED, 0 if aged else placed)
    give(work, w.CLUSTERING, at + HEAD)
    give(work, w.CLUSTERING_LENGTH, word32(at + 32))
    at += HEAD + word32(at + 32)
    for number in range(sets):
        at = take_set(get(work, w.SETS) + w.SET_BYTES * number, at, aged)
        if at < 0:
            return LEFT
    give(work, w.SET_COUNT, sets)
    for number in range(count):
        at = _take_fact(work, fact_at(work, number), at)
        if at < 0:
            return LEFT
    give(work, w.FACT_COUNT, count)
    return 0


@compiled
def take_set(marks: int, at: int, aged: int) -> int:
    """The set of marks that stands there; where it ends."""
    count = half(at)
    placed = not count & p.NO_PLACES
    count &= p.NO_PLACES - 1
    if count > w.MARKS_MAX:
        return LEFT
    give(marks, 0, count)
    places = at + 2 + 2 * count
    for number in range(count):
        give(marks, 1 + 3 * number, half(at + 2 + 2 * number))
        there = placed and not aged
        give(marks, 2 + 3 * number, word64(places + 16 * number) if there else 0)
        give(marks, 3 + 3 * number, word64(places + 16 * number + 8) if there else 0)
    return places + (16 * count if placed else 0)


@compiled
def _take_fact(work: int, fact: int, at: int) -> int:
    """The fact that stands there; where it ends."""
    kind, has = load(at + 12), load(at + 13)
    if kind > CELL_GONE and kind != ROW_GONE and kind != COLUMN_GONE:
        return LEFT
    name, path, value = half(at + 16), word32(at + 20), word32(at + 24)
    give(fact, w.F_KIND, kind)
    give(fact, w.F_TS, word64(at))
    give(fact, w.F_ARRIVAL, word32(at + 8))
    give(fact, w.F_HAS, has & (p.HAS_TTL | p.HAS_EXPIRY))
    give(fact, w.F_STATE, 0 if has & p.OUTWEIGHED else w.VISIBLE | w.WAS_VISIBLE)
    marks, source = fact + 8 * w.F_MARKS_N, get(work, w.SETS) + w.SET_BYTES * half(at + 14)
    for number in range(1 + w.MARK_WIDTH * get(source, 0)):
        give(marks, number, get(source, number))
    at += FACT
    expires = ttl = 0
    if has & (p.HAS_TTL | p.HAS_EXPIRY):
        expires, ttl = word64(at), word32(at + 8)
        at += TIMES
    give(fact, w.F_TTL, ttl)
    give(fact, w.F_EXPIRES, expires)
    give(fact, w.F_NAME, at)
    give(fact, w.F_NAME_LENGTH, name)
    give(fact, w.F_PATH, at + name)
    give(fact, w.F_PATH_LENGTH, path)
    give(fact, w.F_VALUE, at + name + path)
    give(fact, w.F_VALUE_LENGTH, value)
    if path == _ID and word32(at + name + 8) == _GUESSED_NODE:
        return LEFT
    return at + name + path + value


@compiled
def _tell(work: int, kind: int, ts: int, expiring: bool, ttl: int, expires: int) -> int:
    """One more fact that is told."""
    count = get(work, w.TOLD_COUNT)
    fact = told_at(work, count)
    give(work, w.TOLD_COUNT, count + 1)
    give(fact, w.F_KIND, kind)
    give(fact, w.F_TS, ts)
    give(fact, w.F_HAS, p.HAS_TTL | p.HAS_EXPIRY if expiring else 0)
    give(fact, w.F_TTL, ttl if expiring else 0)
    give(fact, w.F_EXPIRES, expires if expiring else 0)
    give(fact, w.F_NAME, 0)
    give(fact, w.F_NAME_LENGTH, 0)
    give(fact, w.F_PATH, 0)
    give(fact, w.F_PATH_LENGTH, 0)
    give(fact, w.F_VALUE, 0)
    give(fact, w.F_VALUE_LENGTH, 0)
    return fact


@compiled
def is_below(work: int, until: int) -> bool:
    """Whether a fact that is told is of that time or older."""
    for number in range(get(work, w.TOLD_COUNT)):
        if get(told_at(work, number), w.F_TS) <= until:
            return True
    return False


@compiled
def tell_line(work: int, op: int) -> None:
    """The facts of an operation's line are told."""
    give(work, w.TOLD_COUNT, 0)
    line, table = get(op, w.O_LINE), get(op, w.O_TABLE)
    flags = get(line, ln.R_FLAGS)
    if flags & HAS_DELETION:
        _tell(work, ROW_GONE, get(line, ln.R_DELETION), False, 0, 0)
    if flags & HAS_TIMESTAMP:
        _tell(work, LIVE, get(line, ln.R_TS), flags & HAS_TTL != 0, get(line, ln.R_TTL), get(line, ln.R_EXPIRES))
    cell = get(work, w.CELL_LINES) + ln.CELL_BYTES * get(line, ln.R_CELLS)
    for _ in range(get(line, ln.R_CELLS_N)):
        column = get(table, w.T_COLUMNS) + w.COLUMN_BYTES * get(cell, ln.C_COLUMN)
        whole = get(cell, ln.C_FLAGS) & COMPLEX_DELETION != 0
        gone = whole or get(cell, ln.C_FLAGS) & CELL_DELETED != 0
        expiring = get(cell, ln.C_FLAGS) & CELL_EXPIRING != 0 and not gone
        kind = COLUMN_GONE if whole else (CELL_GONE if gone else CELL)
        fact = _tell(work, kind, get(cell, ln.C_TS), expiring, get(cell, ln.C_TTL), get(cell, ln.C_EXPIRES))
        # The label is the name in quotes, and a colon.
        give(fact, w.F_NAME, get(column, w.C_LABEL) + 1)
        give(fact, w.F_NAME_LENGTH, get(column, w.C_LABEL_LENGTH) - 3)
        if not whole and get(column, w.C_SHAPE) != SIMPLE:
            give(fact, w.F_PATH, get(work, w.DATA) + get(cell, ln.C_PATH))
            give(fact, w.F_PATH_LENGTH, get(cell, ln.C_PATH_LENGTH))
        if not gone:
            give(fact, w.F_VALUE, get(work, w.DATA) + get(cell, ln.C_VALUE))
            give(fact, w.F_VALUE_LENGTH, get(cell, ln.C_VALUE_LENGTH))
        cell += ln.CELL_BYTES


@compiled
def same_name(fact: int, other: int) -> bool:
    """Whether two facts are about columns of one name."""
    length = get(fact, w.F_NAME_LENGTH)
    if length != get(other, w.F_NAME_LENGTH):
        return False
    name, there = get(fact, w.F_NAME), get(other, w.F_NAME)
    return name == there or is_same(name, 0, there, 0, length)


@compiled
def same_value(at: int, length: int, other: int, other_length: int) -> bool:
    """Whether two values are the same."""
    return length == other_length and is_same(at, 0, other, 0, length)


@compiled
def same_path(fact: int, other: int) -> bool:
    """Whether two facts are about elements of one name."""
    path, length = get(fact, w.F_PATH), get(fact, w.F_PATH_LENGTH)
    return same_value(path, length, get(other, w.F_PATH), get(other, w.F_PATH_LENGTH))


@compiled
def _is_fact(fact: int, other: int) -> bool:
    """Whether two facts are one."""
    if get(fact, w.F_TS) != get(other, w.F_TS) or get(fact, w.F_KIND) != get(other, w.F_KIND):
        return False
    if get(fact, w.F_HAS) != get(other, w.F_HAS) or get(fact, w.F_EXPIRES) != get(other, w.F_EXPIRES):
        return False
    if get(fact, w.F_TTL) != get(other, w.F_TTL) or not same_name(fact, other) or not same_path(fact, other):
        return False
    value, there = get(fact, w.F_VALUE), get(other, w.F_VALUE)
    return same_value(value, get(fact, w.F_VALUE_LENGTH), there, get(other, w.F_VALUE_LENGTH))


@compiled
def find_told(work: int) -> int:
    """Finds each told fact among those of the row; how many of them are not there."""
    count, told = get(work, w.FACT_COUNT), get(work, w.TOLD_COUNT)
    missing = 0
    # Both stand by name mostly: the next one is behind the last one found.
    start = 0
    for number in range(told):
        fact = told_at(work, number)
        found = -1
        for step in range(count):
            at = start + step
            if at >= count:
                at -= count
            if _is_fact(fact, fact_at(work, at)):
                found = at
                start = at + 1 if at + 1 < count else 0
                break
        give(fact, w.F_FOUND, found)
        if found < 0:
            missing += 1
    return missing


@compiled
def vouches(work: int, fact: int, offset: int) -> bool:
    """Whether the node's mark at this place would change nothing."""
    node, segment = get(work, w.NODE), get(work, w.SEGMENT)
    for number in range(get(fact, w.F_MARKS_N)):
        mark = fact + 8 * w.F_MARKS + _MARK * number
        if get(mark, 0) == node:
            return get(mark, 1) > segment or (get(mark, 1) == segment and get(mark, 2) >= offset)
    return False


@compiled
def mark(work: int, fact: int, offset: int) -> int:
    """The node vouches for the fact, at this place; LEFT where there are too many."""
    if vouches(work, fact, offset):
        return 0
    node, count = get(work, w.NODE), get(fact, w.F_MARKS_N)
    at = 0
    while at < count and get(fact + 8 * w.F_MARKS + _MARK * at, 0) < node:
        at += 1
    place = fact + 8 * w.F_MARKS + _MARK * at
    if at == count or get(place, 0) != node:
        if count == w.MARKS_MAX:
            return LEFT
        for number in range(w.MARK_WIDTH * count - 1, w.MARK_WIDTH * at - 1, -1):
            give(fact, w.F_MARKS + number + w.MARK_WIDTH, get(fact, w.F_MARKS + number))
        give(fact, w.F_MARKS_N, count + 1)
    give(place, 0, node)
    give(place, 1, get(work, w.SEGMENT))
    give(place, 2, offset)
    return 0


@compiled
def add_told(work: int, offset: int) -> int:
    """Marks the facts that are told, and adds those that are missing; LEFT."""
    for number in range(get(work, w.TOLD_COUNT)):
        told = told_at(work, number)
        found = get(told, w.F_FOUND)
        if found < 0:
            found = get(work, w.FACT_COUNT)
            if found == w.FACTS_MAX:
                return LEFT
            give(work, w.FACT_COUNT, found + 1)
            fact = fact_at(work, found)
            for field in range(w.F_ARRIVAL):
                give(fact, field, get(told, field))
            give(fact, w.F_ARRIVAL, get(work, w.SECOND))
            give(fact, w.F_STATE, w.NEW)
            give(fact, w.F_MARKS_N, 0)
        if mark(work, fact_at(work, found), offset) < 0:
            return LEFT
    return 0


@compiled
def is_dead(work: int, fact: int) -> bool:
    """Whether it is a tombstone, or has expired."""
    if get(fact, w.F_KIND) >= CELL_GONE:
        return True
    return get(fact, w.F_HAS) & p.HAS_EXPIRY != 0 and get(fact, w.F_EXPIRES) <= get(work, w.SECOND)


@compiled
def put_clustering(work: int, op: int) -> None:
    """The clustering of the row at hand is that of the line, each value behind its length."""
    line = get(op, w.O_LINE)
    begun = pos = get(work, w.ROW_CLUSTERING)
    value = get(work, w.VALUES) + ln.VALUE_BYTES * get(line, ln.R_VALUES)
    for _ in range(get(line, ln.R_VALUES_N)):
        length = get(value, ln.V_LENGTH)
        for place in range(4):
            store(pos + place, (length >> (24 - 8 * place)) & 0xFF)
        pos += 4
        if length > 0:
            pos = put_copy(pos, get(work, w.DATA) + get(value, ln.V_OFF), length)
        value += ln.VALUE_BYTES
    give(work, w.CLUSTERING, begun)
    give(work, w.CLUSTERING_LENGTH, pos - begun)
