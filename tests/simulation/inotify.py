"""As `inotify_simple.INotify`: hints of what changes in a folder, which may overflow."""

from __future__ import annotations

import errno
import os
import select
from pathlib import Path
from typing import Any, Final

import inotify_simple

from tests.simulation.disk import DELETE_SELF, MOVE_SELF, Folder, failed
from tests.simulation.world import Process, running

QUEUE_MAX: Final = 64
"""So many events wait at most; then one says that more were lost. On Linux 16,384."""


class INotify:
    """Of one process. Where its machine has none, making it fails as where all instances are used."""

    def __init__(self, inheritable: bool = False, nonblocking: bool = False) -> None:
        thread = running()
        assert thread is not None, "a thread of a simulation asks"
        self._process: Process = thread.process
        self._process.machine.world.step("inotify")
        if not self._process.machine.notifies:
            raise failed(errno.EMFILE)
        self._number = self._process.descriptor(self)
        self._events: list[inotify_simple.Event] = []
        self._watched: list[tuple[Folder, Any]] = []

    def fileno(self) -> int:
        return self._number

    def events(self) -> int:
        return select.POLLIN if self._events else 0

    def add_watch(self, path: str | Path, mask: int) -> int:
        self._process.machine.world.step("hints")
        folder = self._process.machine.disk.find(os.fspath(path))
        if not isinstance(folder, Folder):
            raise failed(errno.ENOTDIR, os.fspath(path))
        number = len(self._watched) + 1

        def heard(event: int, name: str) -> None:
            if not event & mask and not event & (DELETE_SELF | MOVE_SELF):
                return
            if len(self._events) < QUEUE_MAX:
                self._events.append(inotify_simple.Event(number, event, 0, name))
            elif not self._events[-1].mask & inotify_simple.flags.Q_OVERFLOW:
                self._events.append(inotify_simple.Event(-1, int(inotify_simple.flags.Q_OVERFLOW), 0, ""))

        folder.watchers.append(heard)
        self._watched.append((folder, heard))
        return number

    def read(self, timeout: float | None = None, read_delay: float | None = None) -> list[inotify_simple.Event]:
        self._process.machine.world.step("hints")
        found, self._events = self._events, []
        return found

    def close(self) -> None:
        if self._process.descriptors.pop(self._number, None) is not None:
            self.let_go()

    def let_go(self) -> None:
        for folder, heard in self._watched:
            if heard in folder.watchers:
                folder.watchers.remove(heard)
        self._watched.clear()
