"""Which segments `clean` has taken away: a file in the state folder, ids as ranges, durable before a log is deleted.

A server that starts again links such a segment anew, and nobody may read it again. Values and their file only: what may
be deleted is decided in `retention.py`.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

import msgspec

from tailer.errors import RefusedError
from tailer.state.consumers import replace_file
from tailer.state.ids import Ids, Range
from tailer.state.modes import read_file
from tailer.state.versions import Versioned, check_version

FILE_NAME: Final = "cleaned.json"
VERSION: Final = 2


class CleanedFile(msgspec.Struct, frozen=True):
    """The file's content. `segments`: ids that had a sidecar; `bare`: ids that had none.

    `lost`: by consumer, ids that `clean --force` deleted before the consumer had read them. `forgotten`: lower ids may
    have been left out again, here and in what consumers remember of gaps.
    """

    v: int = VERSION
    segments: tuple[Range, ...] = ()
    bare: tuple[Range, ...] = ()
    lost: dict[str, tuple[Range, ...]] = {}
    forgotten: int = 0


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
        self._path = state / FILE_NAME
        self._seen: tuple[int, int, int] | None = None
        self._content = CleanedFile()
        self.ids = Ids()
        self.refresh()

    def refresh(self) -> Ids:
        """All ids that are recorded now. One `stat` where nothing has changed."""
        try:
            status = self._path.stat()
            seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        except (FileNotFoundError, NotADirectoryError):
            return self.ids
        if seen != self._seen:
            self._content = read_cleaned(self._state)
            self._seen = seen
            self.ids = Ids(self._content.segments).with_ids(Ids(self._content.bare))
        return self.ids

    def unread(self, segment: int, late: Collection[int] = ()) -> Ids:
        """What a position at `segment` that begins now will never see: captured segments above it, or in `late`."""
        captured = Ids(self._content.segments)
        return captured.from_id(segment + 1).with_ids(each for each in late if each in captured)

    @property
    def forgotten(self) -> int:
        """Below which id a segment that appears is one of which nothing is known any more."""
        return self._content.forgotten

    def lost(self, consumer: str) -> Ids:
        """What `clean --force` deleted before this consumer had read it."""
        return Ids(self._content.lost.get(consumer, ()))
