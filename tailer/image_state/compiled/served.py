"""Rows that a server has, of partitions that the state has nothing of: their bytes in it, and their images. Compiled.

See `snapshot.row` and `images.served`, which do it for every row. What is not for here leaves its partition LEFT.
"""

from __future__ import annotations

from typing import Final

from tailer.image_state.compiled import served_block as d
from tailer.image_state.compiled import work as w
from tailer.image_state.compiled.elements import value_at
from tailer.image_state.compiled.facts import CELL, HEAD, LIVE, fact_at
from tailer.image_state.compiled.image import NUMBERS_ROOM, put_served_cause, put_what
from tailer.image_state.compiled.keys import (
    ROW_MAX,
    ROWS,
)
from tailer.image_state.compiled.merge import DONE, OUT_FULL, STATE_FULL, TEXT_FULL, keep_all, next_due, row_texts
from tailer.image_state.compiled.pack import pack, put_word64, room
from tailer.image_state.compiled.served_block import length_of, place_of
from tailer.image_state.compiled.values import is_usual, put_component
from tailer.image_state.compiled.view import look
from tailer.images import packed as p
from tailer.jit.decorators import compiled, entry_point
from tailer.jit.memory import store
from tailer.jit.words import get
from tailer.jit.words import put as give
from tailer.rows.generic.compiled.tables import SIMPLE
from tailer.types.compiled.digits import LEFT, NO_ROOM, put_copy, read_signed
from tailer.types.compiled.values import put_label, put_null, put_value

KEY_TEXT_ROOM: Final = 1 << 16
ROW_KEY_ROOM: Final = 1024

_SEQ: Final = 16
_OPEN, _CLOSE, _COMMA = 0x7B, 0x7D, 0x2C


@compiled
def _put_members(work: int, served: int, row: int, first: int, count: int, columns: int, pos: int, limit: int) -> int:
    """Key columns of a row as a JSON object; NO_ROOM or LEFT."""
    if pos + 2 > limit:
        return NO_ROOM
    store(pos, _OPEN)
    pos += 1
    for number in range(count):
        column = columns + w.COLUMN_BYTES * number
        if number:
            store(pos, _COMMA)
            pos += 1
        pos = put_label(pos, limit, get(column, w.C_LABEL), get(column, w.C_LABEL_LENGTH))
        if pos < 0:
            return pos
        length = length_of(served, row, first + number)
        if length < 0:
            pos = put_null(pos)
        else:
            at = place_of(served, row, first + number)
            pos = put_value(get(work, w.WRITER), pos, limit, get(column, w.C_TYPE), at, length)
        if pos < 0:
            return pos
        if pos + 2 > limit:
            return NO_ROOM
    store(pos, _CLOSE)
    return pos + 1


@compiled
def _new_fact(work: int, served: int, number: int, kind: int, ts: int, ttl: int) -> int:
    """One more fact of the row at hand. `ttl`: below 0 for none."""
    fact = fact_at(work, number)
    give(fact, w.F_KIND, kind)
    give(fact, w.F_NAME, 0)
    give(fact, w.F_NAME_LENGTH, 0)
    give(fact, w.F_PATH, 0)
    give(fact, w.F_PATH_LENGTH, 0)
    give(fact, w.F_VALUE, 0)
    give(fact, w.F_VALUE_LENGTH, 0)
    give(fact, w.F_TS, ts)
    give(fact, w.F_HAS, p.HAS_TTL | p.HAS_EXPIRY if ttl >= 0 else 0)
    give(fact, w.F_TTL, max(ttl, 0))
    give(fact, w.F_EXPIRES, get(served, d.D_ANSWERED) + ttl if ttl >= 0 else 0)
    give(fact, w.F_ARRIVAL, get(work, w.SECOND))
    give(fact, w.F_STATE, w.VISIBLE | w.KEPT)
    source = get(served, d.D_MARKS)
    for at in range(1 + w.MARK_WIDTH * get(source, 0)):
        give(fact, w.F_MARKS_N + at, get(source, at))
    give(work, w.FACT_COUNT, number + 1)
    return fact


