"""What a power loss cannot take any more: the names in a folder, and a file that takes another one's place.

Knows no content and no rights.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

NEW: Final = ".new"
"""What the name of a file ends with that is still written; one that is left over was never finished."""


def sync_folder(folder: Path) -> None:
    """The names in it are durable when this returns."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_in_place(temporary: Path, path: Path) -> None:
    """A file that is whole and synced takes its name, or the place of the file that has it: durable when this returns.

    Both lie in one folder.
    """
    temporary.replace(path)
    sync_folder(path.parent)


def write_durably(path: Path, data: bytes) -> None:
    """A small file, all of it or what stood there before: temporary file, fsync, rename, fsync of the folder."""
    temporary = path.with_name(path.name + NEW)
    with temporary.open("wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    put_in_place(temporary, path)
