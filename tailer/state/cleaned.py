"""Which segments `clean` has taken away: a file in the state folder, ids as ranges, durable before a log is deleted.

A server that starts again links such a segment anew, and nobody may read it again. Values and their file only: what may
be deleted is decided in `retention.py`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from tailer.errors import RefusedError
from tailer.state.consumers import replace_file
from tailer.state.modes import read_file
from tailer.state.versions import Versioned, check_version

FILE_NAME: Final = "cleaned.json"
VERSION: Final = 1

Range = tuple[int, int]
"""First and last id, both included."""


class CleanedFile(msgspec.Struct, frozen=True):
    """The file's content. `segments`: ids that had a sidecar; `bare`: ids that had none.

    `lost`: by consumer, ids that `clean --force` deleted before the consumer had read them.
    """

    v: int = VERSION
    segments: tuple[Range, ...] = ()
    bare: tuple[Range, ...] = ()
    lost: dict[str, tuple[Range, ...]] = {}


class Ids(Collection[int]):
    """Ids kept as ranges, ascending and apart."""

    def __init__(self, ranges: tuple[Range, ...] = ()) -> None:
        self.ranges = ranges
        self._firsts = [first for first, _ in ranges]

    def __contains__(self, segment: object) -> bool:
        assert isinstance(segment, int)
        at = bisect_right(self._firsts, segment) - 1
        return at >= 0 and segment <= self.ranges[at][1]

    def __iter__(self) -> Iterator[int]:
        return (segment for first, last in self.ranges for segment in range(first, last + 1))

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def above(self, segment: int) -> Iterator[int]:
        """The ids beyond one, ascending."""
        for first, last in self.ranges:
            yield from range(max(first, segment + 1), last + 1)

    def with_ids(self, more: Iterable[int]) -> Ids:
        """These and more. Only neighbours share a range: an id that was never there is never in one."""
        merged: list[Range] = []
        for first, last in sorted([*self.ranges, *((segment, segment) for segment in more)]):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        return Ids(tuple(merged))


def read_cleaned(state: Path) -> CleanedFile:
    """What the state folder says; nothing where there is no file. RefusedError for one that is not understood."""
    path = state / FILE_NAME
    try:
        data = read_file(path)
    except FileNotFoundError:
        return CleanedFile()
    try:
        found = msgspec.json.decode(data, type=Versioned).v
        check_version(found, VERSION, "the list of cleaned segments", file=str(path))
        return msgspec.json.decode(data, type=CleanedFile)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise RefusedError(
            f"the list of cleaned segments cannot be read: {error}",
            file=str(path),
            remedy="Restore it. Without it, segments that were cleaned may be read again.",
        ) from error


def write_cleaned(state: Path, content: CleanedFile) -> None:
    """Replace the list: durable when this returns."""
    replace_file(state / FILE_NAME, msgspec.json.encode(content) + b"\n")


class Cleaned:
    """The list as a reader follows it: read again whenever the file was replaced. `ids`: all that are recorded."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._seen: tuple[int, int, int] | None = None
        self._content = CleanedFile()
        self.ids = Ids()
        self.refresh()

    def refresh(self) -> Ids:
        """All ids that are recorded now. One `stat` where nothing has changed."""
        try:
            status = (self._state / FILE_NAME).stat()
            seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        except (FileNotFoundError, NotADirectoryError):
            return self.ids
        if seen != self._seen:
            self._content = read_cleaned(self._state)
            self._seen = seen
            self.ids = Ids(self._content.segments).with_ids(Ids(self._content.bare))
        return self.ids

    def unread(self, segment: int, late: Collection[int] = ()) -> frozenset[int]:
        """What a position at `segment` that begins now will never see: captured segments above it, or in `late`."""
        captured = Ids(self._content.segments)
        return frozenset({*captured.above(segment), *(each for each in late if each in captured)})

    def lost(self, consumer: str) -> Ids:
        """What `clean --force` deleted before this consumer had read it."""
        return Ids(self._content.lost.get(consumer, ()))
