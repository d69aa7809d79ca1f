"""Whether the segment that is written still has its names, and the log its lock file: what goes into a file without a
name, nobody would find, and without the lock file another writer may come.
"""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import Final

from writer_hooks.disk import Files
from writer_hooks.open_segment import Segment
from writer_hooks.places import Places
from writer_hooks.writer_errors import GoneError, LockGoneError, is_gone

LOOK_SECONDS: Final = 1.0
"""How often it is looked whether the names are those of the file that is open, and not of a copy of it."""


class Presence:
    """Of the segments of one log, one after another. `lock`: which file `commitlog/LOCK` is.

    Each sync asks only whether the names are there (`access`). A `stat` of the file between two writes makes a sync
    some 40 % slower on ext4 since Linux 6.13: the next write has to record a new time (multigrain timestamps).
    """

    def __init__(self, files: Files, places: Places, lock: tuple[int, int]) -> None:
        self._files = files
        self._places = places
        self._lock = lock
        self._looked = time.monotonic()
        self._names: tuple[int, tuple[Path, Path] | tuple[()]] = (-1, ())

    def check(self, segment: Segment) -> None:
        """For each sync. Raises GoneError where a name of the segment is gone, and LockGoneError, which is looked for
        once in LOOK_SECONDS: until then the lock of the folder keeps others out."""
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
        # Behind the log's own name of the segment: where its folder is gone, so is LOCK. Before the readers' name: a
        # writer that came because LOCK was gone has taken that away.
        self._check_name(segment, self._places.own(segment.id))
        try:
            self._check_is(self._places.lock, self._lock)
        except OSError as error:
            # As below.
            if is_gone(error):
                raise LockGoneError(error, self._places.lock) from error
        self._check_name(segment, self._places.raw(segment.id))

    def _check_name(self, segment: Segment, path: Path) -> None:
        try:
            self._check_is(path, self._files.identity(segment.fd))
        except OSError as error:
            # Whatever else keeps a name from being looked at is no sign.
            if is_gone(error):
                raise GoneError(error, error.filename) from error

    def _check_is(self, path: Path, file: tuple[int, int]) -> None:
        if self._files.identity(path) != file:
            raise FileNotFoundError(errno.ENOENT, "another file has its name", str(path))
