"""A row as the bytes that are kept of it: `images.packed.pack`, compiled."""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.image_state.compiled import work as w
from tailer.image_state.compiled.facts import FACT, HEAD, TIMES, fact_at
from tailer.image_state.compiled.standing import compare
from tailer.images import packed as p
from tailer.jit.decorators import compiled
from tailer.jit.memory import store
from tailer.jit.words import get
from tailer.jit.words import put as give
from tailer.types.compiled.digits import put_copy
from tailer.types.compiled.runs import store_half, store_word

_MARK: Final = 8 * w.MARK_WIDTH


@compiled
def put_half(at: int, number: int) -> None:
    """Two bytes, the lowest first."""
    store(at, number & 0xFF)
    store(at + 1, number >> 8 & 0xFF)


@compiled
def put_word32(at: int, number: int) -> None:
    """Four bytes likewise."""
    store_half(at, np.uint64(number))


@compiled
def put_word64(at: int, number: int) -> None:
    """Eight bytes likewise."""
    store_word(at, np.uint64(number))


@compiled
def room(work: int) -> int:
    """More bytes than the row at hand takes."""
    size = HEAD + get(work, w.CLUSTERING_LENGTH)
    for number in range(get(work, w.FACT_COUNT)):
        fact = fact_at(work, number)
        size += FACT + TIMES + 2 + (2 + 16) * get(fact, w.F_MARKS_N)
        size += get(fact, w.F_NAME_LENGTH) + get(fact, w.F_PATH_LENGTH) + get(fact, w.F_VALUE_LENGTH)
    return size


@compiled
def _has(fact: int, flag: int, field: int) -> int:
    return get(fact, field) if get(fact, w.F_HAS) & flag else -1


@compiled
def _order(fact: int, other: int) -> int:
    """`facts.in_fixed_order`."""
    if get(fact, w.F_KIND) != get(other, w.F_KIND):
        return get(fact, w.F_KIND) - get(other, w.F_KIND)
    name, length = get(fact, w.F_NAME), get(fact, w.F_NAME_LENGTH)
    found = compare(name, length, get(other, w.F_NAME), get(other, w.F_NAME_LENGTH))
    if found != 0:
        return found
    path, length = get(fact, w.F_PATH), get(fact, w.F_PATH_LENGTH)
    found = compare(path, length, get(other, w.F_PATH), get(other, w.F_PATH_LENGTH))
    if found != 0:
        return found
    if get(fact, w.F_TS) != get(other, w.F_TS):
        return 1 if get(fact, w.F_TS) > get(other, w.F_TS) else -1
    found = _has(fact, p.HAS_TTL, w.F_TTL) - _has(other, p.HAS_TTL, w.F_TTL)
    if found != 0:
        return found
    found = _has(fact, p.HAS_EXPIRY, w.F_EXPIRES) - _has(other, p.HAS_EXPIRY, w.F_EXPIRES)
    if found != 0:
        return found
    value, length = get(fact, w.F_VALUE), get(fact, w.F_VALUE_LENGTH)
    return compare(value, length, get(other, w.F_VALUE), get(other, w.F_VALUE_LENGTH))


@compiled
def _sort(work: int) -> int:
    """Puts the numbers of the facts that are kept in order; how many."""
    order, count = get(work, w.ORDER), 0
    for number in range(get(work, w.FACT_COUNT)):
        fact = fact_at(work, number)
        if not get(fact, w.F_STATE) & w.KEPT:
            continue
        # They are in order mostly: new ones stand behind.
        at = count
        while at > 0 and _order(fact, fact_at(work, get(order, at - 1))) < 0:
            give(order, at, get(order, at - 1))
            at -= 1
        give(order, at, number)
        count += 1
    return count


@compiled
def same_marks(marks: int, other: int) -> bool:
    """Whether two sets of marks are the same. Each is a count, and the marks behind it."""
    for number in range(1 + w.MARK_WIDTH * get(marks, 0)):
        if get(marks, number) != get(other, number):
            return False
    return True


