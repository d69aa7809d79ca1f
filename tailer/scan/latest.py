"""What was made of equal things, kept for whoever asks next: definitions are laid out anew for each small reading else.

Knows nothing of what it keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

LATEST_MAX: Final = 8
"""Sets of definitions: those of the logs that one process reads by turns."""


class Latest(Generic[K, V]):
    """What `make` gives, the same for equal keys; the last few are kept. Values are shared between threads."""

    def __init__(self, make: Callable[[K], V]) -> None:
        self._make = make
        self._held: tuple[tuple[K, V], ...] = ()

    def of(self, key: K) -> V:
        for held, value in self._held:
            if held == key:
                return value
        value = self._make(key)
        # Replaced as a whole: another thread may be looking through it.
        self._held = ((key, value), *self._held[: LATEST_MAX - 1])
        return value
