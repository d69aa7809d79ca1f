"""Threads for everything that may wait for a disk: the loop that answers never does. Knows no request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from tailer.serve.problems import BusyError, again

THREADS: Final = 8
"""For segments' files, and as many for the state; looks at the folder, and the node's own reading of it, have one each.

A log folder that hangs keeps nobody from the state."""

BUSY_SECONDS: Final = 20.0
BUSY_SLICE_SECONDS: Final = 0.05

P = ParamSpec("P")
T = TypeVar("T")


class Disk:
    """Of one server."""

    def __init__(self) -> None:
        self._state = ThreadPoolExecutor(THREADS, "cdc-tail-state")
        self._files = ThreadPoolExecutor(THREADS, "cdc-tail-files")
        self._looks = ThreadPoolExecutor(1, "cdc-tail-look")
        self._reads = ThreadPoolExecutor(1, "cdc-tail-read")

    async def run(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Work on the state."""
        return await _in(self._state, work, *args, **named)

    async def file(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Work on a segment's file."""
        return await _in(self._files, work, *args, **named)

    async def look(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Work of the one thread that looks at the folder."""
        return await _in(self._looks, work, *args, **named)

    async def read(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Work of the one thread that reads the log."""
        return await _in(self._reads, work, *args, **named)

    async def patiently(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Work that somebody may keep from being done for a moment (BusyError): no thread waits meanwhile."""
        until = asyncio.get_running_loop().time() + BUSY_SECONDS
        while True:
            try:
                return await self.run(work, *args, **named)
            except BusyError as error:
                if asyncio.get_running_loop().time() >= until:
                    raise again(str(error), 1.0) from error
                await asyncio.sleep(BUSY_SLICE_SECONDS)

    def close(self) -> None:
        """What was begun is done; nothing else is."""
        for each in (self._state, self._files, self._looks, self._reads):
            each.shutdown(wait=True, cancel_futures=True)


async def _in(pool: ThreadPoolExecutor, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    return await asyncio.wrap_future(pool.submit(work, *args, **named))
