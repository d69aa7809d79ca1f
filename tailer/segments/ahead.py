"""Runs that were walked for the definitions in them before their rows are wanted, kept until those are. Knows no file.

A start in the typed form must know every definition before it gives the first row. Without this the log would be
read, decompressed and checked a second time for its rows.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from tailer.limits import MIB
from tailer.segments.run import Run

AHEAD_BYTES: Final = 40 * MIB
"""What all segments together may keep: a full segment with the places of its entries. What is behind is read again."""

Identity = tuple[int, int]
"""Which file it was: device and inode. Another one of that name has other bytes."""


@dataclass(slots=True)
class _Segment:
    identity: Identity
    runs: deque[Run] = field(default_factory=deque)


class RunsAhead:
    """Of each segment runs in log order, from the first that found room."""

    def __init__(self) -> None:
        self._segments: dict[int, _Segment] = {}
        self._room = AHEAD_BYTES

    def keep(self, segment: int, identity: Identity, run: Run) -> None:
        """Keep a run, which lies behind those that are kept of its segment, where there is room for it."""
        if run.memory > self._room:
            return
        held = self._segments.get(segment)
        if held is None or held.identity != identity:
            self.drop(segment)
            held = self._segments[segment] = _Segment(identity)
        held.runs.append(run)
        self._room -= run.memory

    def take(self, segment: int, identity: Identity, start: int, end: int, most: int) -> Run | None:
        """The run from the section edge `start` on that `read_run` would read; None where it is not here.

        What lies before it is given up.
        """
        held = self._segments.get(segment)
        if held is None or held.identity != identity or start >= held.runs[-1].edge:
            # Behind all of them is whoever still walks ahead.
            return None
        while held.runs[0].edge <= start:
            self._room += held.runs.popleft().memory
        return held.runs[0].part(start, end, most)

    def drop(self, segment: int) -> None:
        """Give up a segment's."""
        held = self._segments.pop(segment, None)
        if held is not None:
            self._room += sum(run.memory for run in held.runs)

    def drop_below(self, segment: int) -> None:
        """Give up those of lower segments."""
        for behind in [each for each in self._segments if each < segment]:
            self.drop(behind)
