"""Since when what is in the log is durable: what sidecars vouched for, and when, as far as it is not delivered.

A sidecar is written over and over and says only when it was written last, so each look that shows a new end is noted.
Values only; knows no clock.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Final

from tailer.limits import OFFSET_MAX
from tailer.planning.sighting import Sighting
from tailer.state.offset import NodeOffset

_WHOLE: Final = [OFFSET_MAX]
NOTED_MAX: Final = 1024
"""Ends of one segment that are told apart; of more, those that came within a moment of one another are one."""


class Vouched:
    """Of one node. Offsets are logical; times are seconds since the epoch."""

    def __init__(self) -> None:
        self._notes: dict[int, _Notes] = {}
        self._behind = NodeOffset()

    def note(self, segment: int, sighting: Sighting) -> None:
        """What a look has shown of a segment; nothing where it is no more than before, or is delivered."""
        end = sighting.end if sighting.number is None else OFFSET_MAX
        if sighting.vouched and self._behind.left(segment, end):
            self._notes.setdefault(segment, _Notes()).add(end, sighting.vouched)

    def since(self, segment: int, offset: Callable[[], int]) -> float | None:
        """Since when what stands at an offset is durable; None where nothing told. `offset` is asked if it matters."""
        notes = self._notes.get(segment)
        if notes is None:
            return None
        return notes.times[0] if notes.whole else notes.since(offset())

    def passed(self, behind: NodeOffset) -> None:
        """All before that offset is delivered."""
        before, self._behind = self._behind, behind
        if behind.s != before.s or behind.p != before.p:
            for segment in [each for each in self._notes if not behind.left(each, OFFSET_MAX)]:
                del self._notes[segment]
            for segment, offset in behind.p:
                self._drop(segment, offset)
        self._drop(behind.s, OFFSET_MAX if behind.done else behind.o)

    def oldest(self) -> float | None:
        """Since when the oldest of what is not delivered is durable; None where nothing waits."""
        return min((notes.times[0] for notes in self._notes.values()), default=None)

    def _drop(self, segment: int, upto: int) -> None:
        notes = self._notes.get(segment)
        if notes is not None and not notes.drop(upto):
            del self._notes[segment]


class _Notes:
    """Of one segment: ends, and since when what is before each, and behind the one before it, is durable."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self.times: list[float] = []
        self._apart = 0.0

    @property
    def whole(self) -> bool:
        """All of it is durable since one moment."""
        return self.ends == _WHOLE

    def add(self, end: int, time: float) -> None:
        """A sidecar vouches up to there, and did so first at that time. Nothing where that is not more."""
        ends, times = self.ends, self.times
        if not ends:
            ends.append(end)
            times.append(time)
        elif end > ends[-1]:
            if time - times[-1] < self._apart:
                # With the earlier time: a lag is never made less.
                ends[-1] = end
            else:
                ends.append(end)
                times.append(time)
            if len(ends) > NOTED_MAX:
                self._thin_out()

    def since(self, offset: int) -> float | None:
        number = bisect_right(self.ends, offset)
        return self.times[number] if number < len(self.ends) else None

    def drop(self, upto: int) -> bool:
        """What ends there or before is delivered; whether anything is left."""
        if number := bisect_right(self.ends, upto):
            del self.ends[:number], self.times[:number]
        return bool(self.ends)

    def _thin_out(self) -> None:
        """Half of them are enough, as far apart from one another as may be."""
        ends, times = self.ends, self.times
        self._apart = 2 * max(times[-1] - times[0], 0.0) / NOTED_MAX
        self.ends, self.times = [], []
        for end, time in zip(ends, times, strict=True):
            if self.times and time - self.times[-1] < self._apart:
                self.ends[-1] = end
            else:
                self.ends.append(end)
                self.times.append(time)
        # A clock that was set back: what is left may not be less.
        if len(self.ends) > NOTED_MAX:
            self.ends, self.times = self.ends[-1:], self.times[:1]
