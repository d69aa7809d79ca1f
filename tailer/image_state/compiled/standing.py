"""Which facts of a row count, and which of the others are kept: `images.standing`, compiled; not for counters."""

from __future__ import annotations

from typing import Final

from tailer.image_state.compiled import work as w
from tailer.image_state.compiled.facts import CELL_GONE, COLUMN_GONE, LIVE, ROW_GONE, fact_at, same_name, same_path
from tailer.images.packed import HAS_EXPIRY
from tailer.jit.decorators import compiled
from tailer.jit.memory import load
from tailer.jit.words import get
from tailer.jit.words import put as give

_MARK: Final = 8 * w.MARK_WIDTH


@compiled
def compare(at: int, length: int, other: int, other_length: int) -> int:
    """Below, at or above zero, as bytes come before, are, or come behind others."""
    for step in range(min(length, other_length)):
        if load(at + step) != load(other + step):
            return load(at + step) - load(other + step)
    return length - other_length


@compiled
def _class(fact: int) -> int:
    if get(fact, w.F_KIND) == CELL_GONE:
        return 2
    return 1 if get(fact, w.F_HAS) & HAS_EXPIRY else 0


@compiled
def _is_stronger(fact: int, other: int) -> bool:
    """Of two facts about one thing the first one counts: `images.facts.strength`."""
    if get(fact, w.F_TS) != get(other, w.F_TS):
        return get(fact, w.F_TS) > get(other, w.F_TS)
    if get(fact, w.F_KIND) == LIVE and (get(fact, w.F_VALUE_LENGTH) > 0) != (get(other, w.F_VALUE_LENGTH) > 0):
        # One is a guess.
        return get(fact, w.F_VALUE_LENGTH) == 0
    class_, other_class = _class(fact), _class(other)
    if class_ != other_class:
        return class_ > other_class
    if class_ == 2:
        return False
    if class_ == 1:
        if get(fact, w.F_EXPIRES) != get(other, w.F_EXPIRES):
            return get(fact, w.F_EXPIRES) > get(other, w.F_EXPIRES)
        if get(fact, w.F_TTL) != get(other, w.F_TTL):
            return get(fact, w.F_TTL) < get(other, w.F_TTL)
    value, length = get(fact, w.F_VALUE), get(fact, w.F_VALUE_LENGTH)
    return compare(value, length, get(other, w.F_VALUE), get(other, w.F_VALUE_LENGTH)) > 0


@compiled
def _is_over(fact: int, other: int) -> int:
    """Whether `fact` outweighs another one: 1 for a deletion that covers it, 2 for one about the same thing."""
    kind, other_kind = get(fact, w.F_KIND), get(other, w.F_KIND)
    if kind == ROW_GONE and other_kind != ROW_GONE:
        return 1 if get(fact, w.F_TS) >= get(other, w.F_TS) else 0
    if kind == ROW_GONE or kind == LIVE:
        return 2 if kind == other_kind and _is_stronger(fact, other) else 0
    if other_kind == LIVE or other_kind == ROW_GONE or not same_name(fact, other):
        return 0
    if kind == COLUMN_GONE and other_kind != COLUMN_GONE:
        return 1 if get(fact, w.F_TS) >= get(other, w.F_TS) else 0
    if kind != COLUMN_GONE and (other_kind == COLUMN_GONE or not same_path(fact, other)):
        return 0
    return 2 if _is_stronger(fact, other) else 0


@compiled
def _without(marks: int, fact: int, over: int) -> int:
    """`marks` (bits) without those of the fact that another one's are not older than: `marks.beyond`."""
    for number in range(get(fact, w.F_MARKS_N)):
        mine = fact + 8 * w.F_MARKS + _MARK * number
        for at in range(get(over, w.F_MARKS_N)):
            other = over + 8 * w.F_MARKS + _MARK * at
            if get(mine, 0) == get(other, 0):
                newer = get(mine, 1) > get(other, 1) or (get(mine, 1) == get(other, 1) and get(mine, 2) > get(other, 2))
                if not newer:
                    marks &= ~(1 << number)
    return marks


@compiled
def stand(work: int) -> None:
    """Sets of each fact whether it counts, and is kept; the marks of those that do not count are those they are kept
    for."""
    count = get(work, w.FACT_COUNT)
    for number in range(count):
        fact = fact_at(work, number)
        marks = (1 << get(fact, w.F_MARKS_N)) - 1
        visible = True
        for at in range(count):
            if at != number and _is_over(fact_at(work, at), fact):
                visible = False
                marks = _without(marks, fact, fact_at(work, at))
        for at in range(get(work, w.ABOVE_COUNT)):
            above = get(work, w.ABOVE) + w.FACT_BYTES * at
            if get(above, w.F_TS) >= get(fact, w.F_TS):
                visible = False
                marks = _without(marks, fact, above)
        state = get(fact, w.F_STATE) & ~(w.VISIBLE | w.KEPT)
        if visible:
            state |= w.VISIBLE
        if visible or marks:
            state |= w.KEPT
        give(fact, w.F_STATE, state)
        # All are asked with all their marks before any loses some.
        give(fact, w.F_FOUND, marks)
    for number in range(count):
        fact = fact_at(work, number)
        if not get(fact, w.F_STATE) & w.VISIBLE:
            _leave(fact, get(fact, w.F_FOUND))


@compiled
def _leave(fact: int, marks: int) -> None:
    left = 0
    for number in range(get(fact, w.F_MARKS_N)):
        if marks >> number & 1:
            for field in range(w.MARK_WIDTH):
                value = get(fact, w.F_MARKS + w.MARK_WIDTH * number + field)
                give(fact, w.F_MARKS + w.MARK_WIDTH * left + field, value)
            left += 1
    give(fact, w.F_MARKS_N, left)
