"""With which rights the files and folders of a state are made: the owner's and the group's, nobody else's.

Two users share a state, the reader and the server's: the group is the one that the folder above gives (its setgid bit),
and the umask of whoever comes first must not shut the other one out, nor let others in. Knows no content.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

FOLDER_MODE: Final = 0o2770
FILE_MODE: Final = 0o660


def open_file(path: Path, flags: int) -> int:
    """A descriptor of a file of the state, which is made if it is not there."""
    try:
        return os.open(path, flags | os.O_CLOEXEC)
    except FileNotFoundError:
        try:
            descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL, FILE_MODE)
        except FileExistsError:
            # Somebody has made it just now.
            return os.open(path, flags | os.O_CLOEXEC)
    _set_mode(descriptor, FILE_MODE)
    return descriptor


def replacing_file(path: Path) -> int:
    """A descriptor to write a file from its beginning, that takes the place of another one afterwards."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
    _set_mode(descriptor, FILE_MODE)
    return descriptor


def make_folders(folder: Path) -> None:
    """Make a folder of the state, and those above it that are missing; one that is there keeps its rights."""
    try:
        folder.mkdir(FOLDER_MODE)
    except FileNotFoundError:
        if folder.parent == folder:
            raise
        make_folders(folder.parent)
        make_folders(folder)
    except OSError:
        # Not FileExistsError: a system may say first that it could not be made.
        if not folder.is_dir():
            raise
    else:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _set_mode(descriptor, FOLDER_MODE)
        finally:
            os.close(descriptor)


def _set_mode(descriptor: int, mode: int) -> None:
    # Whatever the umask took. Refused where another user has left the file, who gave it these rights, and by file
    # systems that have none.
    with contextlib.suppress(PermissionError):
        os.fchmod(descriptor, mode)
