"""A run: whole sections one behind the other, their plain bytes and good entries. Knows no file."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from tailer.framing.entry import HEAD_BYTES, Entries
from tailer.framing.section import MARKER_BYTES, Section
from tailer.limits import MIB

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.int64]

_KEPT_BYTES: Final = 16 * MIB

_Place = tuple[int, int]
"""Segment, and where in it a run begins."""


@dataclass(slots=True)
class Run:
    """Plain bytes and the good entries in them: payload offsets and sizes in `data`, logical offsets of their heads.

    `sections`: their logical starts; `edge`: the logical end of the last one, `at` the same place in the file. Between
    the sections' bytes in `data` others may stand. `native`: the entries are records of a native log.
    """

    data: bytes
    starts: Numbers
    sizes: Numbers
    offsets: Numbers
    sections: Numbers
    edge: int
    at: int
    native: bool = False

    def fits(self, end: int, most: int) -> bool:
        """Whether it ends at or before logical `end`, and no section of it begins `most` bytes or more behind the
        first."""
        return self.edge <= end and self.sections[-1] - self.sections[0] < most


def run_of(section: Section, data: bytes, entries: Entries, *, native: bool = False) -> Run:
    """One section by itself, with those of its entries that are good."""
    import numpy as np

    starts, sizes = np.asarray(entries.starts, np.int64), np.asarray(entries.sizes, np.int64)
    offsets = starts + (section.start + MARKER_BYTES - HEAD_BYTES)
    return Run(data, starts, sizes, offsets, np.array([section.start]), section.end, section.next_at, native)


class RunCache:
    """The latest runs of some segments: what the planner checked, the reader need not check again.

    One for all files of a reader: what it may hold does not grow with the number of segments.
    """

    def __init__(self) -> None:
        self._runs: OrderedDict[_Place, Run] = OrderedDict()
        self._bytes = 0

    def of(self, segment: int) -> SegmentRuns:
        """A segment's part of it."""
        return SegmentRuns(self, segment)

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
    """One segment's runs, by their starts."""

    def __init__(self, cache: RunCache, segment: int) -> None:
        self._cache = cache
        self._segment = segment

    def get(self, start: int) -> Run | None:
        return self._cache.get((self._segment, start))

    def keep(self, start: int, run: Run) -> None:
        self._cache.keep((self._segment, start), run)

    def clear(self) -> None:
        self._cache.clear(self._segment)
