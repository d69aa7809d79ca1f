"""What a partition's header has above the row at hand: deletions of ranges, and of all rows. Compiled.

See `images.partition.Partition.deletions`.
"""

from __future__ import annotations

from typing import Final

from tailer.image_state.compiled import work as w
from tailer.image_state.compiled.facts import FACT, HEAD, TIMES, half, take_set, word32, word64
from tailer.image_state.compiled.standing import compare
from tailer.images import packed as p
from tailer.images.packed import PLACES_SECONDS
from tailer.jit.decorators import compiled
from tailer.jit.memory import load
from tailer.jit.words import get
from tailer.jit.words import put as give
from tailer.rebuild.facts import Kind
from tailer.types.compiled.digits import LEFT

RANGE_GONE: Final = int(Kind.RANGE_GONE)
PARTITION_GONE: Final = int(Kind.PARTITION_GONE)


@compiled
def above_at(work: int, number: int) -> int:
    """A deletion above the row at hand, as a fact of which the time and the marks are set."""
    return get(work, w.ABOVE) + w.FACT_BYTES * number


@compiled
def take_above(work: int, header: int, key: int, key_end: int) -> int:
    """Finds what of the header's deletions covers the row of a key; LEFT where the header is not for here."""
    give(work, w.ABOVE_COUNT, 0)
    at = get(header, w.S_AT)
    if get(header, w.S_LENGTH) == 0 or word32(at + 4) == 0:
        return 0
    placed, sets, count = word32(at + 28), half(at + 2), word32(at + 4)
    if sets > w.SETS_MAX or count > w.FACTS_MAX or (placed and placed + PLACES_SECONDS < get(work, w.READ_PAST)):
        return LEFT
    at += HEAD + word32(at + 32)
    for number in range(sets):
        at = take_set(get(work, w.ABOVE_SETS) + w.SET_BYTES * number, at, 0)
        if at < 0:
            return LEFT
    for _ in range(count):
        at = _take(work, at, key, key_end)
    return 0


@compiled
def _take(work: int, at: int, key: int, key_end: int) -> int:
    """A fact of the header, which is taken where it covers the row; where it ends."""
    kind, has = load(at + 12), load(at + 13)
    name, path, value = half(at + 16), word32(at + 20), word32(at + 24)
    begin = at + FACT + (TIMES if has & (p.HAS_TTL | p.HAS_EXPIRY) else 0) + name
    end = begin + path + value
    over = kind == PARTITION_GONE
    if kind == RANGE_GONE:
        length = key_end - key
        over = compare(begin, path, key, length) <= 0 and compare(key, length, begin + path, value) < 0
    if over:
        fact = above_at(work, get(work, w.ABOVE_COUNT))
        give(work, w.ABOVE_COUNT, get(work, w.ABOVE_COUNT) + 1)
        give(fact, w.F_TS, word64(at))
        source = get(work, w.ABOVE_SETS) + w.SET_BYTES * half(at + 14)
        for number in range(1 + w.MARK_WIDTH * get(source, 0)):
            give(fact, w.F_MARKS_N + number, get(source, number))
    return end


@compiled
def begin_beneath(work: int, table: int) -> None:
    """Of a row that the state does not have yet: deletions that it has may have taken it before."""
    for number in range(get(work, w.ABOVE_COUNT)):
        give(work, w.GONE, 1)
        if get(above_at(work, number), w.F_TS) >= get(table, w.T_SINCE):
            give(work, w.COMPLETE, get(table, w.T_EPOCH))
