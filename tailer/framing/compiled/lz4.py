"""The compiled twin of `framing.blocks`: many LZ4 blocks in one call.

A block may hold any bytes: each step is checked against the ends of the block and of its room before anything is read
or written. It is stricter than the library in a few blocks that no compressor makes; those are the library's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tailer.framing.blocks import BLOCK_BYTES_MAX, LENGTH_BYTES
from tailer.jit.addresses import address_of
from tailer.jit.decorators import compiled, entry_point, inlined
from tailer.jit.memory import copy, load, store
from tailer.jit.words import byte, get, little_half

if TYPE_CHECKING:
    from tailer.framing.entry import Numbers

# Of the format: a length of LONG goes on in the next bytes, until one that is not MORE. Only the last sequence has no
# match; no match begins in the last NO_MATCH bytes of the room, or reaches into its last LITERALS.
LONG: Final = 15
MORE: Final = 255
LEAST_MATCH: Final = 4
NO_MATCH: Final = 12
LITERALS: Final = 5
LEAST_BEHIND: Final = 8


@inlined
def _repeat(to: int, distance: int, count: int) -> None:
    """Copies `count` bytes to an address from `distance` before it on, which may reach beyond it."""
    if distance >= count:
        copy(to, to - distance, count)
        return
    for number in range(count):
        store(to + number, load(to - distance + number))


@compiled
def _unpack(block: int, at: int, end: int, room: int, first: int, last: int) -> bool:
    """Unpacks an LZ4 block, from `at` to `end`, into `room`, from `first` to `last`; False where it is not that."""
    out = first
    while at < end:
        token = byte(block, at)
        at += 1
        count = token >> 4
        if count == LONG:
            more = MORE
            while more == MORE:
                if at >= end:
                    return False
                more = byte(block, at)
                at += 1
                count += more
        if count > end - at or count > last - out:
            return False
        copy(room + out, block + at, count)
        at += count
        out += count
        if at == end:
            return out == last
        if end - at < LEAST_BEHIND or last - out < NO_MATCH:
            return False
        distance = byte(block, at) + 256 * byte(block, at + 1)
        at += 2
        count = LEAST_MATCH + (token & LONG)
        if count == LEAST_MATCH + LONG:
            more = MORE
            while more == MORE:
                if at >= end:
                    return False
                more = byte(block, at)
                at += 1
                count += more
        if distance == 0 or distance > out - first or count > last - LITERALS - out:
            return False
        _repeat(room + out, distance, count)
        out += count
    return False


@entry_point
def unpack_all(block: int, begins: int, ends: int, outs: int, room: int, count: int) -> int:
    """Unpacks so many blocks up to the first that is none, each into its part of the room; how many.

    All but `count` are addresses. Block n lies in `block` from `begins[n]` to `ends[n]`, behind its plain length; its
    room from `outs[n]` to `outs[n + 1]`. Where there is no room for a byte it says nothing.
    """
    for number in range(count):
        at, end = get(begins, number), get(ends, number)
        first, last = get(outs, number), get(outs, number + 1)
        if first == last:
            continue
        if end - at < LENGTH_BYTES or np.int64(little_half(block, at)) != last - first:
            return number
        if not _unpack(block, at + LENGTH_BYTES, end, room, first, last):
            return number
    return count


def unpack_blocks(block: bytes, begins: Numbers, ends: Numbers, lengths: Numbers) -> tuple[bytes, int]:
    """See `framing.blocks.unpack_blocks`; perhaps fewer of them."""
    data = np.frombuffer(block, np.uint8)
    bounds = [np.ascontiguousarray(each, np.int64) for each in (begins, ends)]
    wanted = np.asarray(lengths, np.int64)
    fits = (bounds[0] >= 0) & (bounds[0] <= bounds[1]) & (bounds[1] <= len(data))
    fits &= (wanted >= 0) & (wanted <= BLOCK_BYTES_MAX)
    count = len(fits) if fits.all() else int(fits.argmin())
    outs = np.zeros(count + 1, np.int64)
    np.cumsum(wanted[:count], out=outs[1:])
    room = np.empty(int(outs[-1]), np.uint8)
    done = unpack_all(*(address_of(each) for each in (data, *bounds, outs, room)), count)
    return room[: outs[done]].tobytes(), done
