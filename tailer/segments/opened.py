"""A segment's file, open: its bytes by their places, held by a descriptor. Knows nothing of what they say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple, Protocol

from tailer.framing.name import parse_log_name
from tailer.segments.folder import SidecarFile, read_sidecar
from tailer.segments.regular import open_regular
from tailer.system_errors import system_error


class FileStatus(NamedTuple):
    """`device` and `inode` tell which file it is: another one of that name has other bytes. `links`: its names."""

    device: int
    inode: int
    size: int
    links: int


class Opened(Protocol):
    """A segment's file that somebody has open, here or on another machine. It may grow, shrink or lose its names.

    `lasts`: its bytes can be read for as long as it is open, also when its names are gone.
    """

    @property
    def lasts(self) -> bool: ...

    def read(self, at: int, length: int) -> bytes:
        """Up to `length` bytes from file offset `at`; none only where the file ends. OSError, or a documented error."""
        ...

    def status(self) -> FileStatus: ...

    def sidecar(self) -> SidecarFile | None:
        """The sidecar beside it; None where there is none."""
        ...

    def check_named(self) -> None:
        """FileNotFoundError where its name is gone."""
        ...

    def reopen(self) -> None:
        """See the file afresh, if it is kept somewhere on the way. FileNotFoundError where it is gone."""
        ...

    def close(self) -> None: ...


class OpenedFile:
    """A file of this machine's, held by descriptor. FileNotFoundError where there is no regular file.

    `descriptor`: one that is open already; it is this object's from now on.
    """

    lasts = True

    def __init__(self, path: Path, descriptor: int | None = None) -> None:
        self._path = path
        self._descriptor = _open(path) if descriptor is None else descriptor

    def read(self, at: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, at)

    def status(self) -> FileStatus:
        found = os.fstat(self._descriptor)
        return FileStatus(found.st_dev, found.st_ino, found.st_size, found.st_nlink)

    def sidecar(self) -> SidecarFile | None:
        name = parse_log_name(self._path.name)
        found = None if name is None else read_sidecar(self._path.parent, name)
        return found if isinstance(found, SidecarFile) else None

    def check_named(self) -> None:
        self._path.stat()

    def reopen(self) -> None:
        """With a fresh descriptor: a network file system may show an old one stale bytes."""
        fresh = _open(self._path)
        os.close(self._descriptor)
        self._descriptor = fresh

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _open(path: Path) -> int:
    try:
        return open_regular(path)
    except PermissionError as error:
        raise system_error("cannot read the segment", error, path) from error
