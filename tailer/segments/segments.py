"""Where a reader finds segments other than the one it was given: a transaction may have begun in an earlier one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from tailer.errors import SystemFailedError
from tailer.framing.name import parse_log_name
from tailer.segments.segment import KeySource, SegmentFile, no_keys


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


class FolderSegments:
    """The segments of a folder that nobody else keeps open."""

    def __init__(self, folder: Path, keys: KeySource = no_keys) -> None:
        self._folder = folder
        self._keys = keys

    def between(self, first: int, last: int) -> Sequence[int]:
        return sorted(segment for segment in self._names() if first <= segment <= last)

    @contextmanager
    def opened(self, segment: int) -> Iterator[SegmentFile]:
        name = self._names().get(segment)
        if name is None:
            raise FileNotFoundError(f"segment {segment} is not in {self._folder}")
        with SegmentFile(self._folder / name, segment, self._keys) as file:
            yield file

    def _names(self) -> dict[int, str]:
        names = [parse_log_name(file.name) for file in self._folder.iterdir()]
        return {name.segment: name.log for name in names if name is not None}
