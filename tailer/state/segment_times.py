"""When the sections of a segment became durable, as its sidecar told: a few marks, however long it was written.

A mark says that everything up to a section edge was durable at a time. Between two marks nothing is told, so that who
begins by a time begins at the last mark before it: never too late. Values only.
"""

from __future__ import annotations

from typing import Final

import msgspec

MARKS_MAX: Final = 32
"""So many are kept of a segment: between two lies a fifteenth of its time at most, if it was written all along."""

GAP_SECONDS: Final = 1.0
"""Sections that became durable within so long of each other need one mark."""

_Mark = tuple[int, float]


class SegmentTimes(msgspec.Struct, frozen=True, omit_defaults=True):
    """`marks`: section edges and when all before them was durable, both ascending; the newest is always there.

    `done`: when the whole segment was, in seconds since the epoch as the marks are; None while it may still grow.
    """

    marks: tuple[_Mark, ...] = ()
    done: float | None = None

    @property
    def end(self) -> int:
        """How far they tell."""
        return self.marks[-1][0] if self.marks else 0

    @property
    def span(self) -> float:
        """Seconds from the first mark to the last word."""
        if not self.marks:
            return 0.0
        return (self.marks[-1][1] if self.done is None else self.done) - self.marks[0][1]

    def marked(self, end: int, seconds: float) -> SegmentTimes:
        """With one more: all before `end` was durable then."""
        if end <= self.end:
            return self
        # A clock that was set back in between: the later time is on the safe side.
        seconds = max(seconds, self.marks[-1][1] if self.marks else 0.0)
        *before, last = (*self.marks, (end, seconds))
        # One in between goes where those around it are close: the last of a burst stays when the next comes late.
        crowded = len(before) > 1 and last[1] - before[-2][1] < GAP_SECONDS
        return SegmentTimes(_few((*before[: -1 if crowded else None], last)), self.done)

    def finished(self, seconds: float) -> SegmentTimes:
        """The whole segment was durable then."""
        last = self.marks[-1][1] if self.marks else 0.0
        return self if self.done is not None else SegmentTimes(self.marks, max(seconds, last))

    def merged(self, other: SegmentTimes) -> SegmentTimes:
        """What both say. Of one edge the earlier time counts: whoever looked first has seen it first."""
        told: dict[int, float] = {}
        for end, seconds in (*self.marks, *other.marks):
            told[end] = min(seconds, told.get(end, seconds))
        latest, marks = 0.0, []
        for end, seconds in sorted(told.items()):
            latest = max(latest, seconds)
            marks.append((end, latest))
        done = [each.done for each in (self, other) if each.done is not None]
        return SegmentTimes(_few(tuple(marks)), min(done, default=None))

    def before(self, seconds: float) -> int:
        """Up to where all was durable before a time, as far as marks tell."""
        return max((end for end, at in self.marks if at < seconds), default=0)


def _few(marks: tuple[_Mark, ...]) -> tuple[_Mark, ...]:
    """The same, or without those that leave the smallest gaps: so all gaps stay about as long as each other."""
    kept = list(marks)
    while len(kept) > MARKS_MAX:
        gone = min(range(1, len(kept) - 1), key=lambda at: kept[at + 1][1] - kept[at - 1][1])
        del kept[gone]
    return tuple(kept)
