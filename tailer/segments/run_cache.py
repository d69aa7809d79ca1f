"""What a reader keeps of the runs that it checked, of all its segments together. Knows no file."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from tailer.limits import MIB
from tailer.segments.ahead import Identity, RunsAhead
from tailer.segments.run import Run

_KEPT_BYTES: Final = 16 * MIB

_Place = tuple[int, int]
"""Segment, and where in it a run begins."""


class RunCache:
    """The latest runs of some segments: what the planner checked, the reader need not check again.

    One for all files of a reader: what it may hold does not grow with the number of segments. `ahead`: what was walked
    before it was planned.
    """

    def __init__(self) -> None:
        self.ahead = RunsAhead()
        self._runs: OrderedDict[_Place, Run] = OrderedDict()
        self._bytes = 0

    def of(self, segment: int, identity: Identity) -> SegmentRuns:
        """A segment's part of it."""
        return SegmentRuns(self, segment, identity)

    def get(self, place: _Place) -> Run | None:
        return self._runs.get(place)

    def keep(self, place: _Place, run: Run) -> None:
        """Keeps a run, and gives up the oldest where the bytes are too many."""
        if len(run.data) > _KEPT_BYTES:
            return
        self._drop(place)
        self._runs[place] = run
        self._bytes += len(run.data)
        while self._bytes > _KEPT_BYTES:
            self._drop(next(iter(self._runs)))

    def clear(self, segment: int) -> None:
        for place in [place for place in self._runs if place[0] == segment]:
            self._drop(place)

    def _drop(self, place: _Place) -> None:
        dropped = self._runs.pop(place, None)
        if dropped is not None:
            self._bytes -= len(dropped.data)


class SegmentRuns:
    """One segment's runs, by their starts. `identity`: of the file that they are of."""

    def __init__(self, cache: RunCache, segment: int, identity: Identity) -> None:
        self._cache = cache
        self._segment = segment
        self._identity = identity

    def get(self, start: int) -> Run | None:
        return self._cache.get((self._segment, start))

    def keep(self, start: int, run: Run) -> None:
        self._cache.keep((self._segment, start), run)

    def keep_ahead(self, run: Run) -> None:
        """Keep what lies behind what was kept so; it outlives this descriptor. See `RunsAhead`."""
        self._cache.ahead.keep(self._segment, self._identity, run)

    def take_ahead(self, start: int, end: int, most: int) -> Run | None:
        """What was kept so from `start` on."""
        return self._cache.ahead.take(self._segment, self._identity, start, end, most)

    def close(self) -> None:
        """Give up what was planned: who reads on opens the file again."""
        self._cache.clear(self._segment)

    def clear(self) -> None:
        """Give up all of it."""
        self._cache.clear(self._segment)
        self._cache.ahead.drop(self._segment)
