"""The partitions of rows that a server sent, and what the keys of each begin with in LMDB. Compiled.

See `image_state.keys`.
"""

from __future__ import annotations

from tailer.image_state.compiled import served_block as d
from tailer.image_state.compiled import work as w
from tailer.image_state.compiled.keys import ID, PARTITION_MAX, put_part, put_token, same_key
from tailer.image_state.compiled.served_block import length_of, place_of
from tailer.image_state.compiled.values import is_usual
from tailer.jit.decorators import compiled, entry_point
from tailer.jit.memory import store
from tailer.jit.words import get
from tailer.jit.words import put as give
from tailer.types.compiled.digits import LEFT, put_copy, read_signed


@compiled
def _same_partition(work: int, served: int, row: int, other: int) -> bool:
    for column in range(get(served, d.D_KEYS) + 1):
        at, length = place_of(served, row, column), length_of(served, row, column)
        there = place_of(served, other, column)
        if not same_key(at, at + length, there, there + length_of(served, other, column)):
            return False
    return True


@compiled
def _put_base(work: int, served: int, table: int, row: int, begin: int) -> int:
    """What the keys of a row's partition begin with; LEFT."""
    pos = put_copy(begin, get(table, w.T_ID), ID)
    limit = pos + PARTITION_MAX
    pos = put_token(pos, read_signed(place_of(served, row, 0), 8))
    for number in range(get(served, d.D_KEYS)):
        at, length = place_of(served, row, 1 + number), length_of(served, row, 1 + number)
        kind = get(get(table, w.T_KEY) + w.COLUMN_BYTES * number, w.C_KIND)
        if length < 0 or length > PARTITION_MAX or not is_usual(kind, at, length):
            return LEFT
        pos = put_part(pos, at, length)
        if pos > limit:
            return LEFT
    store(pos, 0)
    store(pos + 1, 0)
    return pos + 2


@compiled
def _has_static(work: int, served: int, row: int) -> bool:
    for number in range(get(served, d.D_STATIC_COUNT)):
        if length_of(served, row, get(get(served, d.D_STATIC), number)) >= 0:
            return True
    return False


@entry_point
def find_partitions(work: int) -> int:
    """Puts down the partitions of all rows, with what their keys begin with; how many there are.

    Left are those whose token another one has too, and those with a static row.
    """
    served, table = get(work, w.SERVED), get(work, w.TABLES)
    count = 0
    pos = get(work, w.KEYS)
    for row in range(get(served, d.D_ROWS)):
        if row > 0 and _same_partition(work, served, row, row - 1):
            continue
        part = get(served, d.D_PARTITIONS) + d.PARTITION_BYTES * count
        left = 1 if _has_static(work, served, row) else 0
        if row > 0:
            before = part - d.PARTITION_BYTES
            give(before, d.G_END, row)
            at, there = place_of(served, row, 0), place_of(served, row - 1, 0)
            if same_key(at, at + 8, there, there + 8):
                left = 1
                give(before, d.G_LEFT, 1)
        end = _put_base(work, served, table, row, pos)
        if end < 0:
            left, end = 1, pos
        give(part, d.G_BEGIN, row)
        give(part, d.G_LEFT, left)
        give(part, d.G_KEY, pos)
        give(part, d.G_KEY_END, end)
        pos = end
        count += 1
    if count > 0:
        give(get(served, d.D_PARTITIONS) + d.PARTITION_BYTES * (count - 1), d.G_END, get(served, d.D_ROWS))
    give(work, w.KEYS_END, pos)
    give(served, d.D_PARTITION_COUNT, count)
    return count
