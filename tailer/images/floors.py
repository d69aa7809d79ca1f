"""Floors: ranges of tokens of a table that a server was asked for, and until when nothing older than the answer counts.

SELECT shows no tombstone. So what is older than a range's floor, was not in the answer and is told later is void: it
was deleted before, or else the answer would have had it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec


class Floor(msgspec.Struct, frozen=True, array_like=True):
    """Tokens above `low` and up to `high`. `until`: in µs; a fact of that time or older is void unless it is known.

    `epoch`: of the table in which all rows of the range are known whole; 0: they are not.
    """

    low: int
    high: int
    until: int
    epoch: int


class Floors:
    """Those of one table. `held`: in their order, none over another one."""

    def __init__(self, held: Sequence[Floor]) -> None:
        self._held = held
        self._highs = [floor.high for floor in held]

    def at(self, token: int) -> Floor | None:
        """The one that a token lies above of."""
        number = bisect_left(self._highs, token)
        found = self._held[number] if number < len(self._held) else None
        return found if found is not None and found.low < token else None

    def covers(self, tokens: Any, epoch: int) -> Any:
        """Of an array of tokens (int64) whether each is of a range whose rows are known whole."""
        import numpy as np

        lows, highs, epochs = self._edges
        number = np.searchsorted(highs, tokens)
        there = number < len(highs)
        number[~there] = 0
        return there & (lows[number] < tokens) & (epochs[number] == epoch)

    @cached_property
    def _edges(self) -> Any:
        import numpy as np

        return np.array([(floor.low, floor.high, floor.epoch) for floor in self._held], np.int64).T


def with_floor(held: Sequence[Floor], new: Floor) -> tuple[Floor, ...]:
    """With one more, which counts where it lies over others; neighbours that are alike are one."""
    cut: list[Floor] = []
    for floor in held:
        for low, high in ((floor.low, min(floor.high, new.low)), (max(floor.low, new.high), floor.high)):
            if low < high:
                cut.append(msgspec.structs.replace(floor, low=low, high=high))
    joined: list[Floor] = []
    for floor in sorted([*cut, new], key=lambda each: each.low):
        last = joined[-1] if joined else None
        if last is not None and (last.high, last.until, last.epoch) == (floor.low, floor.until, floor.epoch):
            joined[-1] = msgspec.structs.replace(last, high=floor.high)
        else:
            joined.append(floor)
    return tuple(joined)
