"""Where a reader finds segments other than the one it was given: a transaction may have begun in an earlier one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from tailer.errors import SystemFailedError
from tailer.segments.segment import KeySource, SegmentFile, no_keys
from tailer.segments.source import Source, open_segment


class Segments(Protocol):
    """The segments of a folder."""

    def between(self, first: int, last: int) -> Sequence[int]:
        """Ids of the logs that are there, from `first` to `last`, ascending."""
        ...

    def opened(self, segment: int) -> AbstractContextManager[SegmentFile]:
        """A segment, open as long as the context lasts. FileNotFoundError when it is gone."""
        ...


class NoSegments:
    """For those who know that nothing they read leads to another segment."""

    def between(self, first: int, last: int) -> Sequence[int]:
        return ()

    def opened(self, segment: int) -> AbstractContextManager[SegmentFile]:
        raise SystemFailedError(f"segment {segment} was not to be opened")


class SourceSegments:
    """The segments of a log that nobody else keeps open."""

    def __init__(self, source: Source, keys: KeySource = no_keys) -> None:
        self._source = source
        self._keys = keys

    def between(self, first: int, last: int) -> Sequence[int]:
        return sorted(name.segment for name in self._source.names() if first <= name.segment <= last)

    @contextmanager
    def opened(self, segment: int) -> Iterator[SegmentFile]:
        name = next((name for name in self._source.names() if name.segment == segment), None)
        if name is None:
            raise FileNotFoundError(f"segment {segment} is not in {self._source.where}")
        with open_segment(self._source, name, self._keys) as file:
            yield file
