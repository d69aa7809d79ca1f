"""Which segments `clean` has taken away: a file in the state folder, durable before a log is deleted.

A server that starts again links such a segment anew, and nobody may read it again. Values and their file only: what may
be deleted is decided in `retention/needed.py`.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

import msgspec

from tailer.state.ids import NO_IDS, Ids
from tailer.state.ids_json import from_ranges, from_texts, to_texts
from tailer.state.modes import replace_file
from tailer.state.versions import read_versioned
from tailer.typed_decode import decode_json
from tailer.versions import decode_versioned

FILE_NAME: Final = "cleaned.json"
VERSION: Final = 3

_WITH_RANGES: Final = 2
"""Up to this version ids are ranges as pairs; later they are texts, a fifth as long."""


_WHAT: Final = "the list of cleaned segments"
_REMEDY: Final = "Restore it. Without it, segments that were cleaned may be read again."


class CleanedFile(msgspec.Struct, frozen=True):
    """The file's content. `segments`: ids that had a sidecar; `bare`: ids that had none.

    `lost`: by consumer, ids that `clean --force` deleted before the consumer had read them. `forgotten`: lower ids may
    have been left out again, here and in what consumers remember of gaps.
    """

    v: int = VERSION
    segments: Ids = NO_IDS
    bare: Ids = NO_IDS
    lost: dict[str, Ids] = {}
    forgotten: int = 0

    def __contains__(self, segment: object) -> bool:
        """Whether it is recorded, with a sidecar or without."""
        return segment in self.segments or segment in self.bare


def read_cleaned(state: Path) -> CleanedFile:
    """What the state folder says; nothing where there is no file. RefusedError for one that is not understood."""
    found = read_versioned(state / FILE_NAME, _decode, VERSION, _WHAT, remedy=_REMEDY, named=False)
    return found if found is not None else CleanedFile()


def write_cleaned(state: Path, content: CleanedFile) -> None:
    """Replace the list, in today's form: durable when this returns."""
    written = msgspec.structs.replace(content, v=VERSION)
    replace_file(state / FILE_NAME, msgspec.json.encode(written, enc_hook=to_texts) + b"\n")


def decode_cleaned(data: bytes, where: str) -> CleanedFile:
    """The list as another node's file has it. RefusedError for one that is not understood."""
    return decode_versioned(data, _decode, VERSION, _WHAT, file=where, remedy=_REMEDY, named=False)


def _decode(data: bytes, version: int) -> CleanedFile:
    # Every version wrote the list, also an empty one.
    decode_json(data, _Listed)
    hook = from_ranges if version <= _WITH_RANGES else from_texts
    return decode_json(data, CleanedFile, hook)


class _Listed(msgspec.Struct):
    segments: list[msgspec.Raw]


class Cleaned:
    """The list as a reader follows it: read again whenever the file was replaced."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._path = state / FILE_NAME
        self._seen: tuple[int, int, int] | None = None
        self._content = CleanedFile()
        self.refresh()

    def refresh(self) -> CleanedFile:
        """What is recorded now: the same object, by one `stat`, where nothing has changed."""
        try:
            status = self._path.stat()
            seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        except (FileNotFoundError, NotADirectoryError):
            return self._content
        if seen != self._seen:
            self._content = read_cleaned(self._state)
            self._seen = seen
        return self._content

    def unread(self, segment: int, late: Collection[int] = ()) -> Ids:
        """What a position at `segment` that begins now will never see: captured segments above it, or in `late`."""
        captured = self._content.segments
        return captured.from_id(segment + 1).with_ids(each for each in late if each in captured)

    @property
    def forgotten(self) -> int:
        """Below which id a segment that appears is one of which nothing is known any more."""
        return self._content.forgotten

    def lost(self, consumer: str) -> Ids:
        """What `clean --force` deleted before this consumer had read it."""
        return self._content.lost.get(consumer, NO_IDS)
