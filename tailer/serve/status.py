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
from tailer.retention.status import NodeStatus
from tailer.serve.clients import Client
from tailer.serve.threads import Disk

_UNTOLD: Final = "`cdc-tail status` on the node says why"

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

    async def get(self, client: Client, cap: int | None = None, *, stopped: bool = False) -> bytes:
        """The status as JSON, with the client's own consumers. `stopped`: nobody writes the log any more."""
        asked, now = (self._cap if cap is None else cap, stopped), self._clock()
        look = self._looks.get(asked)
        if look is None or now - look.began >= FRESH_SECONDS:
            self._looks = {each: held for each, held in self._looks.items() if now - held.began < FRESH_SECONDS}
            look = self._looks[asked] = _Look(now, asyncio.create_task(self._observed(*asked)))
        return msgspec.json.encode(shown_to(client, await asyncio.shield(look.made)))

    async def _observed(self, cap: int | None, stopped: bool) -> NodeStatus:
        return await self._disk.run(self._observe, cap, CleanOptions(stopped=stopped))

    def _observe(self, cap: int | None, options: CleanOptions) -> NodeStatus:
        return observe(self._node, self._folder, cap=cap, options=options)


def shown_to(client: Client, status: NodeStatus) -> NodeStatus:
    """A status without other clients' consumers and batch reads, and without sentences that may name them."""
    if not client.prefix:
        return status
    segments = [
        msgspec.structs.replace(each, needed_by=[name for name in each.needed_by if client.owns(name)])
        for each in status.segments
    ]
    refused = status.clean.refused and _UNTOLD
    return msgspec.structs.replace(
        status,
        segments=segments,
        clean=msgspec.structs.replace(status.clean, refused=refused),
        consumers=[each for each in status.consumers if client.owns(each.consumer)],
        problems=[_UNTOLD] if status.problems else [],
        reads=[],
    )


class _Look(NamedTuple):
    began: float
    made: asyncio.Task[NodeStatus]
