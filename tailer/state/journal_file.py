"""The journal's file: opened for appending under its lock, made if it is not there. Knows no record."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailer.on_disk import closed_on_error, sync_folder
from tailer.state.modes import make_folder, open_file


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
    flags = os.O_RDWR | os.O_APPEND
    if path.exists():
        return open_file(path, flags)
    make_folder(folder)
    descriptor = open_file(path, flags)
    with closed_on_error(descriptor):
        sync_folder(folder)
    return descriptor
