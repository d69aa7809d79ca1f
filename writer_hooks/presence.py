"""Whether the segment that is written still has its names: what goes into a file without one, nobody would find."""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import Final

from writer_hooks.disk import Files
from writer_hooks.open_segment import Segment
from writer_hooks.places import Places
from writer_hooks.writer_errors import GoneError, is_gone

LOOK_SECONDS: Final = 1.0
"""How often it is looked whether the names are those of the file that is open, and not of a copy of it."""


class Presence:
    """Of the segments of one log, one after another.

    Each sync asks only whether the names are there (`access`). A `stat` of the file between two writes makes a sync
    some 40 % slower on ext4 since Linux 6.13: the next write has to record a new time (multigrain timestamps).
    """

    def __init__(self, files: Files, places: Places) -> None:
        self._files = files
        self._places = places
        self._looked = time.monotonic()
        self._names: tuple[int, tuple[Path, Path] | tuple[()]] = (-1, ())

    def check(self, segment: Segment) -> None:
        """For each sync. Raises GoneError where a name of the segment is gone."""
        if not self._is_due():
            number, names = self._names
            if number != segment.id:
                names = self._places.own(segment.id), self._places.raw(segment.id)
                self._names = segment.id, names
            if all(map(self._files.there, names)):
                return
        self._look(segment)

    def look(self, segment: Segment) -> None:
        """The same for a log that nothing is written into: at most once in LOOK_SECONDS, else it returns at once."""
        if self._is_due():
            self._look(segment)

    def _is_due(self) -> bool:
        now = time.monotonic()
        due = now - self._looked >= LOOK_SECONDS
        if due:
            self._looked = now
        return due

    def _look(self, segment: Segment) -> None:
        try:
            file = self._files.identity(segment.fd)
            for path in (self._places.own(segment.id), self._places.raw(segment.id)):
                if self._files.identity(path) != file:
                    raise FileNotFoundError(errno.ENOENT, "another file has its name", str(path))
        except OSError as error:
            # Whatever else keeps a name from being looked at is no sign.
            if is_gone(error):
                raise GoneError(error, error.filename) from error
