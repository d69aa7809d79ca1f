"""How many bytes a second may leave: a bucket that fills while nobody takes from it. For one event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

FULL_SECONDS: Final = 0.25
"""So much of a second's bytes may leave at once."""


class Bucket:
    """`rate`: bytes a second, None for no limit. Who asks first is served first."""

    def __init__(
        self,
        rate: int | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.rate = rate
        self._clock = clock
        self._sleep = sleep
        self._due = clock()

    def piece(self, most: int) -> int:
        """How much is sent at once, so that many who share the rate each get on."""
        return most if self.rate is None else max(1, min(most, int(self.rate * FULL_SECONDS)))

    async def take(self, count: int) -> None:
        """Wait until so many bytes may leave."""
        if self.rate is None:
            return
        now = self._clock()
        self._due = max(self._due, now - FULL_SECONDS) + count / self.rate
        if (wait := self._due - now) > 0:
            await self._sleep(wait)
