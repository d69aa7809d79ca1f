"""Hints that it is worth looking at a node again: inotify for its log, times of files for its state.

Nothing depends on them: who looks does so from time to time without. Waits in a thread; reads no file.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from tailer.segments.wake import Waker, open_waker

_STATE_PARTS: Final = ("", "consumers", "quarantine")
"""Folders of a state in which a file gets its name, or another one takes its place, when what is shown changes."""

Stamp = tuple[tuple[int, int], ...]


class Hints:
    """Of one log folder and its state. Any thread may close it: a wait ends before."""

    def __init__(self, folder: Path, state: Path) -> None:
        self._folder = folder
        self._state = state
        self._lock = threading.Lock()
        self._closed = False
        self._waker: Waker = open_waker(folder)
        self._inode = _stamp(folder)[0]
        self._stamp = self._stamps()

    def wait(self, seconds: float) -> bool:
        """Waits at most so long (and a quarter of a second); True where something may have changed since the last."""
        with self._lock:
            return not self._closed and self._hear(seconds)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._waker.close()

    def _hear(self, seconds: float) -> bool:
        heard = self._waker.wait(seconds)
        # Whatever was heard of by now is in the look that comes.
        self._waker.names()
        if (inode := _stamp(self._folder)[0]) != self._inode:
            # Another folder has the name: inotify tells of the one before.
            self._waker.close()
            self._waker, self._inode = open_waker(self._folder), inode
        before, self._stamp = self._stamp, self._stamps()
        return heard or self._stamp != before

    def _stamps(self) -> Stamp:
        parts = (self._state / part if part else self._state for part in _STATE_PARTS)
        return (_stamp(self._folder), *map(_stamp, parts))


def _stamp(path: Path) -> tuple[int, int]:
    """Its inode and when it changed; zeros where it is not there, or cannot be asked."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_ino, status.st_mtime_ns
