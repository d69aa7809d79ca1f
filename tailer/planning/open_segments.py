"""The segments of a survey that are open: few at a time, and of those that were fetched not too many bytes.

Who asked for one last finds it open; one that is pinned is being read. Knows no folder: how one is opened is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final
from weakref import WeakSet

from tailer.limits import MIB
from tailer.segments.run_cache import RunCache
from tailer.segments.segment import SegmentFile
from tailer.state.offset import NodeOffset
from tailer.system_errors import files_max

OPEN_MAX: Final = 64
"""Descriptors kept at most; more than a plan needs (`plan.SEGMENTS_MAX`). As many again are kept where partitions
carry a batch: of all its segments."""

LEAST: Final = 3
"""Descriptors that each log may keep, however many logs the process follows."""

_OF_PROCESS: Final = 2
"""All logs together have this part of the descriptors that the process may have open."""

_PLANNED: Final = 3, 4
"""So many of those that a log may keep are one plan's; the others are of the position and of transactions."""

FETCHED_BYTES_MAX: Final = 256 * MIB
"""Of fetched segments that are open at once, as far as what is being read allows."""


class OpenSegments:
    """By segment, the one that was asked for last at the end."""

    def __init__(self) -> None:
        self.runs = RunCache()
        self._files: dict[int, SegmentFile] = {}
        self._fetched: dict[int, int] = {}
        self._pinned: list[int] = []
        self._kept: frozenset[int] = frozenset()
        self._hold_from: int | None = None
        with _LOCK:
            _ALL.add(self)

    @property
    def most(self) -> int:
        """How many may be open now: fewer where the process follows many logs, for its descriptors are bounded."""
        with _LOCK:
            share = files_max() // _OF_PROCESS // max(1, len(_ALL))
        return min(OPEN_MAX, max(LEAST, share if self._hold_from is None else share // 2))

    @property
    def planned_most(self) -> int:
        """How many segments a plan may read: all of them are open until their rows are read."""
        part, of = _PLANNED
        return max(1, self.most * part // of)

    def __iter__(self) -> Iterator[int]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def get(self, segment: int) -> SegmentFile | None:
        return self._files.get(segment)

    def hold(self, segment: int) -> None:
        """Those with this id or a higher one are kept when the position has left them."""
        self._hold_from = segment

    def file(self, segment: int, opens: Callable[[], SegmentFile], fetched: int = 0) -> SegmentFile:
        """The segment, open until many others were asked for. `fetched`: bytes that opening it brings here."""
        held = self._files.pop(segment, None)
        if held is None:
            self._make_room(fetched)
            self._close_oldest()
            held = opens()
            if fetched:
                self._fetched[segment] = fetched
        # The one asked for last stands last.
        self._files[segment] = held
        return held

    @contextmanager
    def pinned(self, segment: int, file: Callable[[], SegmentFile]) -> Iterator[SegmentFile]:
        """The same for as long as the context lasts; closed behind it if it was not open before."""
        kept = segment in self._files
        found = file()
        self._pinned.append(segment)
        try:
            yield found
        finally:
            self._pinned.remove(segment)
            if not kept:
                self._close(segment)

    def release(self, offset: NodeOffset, *, gone: bool) -> None:
        """Close what is behind the position; what it stands in stays open, so that its deletion is no loss.

        `gone`: the position's segment is not there any more.
        """
        keep = {offset.s, *(segment for segment, _ in offset.p[-(self.most // 2) :]), *self._pinned}
        if offset.done and gone:
            keep.discard(offset.s)
        if self._hold_from is not None:
            held = sorted(s for s in self._files if s >= self._hold_from)[: self.most]
            keep = {offset.s, *self._pinned, *held}
        for segment in [s for s in self._files if s not in keep]:
            self._close(segment)
        self.runs.ahead.drop_below(offset.s)
        self._kept = frozenset(keep) if self._hold_from is not None else frozenset({offset.s})

    def drop(self, segment: int) -> None:
        """Close one that cannot be read any more."""
        self._close(segment)

    def close(self) -> None:
        for segment in list(self._files):
            self._close(segment)
        with _LOCK:
            _ALL.discard(self)

    def _close_oldest(self) -> None:
        """Close what was asked for longest ago, until one more may be opened. What is being read stays open."""
        most = self.most if self._hold_from is None else 2 * self.most
        if _open_in_process() >= files_max() // _OF_PROCESS:
            # Others have more than their share still.
            most = min(most, max(LEAST, len(self._files)))
        for segment in [s for s in self._files if s not in self._kept and s not in self._pinned]:
            if len(self._files) < most:
                return
            self._close(segment)

    def _make_room(self, size: int) -> None:
        """Close fetched segments, the oldest first, until one more may be fetched: it can be had again."""
        closable = [segment for segment in self._files if segment in self._fetched and segment not in self._pinned]
        for segment in closable if size else ():
            if sum(self._fetched.values()) + size <= FETCHED_BYTES_MAX:
                return
            self._close(segment)

    def _close(self, segment: int) -> None:
        self._fetched.pop(segment, None)
        if (file := self._files.pop(segment, None)) is not None:
            file.close()


_LOCK: Final = Lock()
_ALL: Final[WeakSet[OpenSegments]] = WeakSet()
"""Of the logs that this process follows."""


def _open_in_process() -> int:
    with _LOCK:
        return sum(map(len, _ALL))