@compiled
def _is_placed(marks: int) -> bool:
    for number in range(get(marks, 0)):
        if get(marks, 2 + 3 * number) or get(marks, 3 + 3 * number):
            return True
    return False


@compiled
def _put_set(pos: int, marks: int, placed: bool) -> int:
    count = get(marks, 0)
    put_half(pos, count if placed else count | p.NO_PLACES)
    pos += 2
    for number in range(count):
        put_half(pos, get(marks, 1 + 3 * number))
        pos += 2
    if placed:
        for number in range(count):
            put_word64(pos, get(marks, 2 + 3 * number))
            put_word64(pos + 8, get(marks, 3 + 3 * number))
            pos += 16
    return pos


@compiled
def _put_sets(work: int, pos: int, count: int, begun: int) -> int:
    """The sets of marks of the facts in order; F_FOUND of each fact is the number of its own."""
    order, sets = get(work, w.ORDER), 0
    any_placed = False
    for number in range(count):
        fact = fact_at(work, get(order, number))
        marks = fact + 8 * w.F_MARKS_N
        found = -1
        # Facts with marks of their own are few: the first of each set tells its number.
        for at in range(number):
            other = fact_at(work, get(order, at))
            if same_marks(marks, other + 8 * w.F_MARKS_N):
                found = get(other, w.F_FOUND)
                break
        if found < 0:
            found = sets
            sets += 1
            placed = _is_placed(marks)
            any_placed = any_placed or placed
            pos = _put_set(pos, marks, placed)
        give(fact, w.F_FOUND, found)
    put_half(begun + 2, sets)
    put_word32(begun + 28, get(work, w.PLACED) if any_placed else 0)
    return pos


@compiled
def pack(work: int, begun: int) -> int:
    """Puts the row at hand there, of its facts those that are kept; where it ends. There must be `room`."""
    count = _sort(work)
    store(begun, (p.GONE if get(work, w.GONE) else 0) | (p.HAS_DUE if get(work, w.HAS_DUE) else 0))
    store(begun + 1, 0)
    put_word32(begun + 4, count)
    put_word64(begun + 8, get(work, w.DUE) if get(work, w.HAS_DUE) else 0)
    put_word64(begun + 16, 0)
    put_word32(begun + 24, get(work, w.COMPLETE))
    put_word32(begun + 32, get(work, w.CLUSTERING_LENGTH))
    pos = put_copy(begun + HEAD, get(work, w.CLUSTERING), get(work, w.CLUSTERING_LENGTH))
    pos = _put_sets(work, pos, count, begun)
    for number in range(count):
        pos = _put_fact(pos, fact_at(work, get(get(work, w.ORDER), number)))
    return pos


@compiled
def _put_fact(pos: int, fact: int) -> int:
    has = get(fact, w.F_HAS)
    put_word64(pos, get(fact, w.F_TS))
    put_word32(pos + 8, get(fact, w.F_ARRIVAL))
    store(pos + 12, get(fact, w.F_KIND))
    store(pos + 13, has if get(fact, w.F_STATE) & w.VISIBLE else has | p.OUTWEIGHED)
    put_half(pos + 14, get(fact, w.F_FOUND))
    name, path, length = get(fact, w.F_NAME_LENGTH), get(fact, w.F_PATH_LENGTH), get(fact, w.F_VALUE_LENGTH)
    put_half(pos + 16, name)
    put_half(pos + 18, 0)
    put_word32(pos + 20, path)
    put_word32(pos + 24, length)
    pos += FACT
    if has:
        put_word64(pos, get(fact, w.F_EXPIRES))
        put_word32(pos + 8, get(fact, w.F_TTL))
        pos += TIMES
    pos = put_copy(pos, get(fact, w.F_NAME), name)
    pos = put_copy(pos, get(fact, w.F_PATH), path)
    return put_copy(pos, get(fact, w.F_VALUE), length)
