"""What a reader sees of the row at hand, before and after, and its JSON: `images.view` and `images.text`, compiled."""

from __future__ import annotations

from typing import Final

from tailer.image_state.compiled import work as w
from tailer.image_state.compiled.elements import gather, put_elements, same_elements, value_at
from tailer.image_state.compiled.facts import LIVE, ROW_GONE, fact_at, is_dead, same_value
from tailer.jit.decorators import compiled
from tailer.jit.memory import store
from tailer.jit.words import get, is_same
from tailer.jit.words import put as give
from tailer.rows.generic.compiled.tables import SIMPLE
from tailer.types.compiled.digits import LEFT, NO_ROOM, put_copy
from tailer.types.compiled.values import put_label, put_null, put_value

_COMMA: Final = 0x2C
_NULL_ROOM: Final = 8


@compiled
def _column_of(table: int, fact: int, start: int) -> int:
    """The number of a fact's column among the regular ones, looked for from a place on; -1 for none of them."""
    name, length, count = get(fact, w.F_NAME), get(fact, w.F_NAME_LENGTH), get(table, w.T_REGULAR_COUNT)
    for step in range(count):
        number = start + step
        if number >= count:
            number -= count
        column = get(table, w.T_REGULAR) + w.COLUMN_BYTES * number
        if get(column, w.C_LABEL_LENGTH) - 3 == length and is_same(name, 0, get(column, w.C_LABEL) + 1, 0, length):
            return number
    return -1


@compiled
def is_complete(work: int, table: int, header_complete: int) -> int:
    """Whether the row at hand is known whole."""
    epoch = get(table, w.T_EPOCH)
    return 1 if get(table, w.T_WHOLE) or epoch == header_complete or epoch == get(work, w.COMPLETE) else 0


@compiled
def _see_cell(table: int, value: int, column: int, fact: int, dead: bool) -> None:
    """Sees one of a column's cells."""
    if get(get(table, w.T_REGULAR) + w.COLUMN_BYTES * column, w.C_SHAPE) == SIMPLE:
        give(value, 0, w.NULL if dead else w.VALUE)
        give(value, 1, get(fact, w.F_VALUE))
        give(value, 2, get(fact, w.F_VALUE_LENGTH))
    elif get(value, 0) == w.UNKNOWN:
        give(value, 0, w.NULL)
    if not dead:
        give(value, 0, w.VALUE)


@compiled
def look(work: int, table: int, view: int, state: int, header_gone: int, header_complete: int) -> int:
    """Sees what the facts of a `state` show; LEFT where it is a guess that the row lives or ended, or a type is not for
    here."""
    for column in range(get(table, w.T_REGULAR_COUNT)):
        give(value_at(view, column), 0, w.UNKNOWN)
    lives = ended = found = guessed = left = 0
    start = 0
    for number in range(get(work, w.FACT_COUNT)):
        fact = fact_at(work, number)
        kind = get(fact, w.F_KIND)
        if not get(fact, w.F_STATE) & state or kind == ROW_GONE:
            continue
        dead = is_dead(work, fact)
        if kind == LIVE:
            ended = 1 if dead else 0
            guessed = 1 if get(fact, w.F_VALUE_LENGTH) and not lives else 0
            lives = 1 if lives or not dead else 0
            continue
        column = _column_of(table, fact, start)
        if column < 0:
            continue
        # Elements of one column stand behind each other.
        start = column
        found = 1
        lives = 1 if lives or not dead else 0
        guessed = 0 if not dead else guessed
        left = left if get(get(table, w.T_REGULAR) + w.COLUMN_BYTES * column, w.C_READY) else 1
        _see_cell(table, value_at(view, column), column, fact, dead)
    gather(work, table, view, state)
    complete = is_complete(work, table, header_complete)
    gone = complete or get(work, w.GONE) or header_gone or ended
    give(view, w.V_LIVES, lives)
    give(view, w.V_COMPLETE, complete)
    give(view, w.V_SHOWN, 0 if not lives and (gone or not found) else 1)
    return LEFT if guessed or left else 0


@compiled
def _known(view: int, column: int) -> int:
    """Whether a column's value is known, null or there."""
    complete = get(view, w.V_COMPLETE)
    if complete and not get(view, w.V_LIVES):
        return w.NULL
    known = get(value_at(view, column), 0)
    return w.NULL if known == w.UNKNOWN and complete else known


@compiled
def is_changed(work: int, table: int, before: int, after: int, column: int, swept: bool) -> bool:
    """Whether a column's value differs, or may differ: `chain.changed_of`."""
    was, now = _known(before, column), _known(after, column)
    if was == w.UNKNOWN and now == w.UNKNOWN:
        return swept
    if was != now:
        return True
    if now != w.VALUE:
        return False
    return not _same_value(work, table, before, after, column)


@compiled
def _same_value(work: int, table: int, before: int, after: int, column: int) -> bool:
    """Whether a column that has a value in both views has the same one."""
    old, new = value_at(before, column), value_at(after, column)
    if get(get(table, w.T_REGULAR) + w.COLUMN_BYTES * column, w.C_SHAPE) != SIMPLE:
        return same_elements(work, old, new)
    return same_value(get(old, 1), get(old, 2), get(new, 1), get(new, 2))


@compiled
def is_same_row(work: int, table: int, before: int, after: int) -> bool:
    """Whether the JSON of two views is the same."""
    if get(before, w.V_SHOWN) != get(after, w.V_SHOWN):
        return False
    if not get(after, w.V_SHOWN):
        return True
    for column in range(get(table, w.T_REGULAR_COUNT)):
        was, now = get(value_at(before, column), 0), get(value_at(after, column), 0)
        if was == w.UNKNOWN and get(before, w.V_COMPLETE):
            was = w.NULL
        if now == w.UNKNOWN and get(after, w.V_COMPLETE):
            now = w.NULL
        if was != now:
            return False
        if now == w.VALUE and not _same_value(work, table, before, after, column):
            return False
    return True


@compiled
def put_row(work: int, table: int, view: int, pos: int, key: int, key_length: int, more: int, more_length: int) -> int:
    """The JSON of a view behind the key's members and the clustering's, whose texts are objects; NO_ROOM or LEFT."""
    limit = get(work, w.TEXT_LIMIT)
    if pos + key_length + more_length + _NULL_ROOM > limit:
        return NO_ROOM
    pos = put_copy(pos, key, key_length - 1)
    if get(work, w.CLUSTERING_LENGTH):
        store(pos, _COMMA)
        pos = put_copy(pos + 1, more + 1, more_length - 2)
    for number in range(get(table, w.T_REGULAR_COUNT)):
        value = value_at(view, number)
        known = get(value, 0)
        if known == w.UNKNOWN and not get(view, w.V_COMPLETE):
            continue
        column = get(table, w.T_REGULAR) + w.COLUMN_BYTES * number
        store(pos, _COMMA)
        pos = put_label(pos + 1, limit, get(column, w.C_LABEL), get(column, w.C_LABEL_LENGTH))
        if pos < 0:
            return pos
        if known == w.VALUE and get(column, w.C_SHAPE) != SIMPLE:
            pos = put_elements(work, pos, limit, column, value)
        elif known == w.VALUE:
            pos = put_value(get(work, w.WRITER), pos, limit, get(column, w.C_TYPE), get(value, 1), get(value, 2))
        else:
            pos = put_null(pos)
        if pos < 0:
            return pos
        if pos + _NULL_ROOM > limit:
            return NO_ROOM
    store(pos, 0x7D)
    return pos + 1
