"""The lock of a state folder: a consumer that registers, one that is moved back, and a run of `clean` exclude another.

Holds a lock and nothing else; the kernel gives it back however its holder ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tailer.errors import RefusedError
from tailer.on_disk import wait_for_lock
from tailer.state.modes import make_folder, open_file

FILE_NAME: Final = "lock"
WAIT_SECONDS: Final = 60.0
"""Longer than a holder should need it: `clean` deletes a few files; a consumer's first start reads the log that lies
before its place, and asks a server at most."""


@contextmanager
def state_lock(state: Path, wait_seconds: float | None = None) -> Iterator[None]:
    """Hold the lock of a state folder, which is made if it is not there. RefusedError if it stays taken."""
    wait_seconds = WAIT_SECONDS if wait_seconds is None else wait_seconds
    make_folder(state)
    path = state / FILE_NAME
    # To read is enough: `clean` may run as another user than the one that made the file.
    descriptor = open_file(path, os.O_RDONLY)
    try:
        wait_for_lock(descriptor, path, lambda _: _in_use(path), wait_seconds)
        yield
    finally:
        os.close(descriptor)


def _in_use(path: Path) -> RefusedError:
    return RefusedError(
        "the state folder is locked: `clean` runs, or a consumer starts or is moved",
        file=str(path),
        remedy="Try again when that has ended.",
    )
