"""Operations of a batch merged into the rows of the state, and the images of what they did: `images.unit`, compiled."""

from __future__ import annotations

from typing import Any, Final

from tailer.image_state.compiled import work as w
from tailer.image_state.compiled.above import begin_beneath, take_above
from tailer.image_state.compiled.facts import (
    HEAD,
    ROW_GONE,
    add_told,
    fact_at,
    find_told,
    is_below,
    is_dead,
    put_clustering,
    tell_line,
    told_at,
    unpack,
    vouches,
    word32,
    word64,
)
from tailer.image_state.compiled.image import NUMBERS_ROOM, put_image
from tailer.image_state.compiled.pack import pack, put_word64, room, same_marks
from tailer.image_state.compiled.standing import stand
from tailer.image_state.compiled.view import is_same_row, look, put_row
from tailer.images.packed import GONE, HAS_EXPIRY
from tailer.jit.decorators import compiled, entry_point
from tailer.jit.memory import copy, get_offset, load, store
from tailer.jit.words import get, is_same
from tailer.jit.words import put as give
from tailer.rows.generic.compiled import arrays as a
from tailer.types.compiled.digits import LEFT, NO_ROOM

DONE: Final = 0
STATE_FULL: Final = 1
OUT_FULL: Final = 2
TEXT_FULL: Final = 3
"""Why `merge_all` came back: there is to be more room of that kind, and it goes on."""

_SEQ: Final = 16
_COMPLETE: Final = 24


@compiled
def _slot(work: int, number: int) -> int:
    return get(work, w.SLOTS) + w.SLOT_BYTES * number


@compiled
def _is_news(work: int, offset: int) -> bool:
    for number in range(get(work, w.TOLD_COUNT)):
        told = told_at(work, number)
        found = get(told, w.F_FOUND)
        if found < 0 or not vouches(work, fact_at(work, found), offset):
            return True
    return False


@compiled
def _all_count(work: int) -> bool:
    for number in range(get(work, w.FACT_COUNT)):
        if not get(fact_at(work, number), w.F_STATE) & w.VISIBLE:
            return False
    return True


@compiled
def keep_all(work: int) -> None:
    for number in range(get(work, w.FACT_COUNT)):
        fact = fact_at(work, number)
        give(fact, w.F_STATE, get(fact, w.F_STATE) | w.KEPT)


@compiled
def _is_kept(work: int) -> bool:
    """Whether anything is left of the row: what is deleted from above may leave nothing."""
    for number in range(get(work, w.FACT_COUNT)):
        if get(fact_at(work, number), w.F_STATE) & w.KEPT:
            return True
    return False


@compiled
def _place(work: int) -> None:
    """Notes when marks changed: where a kept fact has marks that no fact had before."""
    sets = get(work, w.SETS)
    for number in range(get(work, w.FACT_COUNT)):
        fact = fact_at(work, number)
        if not get(fact, w.F_STATE) & w.KEPT:
            continue
        known = False
        for at in range(get(work, w.SET_COUNT)):
            if same_marks(sets + w.SET_BYTES * at, fact + 8 * w.F_MARKS_N):
                known = True
                break
        if not known:
            give(work, w.PLACED, get(work, w.SECOND))
            return


@compiled
def next_due(work: int) -> None:
    """The second at which something in the row expires next."""
    due = found = 0
    for number in range(get(work, w.FACT_COUNT)):
        fact = fact_at(work, number)
        if get(fact, w.F_STATE) & w.VISIBLE and get(fact, w.F_HAS) & HAS_EXPIRY:
            expires = get(fact, w.F_EXPIRES)
            if expires > get(work, w.SECOND) and (not found or expires < due):
                due, found = expires, 1
    if not get(work, w.EXPIRES):
        due = found = 0
    give(work, w.HAS_DUE, found)
    give(work, w.DUE, due)


@compiled
def _effect(work: int, table: int) -> Any:
    """Of the facts that took effect: how many, how many alive, the newest time of those that count, whether one is a
    deletion of the row, and how many are late."""
    count = alive = late = 0
    swept = False
    newest = newest_alive = 0
    complete = False
    for number in range(get(work, w.FACT_COUNT)):
        fact = fact_at(work, number)
        state, ts = get(fact, w.F_STATE), get(fact, w.F_TS)
        if not (state & w.NEW and state & w.VISIBLE):
            continue
        newest = ts if count == 0 or ts > newest else newest
        count += 1
        if ts < get(table, w.T_LATE_BEFORE):
            late += 1
        if not get(fact, w.F_HAS) & HAS_EXPIRY or not is_dead(work, fact):
            newest_alive = ts if alive == 0 or ts > newest_alive else newest_alive
            alive += 1
        if get(fact, w.F_KIND) == ROW_GONE:
            swept = True
            if ts >= get(table, w.T_SINCE):
                complete = True
    if swept:
        give(work, w.GONE, 1)
        if complete:
            give(work, w.COMPLETE, get(table, w.T_EPOCH))
    return count, alive, newest_alive if alive else newest, swept, late


