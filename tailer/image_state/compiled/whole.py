"""Whether stored rows are as long as they say, before compiled code reads them without a check of any bound. Compiled.

See `images.packed`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.image_state.compiled.facts import FACT, HEAD, TIMES, half, word32
from tailer.images import packed as p
from tailer.jit.addresses import address_of
from tailer.jit.decorators import compiled, entry_point
from tailer.jit.memory import load
from tailer.jit.words import get
from tailer.types.compiled.plan import Bytes, Numbers

AT, COUNT, LENGTHS = range(3)
"""The block: where the first row is, behind which the others are; how many there are; their lengths."""

_COUNT: Final = 2
_NODE: Final = 2
_PLACE: Final = 16


@compiled
def _sets_end(at: int, end: int, sets: int) -> int:
    """Where the sets of marks end; behind `end` where they are not whole."""
    for _ in range(sets):
        if at + _COUNT > end:
            return end + 1
        count = half(at)
        marks = count & (p.NO_PLACES - 1)
        at += _COUNT + marks * (_NODE if count & p.NO_PLACES else _NODE + _PLACE)
    return at


@compiled
def _is_whole(at: int, end: int) -> bool:
    if at + HEAD > end:
        return False
    sets, count = half(at + 2), word32(at + 4)
    at = _sets_end(at + HEAD + word32(at + 32), end, sets)
    for _ in range(count):
        if at + FACT > end or half(at + 14) >= sets:
            return False
        times = TIMES if load(at + 13) & (p.HAS_TTL | p.HAS_EXPIRY) else 0
        at += FACT + times + half(at + 16) + word32(at + 20) + word32(at + 24)
    return at == end


def first_broken(stored: Bytes, lengths: Numbers) -> int:
    """The number of the first of the rows end to end in `stored` that is not as long as it says; how many there are
    where all are whole."""
    # With a name: else it is gone before the call that has its address, and another thread may write there.
    block = np.array([address_of(stored), len(lengths), address_of(lengths)], np.int64)
    return find_broken(address_of(block))


@entry_point
def find_broken(block: int) -> int:
    """The number of the first row that is not as long as it says; how many there are where all are whole."""
    at, count, lengths = get(block, AT), get(block, COUNT), get(block, LENGTHS)
    for number in range(count):
        end = at + get(lengths, number)
        if not _is_whole(at, end):
            return number
        at = end
    return count
