"""A real file system of a few megabytes, which a test fills: nothing else says "no space" as a full disk does.

To mount one takes root, or a user namespace of one's own.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_BLOCK = 4096


class SmallDisk:
    """Mounted at `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        """To the last block."""
        with self._filler.open("ab", buffering=0) as file:
            while True:
                try:
                    file.write(bytes(_BLOCK))
                except OSError:
                    return

    def make_room(self) -> None:
        self._filler.unlink()


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mounted as long as the block lasts. Skips, with the reason, where this user may not."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no small file system: there is no `mount`")
    if mounted.returncode:
        pytest.skip(f"no small file system: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()
