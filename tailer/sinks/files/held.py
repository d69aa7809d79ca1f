"""The lock of a node's data files: one process writes there. The kernel gives it back however its holder ends."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tailer.errors import RefusedError
from tailer.on_disk import lock_file
from tailer.sinks.files.new_file import DATA_FILES
from tailer.system_errors import system_error

FILE_NAME: Final = "lock"
WAIT_SECONDS: Final = 0.5
"""For a predecessor that is about to end."""


def hold_folder(folder: Path) -> int:
    """Make the folder where it is not there, durably, and take its lock: the descriptor that holds it until it is
    closed. RefusedError where another process has it, UsageError for a link and for what everybody may write."""
    path = folder / FILE_NAME
    try:
        DATA_FILES.make_folder(folder)
        descriptor = DATA_FILES.to_write(path, os.O_RDWR)
    except OSError as error:
        raise system_error("cannot write data files", error, path, writes=True) from error
    return lock_file(descriptor, path, lambda holder: _in_use(path, holder), WAIT_SECONDS)


def _in_use(path: Path, holder: str) -> RefusedError:
    return RefusedError(
        f"data files are written here by {holder}", file=str(path), remedy="Stop it, or name another folder."
    )