@compiled
def _tell_row(work: int, served: int, table: int, row: int) -> int:
    """The facts of a row are those of the row at hand; the newest time among them. LEFT in FACT_COUNT where it is not
    for here."""
    give(work, w.FACT_COUNT, 0)
    until = get(served, d.D_UNTIL)
    newest = oldest = until
    oldest_ttl = -1
    count = 0
    for number in range(get(served, d.D_REGULAR_COUNT)):
        wanted = get(served, d.D_REGULAR) + d.WANTED_BYTES * number
        length = length_of(served, row, get(wanted, d.R_VALUE))
        if length < 0:
            continue
        column = get(table, w.T_REGULAR) + w.COLUMN_BYTES * get(wanted, d.R_COLUMN)
        if not get(column, w.C_READY) or get(column, w.C_SHAPE) != SIMPLE or count + 2 > w.FACTS_MAX:
            give(work, w.FACT_COUNT, LEFT)
            return 0
        ts, ttl = until, -1
        if get(wanted, d.R_WRITTEN) >= 0 and length_of(served, row, get(wanted, d.R_WRITTEN)) == 8:
            ts = read_signed(place_of(served, row, get(wanted, d.R_WRITTEN)), 8)
        if get(wanted, d.R_TTL) >= 0 and length_of(served, row, get(wanted, d.R_TTL)) == 4:
            ttl = read_signed(place_of(served, row, get(wanted, d.R_TTL)), 4)
        fact = _new_fact(work, served, count, CELL, ts, ttl)
        # The label is the name in quotes, and a colon.
        give(fact, w.F_NAME, get(column, w.C_LABEL) + 1)
        give(fact, w.F_NAME_LENGTH, get(column, w.C_LABEL_LENGTH) - 3)
        give(fact, w.F_VALUE, place_of(served, row, get(wanted, d.R_VALUE)))
        give(fact, w.F_VALUE_LENGTH, length)
        # Of one age what lives longest.
        longer = oldest_ttl >= 0 and (ttl < 0 or ttl > oldest_ttl)
        if count == 0 or ts < oldest or (ts == oldest and longer):
            oldest, oldest_ttl = ts, ttl
        newest = ts if count == 0 or ts > newest else newest
        count += 1
    marker = _new_fact(work, served, count, LIVE, oldest, oldest_ttl)
    if count > 0:
        give(marker, w.F_VALUE, get(served, d.D_MARK))
        give(marker, w.F_VALUE_LENGTH, 1)
    return newest


@compiled
def _put_clustering(work: int, served: int, table: int, row: int, key: int) -> int:
    """The row's part of its key, and its clustering of the row at hand; where the key ends. LEFT."""
    first, count = 1 + get(served, d.D_KEYS), get(served, d.D_CLUSTERING)
    limit = key + ROW_MAX
    store(key, ROWS)
    key += 1
    begun = pos = get(work, w.ROW_CLUSTERING)
    for number in range(count):
        column = get(table, w.T_CLUSTERING) + w.COLUMN_BYTES * number
        length = length_of(served, row, first + number)
        at = place_of(served, row, first + number)
        if length > ROW_MAX or (number == 0 and length < 0) or not is_usual(get(column, w.C_KIND), at, max(length, 0)):
            return LEFT
        key = put_component(key, get(column, w.C_ORDER), get(column, w.C_DESC), at, length)
        if key > limit:
            return LEFT
        for place in range(4):
            store(pos + place, (length >> (24 - 8 * place)) & 0xFF)
        pos += 4
        if length > 0:
            pos = put_copy(pos, at, length)
    give(work, w.CLUSTERING, begun)
    give(work, w.CLUSTERING_LENGTH, pos - begun)
    return key


@compiled
def _line(served: int, number: int) -> int:
    return get(served, d.D_LINES) + d.LINE_BYTES * number


@compiled
def _put_line(served: int, number: int, key: int, key_end: int, at: int, end: int, base: int) -> int:
    line = _line(served, number)
    give(line, d.L_KEY, key)
    give(line, d.L_KEY_END, key_end)
    give(line, d.L_AT, at)
    give(line, d.L_END, end)
    give(line, d.L_HAS_DUE, 0)
    give(line, d.L_BASE, base)
    return line


@compiled
def _serve_row(work: int, served: int, table: int, part: int, row: int) -> int:
    """A row into the state, and its image: DONE, what there is too little of, or LEFT."""
    for number in range(w.GONE, w.CLUSTERING_LENGTH + 1):
        give(work, number, 0)
    give(work, w.SET_COUNT, 0)
    give(work, w.ELEMENT_COUNT, 0)
    newest = _tell_row(work, served, table, row)
    if get(work, w.FACT_COUNT) < 0:
        return LEFT
    base, base_end = get(part, d.G_KEY), get(part, d.G_KEY_END)
    key = get(work, w.KEYS_END)
    key_end = _put_clustering(work, served, table, row, put_copy(key, base, base_end - base))
    if key_end < 0:
        return LEFT
    give(work, w.PLACED, get(work, w.SECOND))
    next_due(work)
    epoch = get(table, w.T_EPOCH) if get(served, d.D_COMPLETE) else 0
    if look(work, table, get(work, w.AFTER), w.VISIBLE, 0, epoch) < 0:
        return LEFT
    begun = get(work, w.STATE)
    if begun + room(work) > get(work, w.STATE_LIMIT):
        return STATE_FULL
    if get(get(work, w.AFTER), w.V_SHOWN):
        full = _tell_image(work, served, table, row, newest)
        if full != DONE:
            return full
    keep_all(work)
    end = pack(work, begun)
    line = _put_line(served, get(served, d.D_LINE_COUNT), key, key_end, begun, end, base_end - base)
    give(line, d.L_HAS_DUE, get(work, w.HAS_DUE))
    give(line, d.L_DUE, get(work, w.DUE))
    give(served, d.D_LINE_COUNT, get(served, d.D_LINE_COUNT) + 1)
    give(work, w.STATE, end)
    give(work, w.KEYS_END, key_end)
    return DONE


