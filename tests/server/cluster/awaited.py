"""Waiting for what must become true."""

from __future__ import annotations

import time
from collections.abc import Callable


def awaited(holds: Callable[[], bool], what: str, seconds: float, pause: float = 0.5) -> None:
    """Returns when it holds. AssertionError where it does not within so many seconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(pause)
