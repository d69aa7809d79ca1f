"""Since when what is in the log is durable: what sidecars vouched for, and when, as far as it is not delivered.

A sidecar is written over and over and says only when it was written last, so each look that shows a new end is noted.
Values only; knows no clock.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from tailer.limits import OFFSET_MAX
from tailer.planning.sighting import Sighting
from tailer.state.offset import NodeOffset

NOTED_MAX: Final = 1024
"""Of one segment; beyond that neighbours are taken together, with the earlier time: a lag is never made less."""


class Vouched:
    """Of one node. Offsets are logical; times are seconds since the epoch."""

    def __init__(self) -> None:
        self._ends: dict[int, list[int]] = {}
        self._times: dict[int, list[float]] = {}
        self._behind = NodeOffset()

    def note(self, segment: int, sighting: Sighting) -> None:
        """What a look has shown of a segment; nothing where it is no more than before, or is delivered."""
        end = sighting.end if sighting.number is None else OFFSET_MAX
        if not sighting.vouched or not self._behind.left(segment, end):
            return
        ends, times = self._ends.setdefault(segment, []), self._times.setdefault(segment, [])
        if not ends or ends[-1] < end:
            ends.append(end)
            times.append(sighting.vouched)
            if len(ends) > NOTED_MAX:
                # Of each pair the end of the second, and the time of the first.
                self._ends[segment] = [*ends[1::2], *ends[len(ends) - len(ends) % 2 :]]
                self._times[segment] = times[::2]

    def since(self, segment: int, offset: int) -> float | None:
        """Since when what stands at an offset is durable; None where nothing told."""
        ends = self._ends.get(segment)
        if ends is None:
            return None
        number = bisect_right(ends, offset)
        return self._times[segment][number] if number < len(ends) else None

    def passed(self, behind: NodeOffset) -> None:
        """All before that offset is delivered."""
        before, self._behind = self._behind, behind
        if behind.s != before.s or behind.p != before.p:
            for segment in [each for each in self._ends if not behind.left(each, OFFSET_MAX)]:
                del self._ends[segment], self._times[segment]
            for segment, offset in behind.p:
                self._drop(segment, offset)
        self._drop(behind.s, OFFSET_MAX if behind.done else behind.o)

    def _drop(self, segment: int, upto: int) -> None:
        ends = self._ends.get(segment)
        if ends is not None and (number := bisect_right(ends, upto)):
            del ends[:number], self._times[segment][:number]

    def oldest(self) -> float | None:
        """Since when the oldest of what is not delivered is durable; None where nothing waits."""
        return min((times[0] for times in self._times.values() if times), default=None)