@compiled
def _text(work: int, texts: int, ends: int, row: int) -> Any:
    begin = get_offset(get(work, ends), row)
    return get(work, texts) + begin, get_offset(get(work, ends), row + 1) - begin


@compiled
def row_texts(work: int, table: int, key: int, key_length: int, more: int, more_length: int) -> Any:
    """The JSON of the row before and after, each with its length, 0 where it is not there; NO_ROOM or LEFT at first."""
    begun = get(work, w.TEXT)
    middle = begun
    if get(get(work, w.BEFORE), w.V_SHOWN):
        middle = put_row(work, table, get(work, w.BEFORE), begun, key, key_length, more, more_length)
        if middle < 0:
            return middle, 0, 0, 0
    end = middle
    if get(get(work, w.AFTER), w.V_SHOWN):
        end = put_row(work, table, get(work, w.AFTER), middle, key, key_length, more, more_length)
        if end < 0:
            return end, 0, 0, 0
    return begun, middle - begun, middle, end - middle


@compiled
def _keep(work: int, slot: int, begun: int, end: int) -> None:
    """The row is what was put there, unless that is what it was."""
    length = end - begun
    if get(slot, w.S_LENGTH) == length and is_same(get(slot, w.S_AT), 0, begun, 0, length):
        return
    give(slot, w.S_AT, begun)
    give(slot, w.S_LENGTH, length)
    give(slot, w.S_CHANGED, 1)
    give(slot, w.S_HAS_DUE, get(work, w.HAS_DUE))
    give(slot, w.S_DUE, get(work, w.DUE))
    give(work, w.STATE, end)


@compiled
def _aged(work: int, slot: int) -> int:
    """The row at hand as it is without the places that are too old, at the end of what is kept; its end. NO_ROOM."""
    begun = get(work, w.STATE)
    if begun + room(work) > get(work, w.STATE_LIMIT):
        return NO_ROOM
    keep_all(work)
    return pack(work, begun)


@compiled
def _merge(work: int, op: int) -> int:
    """Merges an operation: DONE, what there is too little of, or LEFT."""
    partition = get(op, w.O_PARTITION)
    slot, header = _slot(work, get(op, w.O_SLOT)), _slot(work, get(partition, w.P_SLOT))
    base = get(partition, w.P_KEY_END) - get(partition, w.P_KEY)
    if take_above(work, header, get(op, w.O_KEY) + base, get(op, w.O_KEY_END)) < 0:
        return LEFT
    row = get(op, w.O_ROW)
    offset = get(get(work, w.FIXED), a.OFFSET * get(work, w.FIXED_ROOM) + row)
    if unpack(work, slot) < 0:
        return LEFT
    tell_line(work, op)
    missing = find_told(work)
    if not _is_news(work, offset):
        return DONE
    if is_below(work, get(get(op, w.O_TABLE), w.T_FLOOR)):
        return LEFT
    if get(work, w.AGED):
        # What it is compared with: nothing is written for its age alone.
        end = _aged(work, slot)
        if end < 0:
            return STATE_FULL
        give(slot, w.S_AT, get(work, w.STATE))
        give(slot, w.S_LENGTH, end - get(work, w.STATE))
        give(work, w.STATE, end)
    if get(work, w.FACT_COUNT) == 0:
        put_clustering(work, op)
        begin_beneath(work, get(op, w.O_TABLE))
    if missing == 0 and _all_count(work):
        if add_told(work, offset) < 0:
            return LEFT
        give(work, w.PLACED, get(work, w.SECOND))
        keep_all(work)
        begun = get(work, w.STATE)
        if begun + room(work) > get(work, w.STATE_LIMIT):
            return STATE_FULL
        _keep(work, slot, begun, pack(work, begun))
        return DONE
    return _merge_facts(work, op, slot, header, offset)


@compiled
def _merge_facts(work: int, op: int, slot: int, header: int, offset: int) -> int:
    table, partition = get(op, w.O_TABLE), get(op, w.O_PARTITION)
    header_at, known = get(header, w.S_AT), get(header, w.S_LENGTH) != 0
    header_gone = load(header_at) & GONE if known else 0
    header_complete = word32(header_at + _COMPLETE) if known else 0
    if get(partition, w.P_COVERED):
        header_complete = get(table, w.T_EPOCH)
    give(work, w.ELEMENT_COUNT, 0)
    if look(work, table, get(work, w.BEFORE), w.WAS_VISIBLE, header_gone, header_complete) < 0:
        return LEFT
    if add_told(work, offset) < 0:
        return LEFT
    stand(work)
    _place(work)
    next_due(work)
    count, alive, write_ts, swept, late = _effect(work, table)
    if look(work, table, get(work, w.AFTER), w.VISIBLE, header_gone, header_complete) < 0:
        return LEFT
    begun = get(work, w.STATE)
    if begun + room(work) + max(HEAD, get(header, w.S_LENGTH)) > get(work, w.STATE_LIMIT):
        return STATE_FULL
    before, after = get(work, w.BEFORE), get(work, w.AFTER)
    if count > 0 and (alive > 0 or not is_same_row(work, table, before, after)):
        full = _tell_image(work, op, header, swept, write_ts, offset)
        if full != DONE:
            return full
        begun = get(work, w.STATE)
    give(partition, w.P_LATE, get(partition, w.P_LATE) + late)
    if _is_kept(work):
        _keep(work, slot, begun, pack(work, begun))
    elif get(slot, w.S_LENGTH):
        give(slot, w.S_LENGTH, 0)
        give(slot, w.S_CHANGED, 1)
        give(slot, w.S_HAS_DUE, 0)
    return DONE


