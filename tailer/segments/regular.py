"""Opens the regular files of a log folder, and nothing else: a FIFO would be waited for, a device may act when opened.

Knows no names of segments: whoever lists the folder says what is passed by.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
"""A regular file is opened and read with them as without."""

_NOT_OPENED: Final = (errno.ENXIO, errno.ENODEV, errno.ELOOP)
"""What opening a socket, a device without a driver, a link to itself gives."""

_KINDS: Final = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link",
}


def open_regular(path: str | Path) -> int:
    """A descriptor to read from. FileNotFoundError where no regular file is: what is in its place says nothing."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno in _NOT_OPENED:
            raise FileNotFoundError(errno.ENOENT, "no regular file", str(path)) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(errno.ENOENT, "no regular file", str(path))
    return descriptor


def kind_of(mode: int) -> str | None:
    """What a file is by its mode, where it is no regular one."""
    return _KINDS.get(stat.S_IFMT(mode))


def other_kind(file: os.DirEntry[str]) -> str | None:
    """What a listed name is that is no regular file; None for one, for a link to one, and where only opening tells.

    Asks nothing of most file systems: the listing said it.
    """
    try:
        if file.is_file():
            return None
        return kind_of(file.stat().st_mode)
    except OSError as error:
        # Else it is gone meanwhile, or a link to nowhere: whoever opens it is told the same.
        return "a link to itself" if error.errno == errno.ELOOP else None
