"""A lock that everybody gets in his turn. Python's own goes to whoever comes first when it is let go: who takes it
again at once may have it for seconds, and others wait."""

from __future__ import annotations

from collections import deque
from threading import Lock


class TurnLock:
    """Used as `threading.Lock` is."""

    def __init__(self) -> None:
        self._inner = Lock()
        self._held = False
        self._waiting: deque[Lock] = deque()

    def acquire(self, *, blocking: bool = True) -> bool:
        """Whether it is held now; always with `blocking`, behind all who came before."""
        with self._inner:
            if not self._held:
                self._held = True
                return True
            if not blocking:
                return False
            turn = Lock()
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()
        return True

    def release(self) -> None:
        """It is the next one's."""
        with self._inner:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._held = False

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *exc: object) -> None:
        self.release()
