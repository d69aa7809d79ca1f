"""What may lie in a folder under the name of a file and is none: opening it may wait for ever, or do something."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

NULL_DEVICE: Final = os.makedev(1, 3)


def _socket(path: Path) -> None:
    """By its bare name: a socket's path has room for a hundred letters."""
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, NULL_DEVICE)
    except PermissionError:
        pytest.skip("only root may make a device, and not in every container")


OTHERS: Final[dict[str, Callable[[Path], None]]] = {
    "a FIFO": os.mkfifo,
    "a folder": Path.mkdir,
    "a socket": _socket,
    "a device": _device,
}
"""Makes one at a path, by what it is called to a user."""
