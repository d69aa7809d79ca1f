"""Opens the regular files of a log folder, and nothing else: a FIFO would be waited for, a device may act when opened.

Knows no names of segments: whoever lists the folder says what is passed by.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from tailer.on_disk import kind_of

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
"""A regular file is opened and read with them as without."""

_NOT_OPENED: Final = (errno.ENXIO, errno.ENODEV, errno.ELOOP)
"""What opening a socket, a device without a driver, a link to itself gives."""


def open_regular(path: str | Path) -> int:
    """A descriptor to read from. FileNotFoundError where no regular file is: what is in its place says nothing."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno in _NOT_OPENED:
            raise FileNotFoundError(errno.ENOENT, "no regular file", str(path)) from error
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileNotFoundError(errno.ENOENT, "no regular file", str(path))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def status_of(path: str | Path) -> os.stat_result | str | None:
    """The status of a regular file or of a link to one; what a name is that is none; None where nothing is there.

    Opens nothing.
    """
    try:
        status = os.stat(path)  # noqa: PTH116 - also of a text
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "a link to itself"
        raise
    return status if stat.S_ISREG(status.st_mode) else kind_of(status.st_mode)