@compiled
def _tell_image(work: int, op: int, header: int, swept: bool, write_ts: int, offset: int) -> int:
    """Puts the image of the row at hand behind the others, and the number of the partition's last image into its
    header."""
    table, row = get(op, w.O_TABLE), get(op, w.O_ROW)
    key, key_length = _text(work, w.KEY_TEXT, w.KEY_ENDS, row)
    clustering, clustering_length = _text(work, w.CLUSTERING_TEXT, w.CLUSTERING_ENDS, row)
    texts = row_texts(work, table, key, key_length, clustering, clustering_length)
    if texts[0] == NO_ROOM:
        return TEXT_FULL
    if texts[0] == LEFT:
        return LEFT
    pos = get(work, w.OUT)
    size = texts[1] + texts[3] + key_length + clustering_length + get(table, w.T_NAMES_LENGTH)
    size += get(table, w.T_HEAD_LENGTH) + get(work, w.NAME_LENGTH) + get(work, w.EVENT_LENGTH) + NUMBERS_ROOM
    if pos + size > get(work, w.OUT_LIMIT):
        return OUT_FULL
    known = get(header, w.S_LENGTH) != 0
    before = word64(get(header, w.S_AT) + _SEQ) if known else 0
    seq = max(before + 1, get(work, w.NOW))
    token = get(get(work, w.FIXED), a.TOKEN * get(work, w.FIXED_ROOM) + row)
    number = get(get(work, w.FIXED), a.NUMBER * get(work, w.FIXED_ROOM) + row)
    keys = key, key_length, clustering, clustering_length
    end = put_image(work, pos, table, token, keys, texts, swept, (write_ts, seq, before), (offset, number))
    image = get(work, w.IMAGES) + w.IMAGE_BYTES * get(work, w.IMAGE_COUNT)
    give(image, w.I_UNIT, get(op, w.O_UNIT))
    give(image, w.I_PARTITION, get(op, w.O_PARTITION))
    give(image, w.I_BEGIN, pos)
    give(image, w.I_END, end)
    give(work, w.IMAGE_COUNT, get(work, w.IMAGE_COUNT) + 1)
    give(work, w.OUT, end)
    _number_header(work, header, known, seq)
    return DONE


@compiled
def _number_header(work: int, header: int, known: bool, seq: int) -> None:
    begun = get(work, w.STATE)
    length = get(header, w.S_LENGTH)
    if known:
        copy(begun, get(header, w.S_AT), length)
    else:
        length = HEAD
        for at in range(HEAD):
            store(begun + at, 0)
    put_word64(begun + _SEQ, seq)
    give(header, w.S_AT, begun)
    give(header, w.S_LENGTH, length)
    give(header, w.S_CHANGED, 1)
    give(work, w.STATE, begun + length)


@entry_point
def find_news(work: int) -> int:
    """Notes in which partitions anything is news to the rows that are stored; how many these are.

    In the others nothing will be, and nobody needs their headers.
    """
    count = 0
    for number in range(get(work, w.OP_COUNT)):
        op = get(work, w.OPS) + w.OP_BYTES * number
        partition = get(op, w.O_PARTITION)
        if get(partition, w.P_LEFT) or get(partition, w.P_NEWS):
            continue
        if unpack(work, _slot(work, get(op, w.O_SLOT))) < 0:
            give(partition, w.P_LEFT, 1)
            continue
        tell_line(work, op)
        find_told(work)
        if _is_news(work, get(get(work, w.FIXED), a.OFFSET * get(work, w.FIXED_ROOM) + get(op, w.O_ROW))):
            give(partition, w.P_NEWS, 1)
            count += 1
    return count


@entry_point
def merge_all(work: int) -> int:
    """Merges the operations from NEXT_OP on: DONE, or what there must be more of."""
    while get(work, w.NEXT_OP) < get(work, w.OP_COUNT):
        op = get(work, w.OPS) + w.OP_BYTES * get(work, w.NEXT_OP)
        partition = get(op, w.O_PARTITION)
        if get(partition, w.P_NEWS) and not get(partition, w.P_LEFT):
            found = _merge(work, op)
            if found > DONE:
                return found
            if found < 0:
                give(partition, w.P_LEFT, 1)
        give(work, w.NEXT_OP, get(work, w.NEXT_OP) + 1)
    return DONE
