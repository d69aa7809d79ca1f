"""The folder of an images state: its owner's alone, on a disk of this machine, and one process's at a time.

Opens no file of LMDB.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from tailer.errors import RefusedError, UsageError
from tailer.on_disk import lock_file
from tailer.state.file_system import network_kind
from tailer.state.modes import make_folder, open_file
from tailer.system_errors import told

FILE_NAME: Final = "data.mdb"
LOCK_NAME: Final = "process"

_MODE: Final = 0o700


class InUseError(RefusedError):
    """Another process has the state."""


def made_folder(folder: Path) -> Path:
    """Make it where it is missing. UsageError where LMDB cannot be trusted with it."""
    make_folder(folder)
    kind = network_kind(folder)
    if kind:
        raise UsageError(
            f"the state of images on a network file system ({kind})",
            file=str(folder),
            expected="a disk of this machine, whose memory the file is mapped into",
            found=kind,
            remedy="Name a folder on a local disk with --image-state DIR.",
        )
    with told("cannot make the folder of images", folder, writes=True), suppress(PermissionError):
        # Rows stand there in clear. Refused where it is another user's, who gave it its rights.
        folder.chmod(_MODE)
    return folder


def lock_folder(folder: Path) -> int:
    """The descriptor that holds the folder until it is closed. InUseError where another process has it."""
    path = folder / LOCK_NAME
    return lock_file(open_file(path, os.O_RDWR), path, lambda holder: _in_use(folder, holder))


def _in_use(folder: Path, holder: str) -> InUseError:
    return InUseError(
        f"the state of images is in use by {holder}",
        file=str(folder),
        remedy="Stop it, or give this run another consumer or --image-state.",
    )
