"""The journal's file: opened for appending under its lock, made if it is not there. Knows no record."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tailer.errors import UsageError
from tailer.state.consumers import sync_folder
from tailer.state.modes import make_folders, open_file

NOT_ALLOWED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def locked(folder: Path, path: Path) -> Iterator[int]:
    """A descriptor of the file, which nobody else appends to in the meantime."""
    while True:
        descriptor = _open(folder, path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # The folder may have been deleted while we waited: then this file is nobody's journal any more.
            if os.fstat(descriptor).st_nlink:
                yield descriptor
                return
        finally:
            os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Every byte, however many calls it takes."""
    while data:
        data = data[os.write(descriptor, data) :]


def _open(folder: Path, path: Path) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        _make_folder(folder)
        descriptor = open_file(path, flags)
        sync_folder(folder)
        return descriptor


def _make_folder(folder: Path) -> None:
    try:
        make_folders(folder)
        sync_folder(folder.parent)
    except OSError as error:
        if error.errno not in NOT_ALLOWED:
            raise
        raise UsageError(
            "the state folder cannot be made",
            file=str(folder),
            found=error.strerror,
            remedy=f"Create it for the user that runs this (uid {os.geteuid()}), or give another with --state.",
        ) from error
