"""Entries of a section, compiled: sizes and both CRCs (format page, section 4)."""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.framing.compiled.crc import ALL_ONES, crc32, crc_of_four
from tailer.framing.entry import HEAD_BYTES
from tailer.jit.decorators import compiled, entry_point, inlined
from tailer.jit.words import get, half_word, put
from tailer.limits import ENTRY_BYTES_MIN

CRC_BYTES: Final = 4

# Numbers of the state: where the check goes on; how many good entries and faults there are, and for how many is room.
AT: Final = 0
GOOD: Final = 1
BAD: Final = 2
GOOD_ROOM: Final = 3
BAD_ROOM: Final = 4
STATE_SIZE: Final = 5
NO_ROOM: Final = -1

BAD_WIDTH: Final = 4
"""Of a fault: where, the size that stands there, the CRC that was found, the one computed."""

BYTES_PER_ENTRY: Final = 64
"""First guess. Too little room is no harm: the check goes on with more."""

LEAST: Final = 32


@inlined
def _note_fault(state: int, faults: int, at: int, size: int, found: int, computed: int) -> None:
    line = faults + 8 * BAD_WIDTH * get(state, BAD)
    put(line, 0, at)
    put(line, 1, size)
    put(line, 2, np.int64(found))
    put(line, 3, np.int64(computed))
    put(state, BAD, get(state, BAD) + 1)


@compiled
def _check(state: int, base: int, length: int, tables: int, starts: int, sizes: int, faults: int) -> bool:
    """Checks entries from AT on until `length`, a bad head, or no room; whether that was the end or a bad head."""
    at = get(state, AT)
    good, good_room, bad_room = get(state, GOOD), get(state, GOOD_ROOM), get(state, BAD_ROOM)
    done = True
    while at + HEAD_BYTES <= length:
        if good == good_room or get(state, BAD) == bad_room:
            done = False
            break
        size = np.int64(np.int32(half_word(base, at)))
        found = half_word(base, at + 4)
        computed = crc_of_four(tables, ALL_ONES, base, at)
        end = at + HEAD_BYTES + size
        if found != computed ^ ALL_ONES or size < ENTRY_BYTES_MIN or end + CRC_BYTES > length:
            _note_fault(state, faults, at, size, found, computed ^ ALL_ONES)
            break
        computed = crc32(tables, computed, base, at + HEAD_BYTES, end) ^ ALL_ONES
        found = half_word(base, end)
        if found == computed:
            put(starts, good, at + HEAD_BYTES)
            put(sizes, good, size)
            good += 1
        else:
            _note_fault(state, faults, at, size, found, computed)
        at = end + CRC_BYTES
    put(state, AT, at)
    put(state, GOOD, good)
    return done


@entry_point
def check_entries(state: int, base: int, length: int, tables: int, starts: int, sizes: int, faults: int) -> bool:
    """`_check`. All but `length` are addresses. The one who asks sees to a head of less than eight bytes."""
    return _check(state, base, length, tables, starts, sizes, faults)


@entry_point
def check_parts(
    state: int, base: int, begins: int, ends: int, tables: int, starts: int, sizes: int, counts: int, parts: int
) -> int:
    """Checks the entries of so many parts up to the first with a fault: how many are good, NO_ROOM for too many.

    All but `parts` are addresses. `counts`: the entries of each good part. BAD_ROOM is not looked at.
    """
    faults = state + 8 * STATE_SIZE
    put(state, BAD_ROOM, 1)
    for part in range(parts):
        before = get(state, GOOD)
        put(state, AT, get(begins, part))
        done = _check(state, base, get(ends, part), tables, starts, sizes, faults)
        if get(state, BAD) or (done and get(state, AT) != get(ends, part)):
            put(state, GOOD, before)
            return part
        if not done:
            return NO_ROOM
        put(counts, part, get(state, GOOD) - before)
    return parts
