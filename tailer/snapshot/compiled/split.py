"""Where the values of a page stand: `snapshot.raw_rows`, compiled."""

from __future__ import annotations

from tailer.jit.decorators import entry_point
from tailer.jit.words import put as give
from tailer.types.compiled.digits import read_signed


@entry_point
def split_values(data: int, count: int, values: int) -> int:
    """Puts down of each value where it begins, from `data` on, and its length; where the last one ends."""
    at = 0
    for number in range(count):
        length = read_signed(data + at, 4)
        give(values, 2 * number, at + 4)
        give(values, 2 * number + 1, length if length >= 0 else -1)
        at += 4 + (length if length > 0 else 0)
    return at
