"""The compiled twin of `framing.entry.scan_entries`: the same entries, the same faults."""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.framing.compiled import sections as s
from tailer.framing.compiled.crc import crc_tables
from tailer.framing.entry import Entries, EntryFault, bad_head, bad_payload, short_head
from tailer.jit.addresses import Numbers, address_of
from tailer.limits import ENTRY_BYTES_MIN, ENTRY_OVERHEAD

_TABLES: Final = crc_tables()


def scan_entries(data: bytes | memoryview) -> Entries:
    """See `framing.entry.scan_entries`. Offsets and sizes come as arrays."""
    plain = np.frombuffer(data, np.uint8)
    length = len(plain)
    state = np.zeros(s.STATE_SIZE, np.int64)
    more_than_enough = length // (ENTRY_BYTES_MIN + ENTRY_OVERHEAD) + 1
    starts = sizes = np.empty(0, np.int64)
    bad = np.empty((0, s.BAD_WIDTH), np.int64)
    where = address_of(state), address_of(plain), length, address_of(_TABLES)
    room, done = min(length // s.BYTES_PER_ENTRY + s.LEAST, more_than_enough), False
    while not done:
        starts, sizes, bad = _longer(starts, room), _longer(sizes, room), _longer(bad, len(bad) + s.LEAST)
        state[s.GOOD_ROOM], state[s.BAD_ROOM] = room, len(bad)
        done = s.check_entries(*where, address_of(starts), address_of(sizes), address_of(bad))
        room = more_than_enough
    at, good, faults = state[[s.AT, s.GOOD, s.BAD]].tolist()
    found: list[EntryFault] = []
    for offset, size, crc, computed in bad[:faults].tolist():
        # The check stands still at a bad head, and goes on behind a bad payload.
        if offset == at:
            found.append(bad_head(offset, size, crc, computed, length))
        else:
            found.append(bad_payload(offset, size, crc, computed))
    if not faults or bad[faults - 1, 0] != at:
        found += short_head(at, length)
    return Entries(starts[:good], sizes[:good], found)


def _longer(array: Numbers, room: int) -> Numbers:
    longer = np.empty((room, *array.shape[1:]), np.int64)
    longer[: len(array)] = array
    return longer
