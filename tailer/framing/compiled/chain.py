"""The compiled twin of `framing.chain`: the same chains, the same parts."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final

import numpy as np

from tailer.framing.chain import SECTIONS_MAX, Chain, Limits, Parts
from tailer.framing.compiled import sections as s
from tailer.framing.compiled.crc import ALL_ONES, crc_of_number, crc_tables
from tailer.framing.header import Header
from tailer.framing.section import EMPTY_BODY_BYTES_MAX, HEAD_BYTES_MAX, MARKER_BYTES, head_bytes
from tailer.jit.addresses import address_of
from tailer.jit.decorators import entry_point
from tailer.jit.words import get, half_word, put
from tailer.limits import ENTRY_BYTES_MIN, ENTRY_OVERHEAD, OFFSET_MAX, SECTION_BYTES_MAX

if TYPE_CHECKING:
    from tailer.framing.entry import Numbers

CHAIN_WIDTH: Final = 4
_TABLES: Final = crc_tables()
_ID: Final = struct.Struct(">II")

# Numbers of what `follow_chain` is given.
BLOCK: Final = 0
LENGTH: Final = 1
AT: Final = 2
START: Final = 3
FILE_LENGTH: Final = 4
END: Final = 5
MOST: Final = 6
HEAD: Final = 7
REGISTER: Final = 8
CRC_TABLES: Final = 9
_GIVEN: Final = 10


@entry_point
def follow_chain(given: int, chain: int) -> int:
    """Writes the chain's sections to the address `chain`, CHAIN_WIDTH numbers each; how many."""
    block, length, head = get(given, BLOCK), get(given, LENGTH), get(given, HEAD)
    tables, register = get(given, CRC_TABLES), np.uint64(get(given, REGISTER))
    base = at = get(given, AT)
    first = start = get(given, START)
    count = 0
    while start - first < get(given, MOST) and at - base + head <= length and count < SECTIONS_MAX:
        next_at = np.int64(half_word(block, at - base))
        if half_word(block, at - base + 4) != crc_of_number(tables, register, at) ^ ALL_ONES:
            break
        if next_at < at + head or next_at > get(given, FILE_LENGTH) or next_at - base > length:
            break
        plain = next_at - at - MARKER_BYTES
        if head == HEAD_BYTES_MAX:
            body = next_at - at - head
            plain = np.int64(np.int32(half_word(block, at - base + MARKER_BYTES)))
            if plain < 0 or plain > SECTION_BYTES_MAX or start + MARKER_BYTES + plain > OFFSET_MAX:
                break
            if plain == 0 and body > EMPTY_BODY_BYTES_MAX:
                break
        end = start + MARKER_BYTES + plain
        if end > get(given, END):
            break
        section = chain + 8 * CHAIN_WIDTH * count
        put(section, 0, start)
        put(section, 1, end)
        put(section, 2, at)
        put(section, 3, next_at)
        start, at = end, next_at
        count += 1
    return count


def read_chain(block: bytes, header: Header, at: int, start: int, limits: Limits) -> Chain:
    """See `framing.chain.read_chain`. Numbers come as arrays."""
    chain = np.empty((min(SECTIONS_MAX, len(block) // MARKER_BYTES + 1), CHAIN_WIDTH), np.int64)
    data = np.frombuffer(block, np.uint8)
    given = np.empty(_GIVEN, np.int64)
    register = zlib.crc32(_ID.pack(header.segment & 0xFFFFFFFF, header.segment >> 32 & 0xFFFFFFFF)) ^ 0xFFFFFFFF
    given[:] = (address_of(data), len(block), at, start, *limits, head_bytes(header), register, address_of(_TABLES))
    count = follow_chain(address_of(given), address_of(chain))
    return Chain(*np.ascontiguousarray(chain[:count].T))


def scan_parts(data: bytes, begins: Numbers, ends: Numbers) -> Parts:
    """See `framing.chain.scan_parts`. Numbers come as arrays."""
    plain = np.frombuffer(data, np.uint8)
    bounds = np.ascontiguousarray(begins, np.int64), np.ascontiguousarray(ends, np.int64)
    size = int((bounds[1] - bounds[0]).sum())
    counts = np.empty(len(bounds[0]), np.int64)
    most = size // (ENTRY_BYTES_MIN + ENTRY_OVERHEAD) + 1
    room = min(size // s.BYTES_PER_ENTRY + s.LEAST, most)
    while True:
        starts, sizes = np.empty((2, room), np.int64)
        state = np.zeros(s.STATE_SIZE + s.BAD_WIDTH, np.int64)
        state[s.GOOD_ROOM] = room
        where = [address_of(array) for array in (state, plain, *bounds, _TABLES, starts, sizes, counts)]
        good = s.check_parts(*where, len(counts))
        if good != s.NO_ROOM:
            entries = state[s.GOOD]
            return Parts(good, starts[:entries], sizes[:entries], counts[:good])
        room = most
