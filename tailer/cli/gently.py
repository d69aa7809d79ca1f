"""SIGTERM as a request: a run that keeps a position ends behind what it has in hand, with the position saved."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def gently() -> Iterator[list[bool]]:
    """Within the block SIGTERM makes the list's one value true, and does nothing else."""
    stopping = [False]

    def stop(number: int, frame: FrameType | None) -> None:
        stopping[0] = True

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield stopping
    finally:
        signal.signal(signal.SIGTERM, before)