@compiled
def _tell_image(work: int, served: int, table: int, row: int, write_ts: int) -> int:
    more, limit = get(served, d.D_TEXT), get(work, w.TEXT_LIMIT)
    give(work, w.TEXT, more)
    more_end = more
    if get(served, d.D_CLUSTERING):
        first = 1 + get(served, d.D_KEYS)
        columns = get(table, w.T_CLUSTERING)
        more_end = _put_members(work, served, row, first, get(served, d.D_CLUSTERING), columns, more, limit)
        if more_end == NO_ROOM:
            return TEXT_FULL
        if more_end < 0:
            return LEFT
    give(work, w.TEXT, more_end)
    key, key_length, more_length = get(served, d.D_KEY_TEXT), get(served, d.D_KEY_TEXT_LENGTH), more_end - more
    texts = row_texts(work, table, key, key_length, more, more_length)
    if texts[0] == NO_ROOM:
        return TEXT_FULL
    if texts[0] == LEFT:
        return LEFT
    pos = get(work, w.OUT)
    size = texts[1] + texts[3] + key_length + more_length + get(table, w.T_NAMES_LENGTH)
    size += get(table, w.T_HEAD_LENGTH) + get(work, w.EVENT_LENGTH) + NUMBERS_ROOM
    if pos + size > get(work, w.OUT_LIMIT):
        return OUT_FULL
    before = get(served, d.D_SEQ)
    seq = max(before + 1, get(work, w.NOW))
    token = read_signed(place_of(served, row, 0), 8)
    keys = key, key_length, more, more_length
    pos = put_what(work, pos, table, token, keys, texts, False, (write_ts, seq, before))
    give(work, w.OUT, put_served_cause(work, pos, get(served, d.D_NUMBER)))
    give(served, d.D_SEQ, seq)
    give(served, d.D_NUMBER, get(served, d.D_NUMBER) + 1)
    give(work, w.IMAGE_COUNT, get(work, w.IMAGE_COUNT) + 1)
    return DONE


@compiled
def _serve_partition(work: int, served: int, table: int, part: int) -> int:
    """All rows of a partition, and its header behind its images: DONE, what there is too little of, or LEFT."""
    give(served, d.D_SEQ, 0)
    text = get(served, d.D_KEY_TEXT)
    end = _put_members(
        work, served, get(part, d.G_BEGIN), 1, get(served, d.D_KEYS), get(table, w.T_KEY), text, text + KEY_TEXT_ROOM
    )
    if end < 0:
        return LEFT
    give(served, d.D_KEY_TEXT_LENGTH, end - text)
    first = get(served, d.D_LINE_COUNT)
    # The header stands before its rows, and is written behind them.
    give(served, d.D_LINE_COUNT, first + 1)
    for row in range(get(part, d.G_BEGIN), get(part, d.G_END)):
        found = _serve_row(work, served, table, part, row)
        if found != DONE:
            return found
    at = get(work, w.STATE)
    if at + HEAD > get(work, w.STATE_LIMIT):
        return STATE_FULL
    size = HEAD if get(served, d.D_SEQ) else 0
    for place in range(size):
        store(at + place, 0)
    if size:
        put_word64(at + _SEQ, get(served, d.D_SEQ))
    base, base_end = get(part, d.G_KEY), get(part, d.G_KEY_END)
    _put_line(served, first, base, base_end, at, at + size, base_end - base)
    give(work, w.STATE, at + size)
    return DONE


@entry_point
def serve_all(work: int) -> int:
    """Serves the partitions from NEXT on: DONE, or what there must be more of; the one at hand is begun anew then."""
    served, table = get(work, w.SERVED), get(work, w.TABLES)
    give(get(work, w.BEFORE), w.V_LIVES, 0)
    give(get(work, w.BEFORE), w.V_COMPLETE, 0)
    give(get(work, w.BEFORE), w.V_SHOWN, 0)
    for number in range(get(table, w.T_REGULAR_COUNT)):
        give(value_at(get(work, w.BEFORE), number), 0, w.UNKNOWN)
    while get(served, d.D_NEXT) < get(served, d.D_PARTITION_COUNT):
        part = get(served, d.D_PARTITIONS) + d.PARTITION_BYTES * get(served, d.D_NEXT)
        if not get(part, d.G_LEFT):
            lines, number = get(served, d.D_LINE_COUNT), get(served, d.D_NUMBER)
            images, keys = get(work, w.IMAGE_COUNT), get(work, w.KEYS_END)
            state, out = get(work, w.STATE), get(work, w.OUT)
            found = _serve_partition(work, served, table, part)
            if found != DONE:
                give(served, d.D_LINE_COUNT, lines)
                give(served, d.D_NUMBER, number)
                give(work, w.IMAGE_COUNT, images)
                give(work, w.KEYS_END, keys)
                give(work, w.STATE, state)
                give(work, w.OUT, out)
            if found > DONE:
                return found
            if found < 0:
                give(part, d.G_LEFT, 1)
        give(served, d.D_NEXT, get(served, d.D_NEXT) + 1)
    return DONE
