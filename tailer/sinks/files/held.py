"""The lock of a node's data files: one process writes there. The kernel gives it back however its holder ends."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from pathlib import Path
from typing import Final

from tailer.errors import RefusedError
from tailer.sinks.files.new_file import DATA_FILES
from tailer.system_errors import system_error

FILE_NAME: Final = "lock"
WAIT_SECONDS: Final = 0.5
"""For a predecessor that is about to end."""

_SLICE_SECONDS: Final = 0.05


def hold_folder(folder: Path) -> int:
    """Make the folder where it is not there, durably, and take its lock: the descriptor that holds it until it is
    closed. RefusedError where another process has it, UsageError for a link and for what everybody may write."""
    path = folder / FILE_NAME
    try:
        DATA_FILES.make_folder(folder)
        descriptor = DATA_FILES.to_write(path, os.O_RDWR)
    except OSError as error:
        raise system_error("cannot write data files", error, path, writes=True) from error
    try:
        _take(descriptor, path, time.monotonic() + WAIT_SECONDS)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _take(descriptor: int, path: Path, until: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if time.monotonic() < until:
                time.sleep(_SLICE_SECONDS)
                continue
            holder = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()
            raise RefusedError(
                f"data files are written here by {holder or 'another process'}",
                file=str(path),
                remedy="Stop it, or name another folder.",
            ) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
