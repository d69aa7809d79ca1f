"""A batch read's lease on what it reads: taken where reading begins, taken again while it goes on.

Knows no folder: what is needed comes from the tail, where the lease stands is `state/holds.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from tailer.state.holds import Hold


class Holding:
    """One tail's; without a lease nothing is done. `needed`: the lowest segment that is read from now on."""

    def __init__(self, hold: Hold | None, needed: Callable[[], int], wall: Callable[[], float]) -> None:
        self._hold = hold
        self._needed = needed
        self._wall = wall

    @contextmanager
    def beginning(self) -> Iterator[None]:
        """The read finds its place inside; behind it what it needs is held, if that is to be had."""
        with nullcontext() if self._hold is None else self._hold.finding(self._wall, self._needed):
            yield

    def go_on(self) -> None:
        """Take the lease again before it runs out."""
        if self._hold is not None and self._hold.ends_soon(now := self._wall()):
            self._hold.take(self._needed(), now)

    def let_go(self) -> None:
        """Reading has ended."""
        if self._hold is not None:
            self._hold.let_go()

    def take_notices(self) -> list[str]:
        """What there is to say of a lease that was not to be had."""
        return [] if self._hold is None else self._hold.take_notices()
