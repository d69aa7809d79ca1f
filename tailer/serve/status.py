"""`GET /status`: what `cdc-tail status --output json` says of the folder. Looks once for all who ask together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from tailer.retention.clean import CleanOptions
from tailer.retention.gather import observe
from tailer.serve.threads import Disk

FRESH_SECONDS: Final = 0.5
"""So old an answer may be: a look asks for every file of the state."""


class Status:
    """Of one folder, for one event loop. `cap`: of who serves it, for who gives none."""

    def __init__(
        self, folder: Path, node: str, cap: int | None, disk: Disk, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder = folder
        self._node = node
        self._cap = cap
        self._disk = disk
        self._clock = clock
        self._looks: dict[tuple[int | None, bool], _Look] = {}

    async def get(self, cap: int | None = None, *, stopped: bool = False) -> bytes:
        """The status as JSON. `stopped`: nobody writes the log any more."""
        asked, now = (self._cap if cap is None else cap, stopped), self._clock()
        look = self._looks.get(asked)
        if look is None or now - look.began >= FRESH_SECONDS:
            self._looks = {each: held for each, held in self._looks.items() if now - held.began < FRESH_SECONDS}
            look = self._looks[asked] = _Look(now, asyncio.create_task(self._observed(*asked)))
        return await asyncio.shield(look.made)

    async def _observed(self, cap: int | None, stopped: bool) -> bytes:
        return await self._disk.run(self._observe, cap, CleanOptions(stopped=stopped))

    def _observe(self, cap: int | None, options: CleanOptions) -> bytes:
        return msgspec.json.encode(observe(self._node, self._folder, cap=cap, options=options))


class _Look(NamedTuple):
    began: float
    made: asyncio.Task[bytes]
