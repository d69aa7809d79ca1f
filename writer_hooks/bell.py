"""Wakes the one thread that waits for it.

Each step is one call of a lock, which an exception of a signal handler in the main thread (Ctrl-C) cannot cut in two: a
`threading.Event` or a `with` on a `Condition` is Python inside, and may be left locked for ever. Knows no log.
"""

from __future__ import annotations

import threading


class Bell:
    """Any number of threads may ring it; it rings until it was heard once."""

    def __init__(self) -> None:
        self._silent = threading.Lock()
        self._silent.acquire()

    def ring(self) -> None:
        """Returns at once."""
        # Two threads may both have found it silent: then the second finds it ringing.
        if self._silent.locked():
            try:
                self._silent.release()
            except RuntimeError:
                return

    def hear(self, timeout: float) -> bool:
        """Wait for it at most so many seconds; whether it rang."""
        return self._silent.acquire(timeout=max(timeout, 0.0))
