"""Processes that a test looks at while they end."""

from __future__ import annotations

import subprocess
from contextlib import suppress

import psutil


def words_of(process: psutil.Process) -> list[str]:
    """Its command line; empty when it has ended, also while its parent has not waited for it (a zombie)."""
    with suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


def runs(process: psutil.Process | None, what: str) -> bool:
    """Whether one word of its command line has `what` in it."""
    return process is not None and any(what in word for word in words_of(process))


def descendants(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """All that it has started and that is alive; empty when it has ended itself."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(process.pid).children(recursive=True)
    return []
