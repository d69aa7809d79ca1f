"""Keeps what the page shows: looks in a thread, often while somebody watches and seldom while nobody does.

A look that hangs (a network folder) holds up no other request: what was seen before is shown, with its time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, TypeVar

from tailer.errors import CdcError
from tailer.node_page.history import LagHistory, Past
from tailer.node_page.look import Look

WATCHED_SECONDS: Final = 2.0
"""How often is looked at least while somebody watches: what nothing hints at is seen then."""

HINTED_SECONDS: Final = 0.25
"""How often at most."""

IDLE_SECONDS: Final = 10.0
"""How often while nobody watches, for the history alone."""

PATIENCE_SECONDS: Final = 5.0
"""For so long somebody waits for a look."""

HINTED_SHARE: Final = 0.2
WATCHED_SHARE: Final = 0.01
IDLE_SHARE: Final = 0.001
"""Of a core, which these looks take at most: a folder with very many segments is looked at less often."""

_HINT_SECONDS: Final = 0.2
_THREADS: Final = 3
"""For a look, for a wait, for what is asked of readiness: one of each at a time."""

_Made = TypeVar("_Made")


class Collector:
    """Of one node. Everything but `look` and `wait` runs in one event loop, from `start` to `stop`.

    `look`: takes one; `wait`: until something hints at a change, so many seconds at most. Both run in threads.
    """

    def __init__(
        self,
        look: Callable[[], Look],
        wait: Callable[[float], bool],
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._look = look
        self._wait = wait
        self._clock = clock
        self._wall = wall
        self._history = LagHistory()
        self._pool = ThreadPoolExecutor(_THREADS, "cdc-tail-page")
        self._changed = asyncio.Event()
        self._came = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._running: asyncio.Task[None] | None = None
        self._tried = float("-inf")
        self.now: Look | None = None
        self.trouble: str | None = None
        """Why the last look failed."""
        self.version = 0
        """Of what is shown; it counts the looks, those that failed too."""
        self.watchers = 0
        self.stopped = False

    def start(self) -> None:
        """Begins to look, in the running loop."""
        self._running = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Looks no more, and lets everybody go who waits for news."""
        self.stopped = True
        self._changed.set()
        for task in (self._running, self._looking):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        # A look that hangs is not waited for.
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def fresh(self, seconds: float) -> None:
        """Returns when there is a look that is no older, or costs too much to be taken so often, or does not end."""
        if self._clock() - self._tried > max(seconds, self._cost() / HINTED_SHARE) or self._looking is not None:
            await self._again(PATIENCE_SECONDS)

    async def news(self, version: int, seconds: float) -> bool:
        """Waits until there is another version, so many seconds at most; whether there is."""
        if self.version == version and not self.stopped:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)
        return self.version != version

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Somebody watches, as long as the block lasts."""
        self.watchers += 1
        self._came.set()
        try:
            yield
        finally:
            self.watchers -= 1

    async def in_thread(self, what: Callable[[], _Made]) -> _Made:
        return await asyncio.get_running_loop().run_in_executor(self._pool, what)

    def past(self) -> list[Past]:
        """The last hour of each consumer."""
        return self._history.past(self._wall())

    async def _run(self) -> None:
        while True:
            await self._again()
            await self._rest()

    async def _rest(self) -> None:
        """Until the next look is due."""
        if not self.watchers:
            self._came.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._came.wait(), max(IDLE_SECONDS, self._cost() / IDLE_SHARE))
            return
        await asyncio.sleep(max(HINTED_SECONDS, self._cost() / HINTED_SHARE))
        until = self._tried + max(WATCHED_SECONDS, self._cost() / WATCHED_SHARE)
        while (left := until - self._clock()) > 0 and self.watchers:
            if await self.in_thread(partial(self._wait, min(_HINT_SECONDS, left))):
                return

    async def _again(self, seconds: float | None = None) -> None:
        """One more look; who asks while there is one waits for that, so long at most."""
        if self._looking is None:
            self._looking = asyncio.create_task(self._take())
        await asyncio.wait({self._looking}, timeout=seconds)

    async def _take(self) -> None:
        try:
            self.now = seen = await self.in_thread(self._look)
            self._history.add(seen.status.consumers, seen.at)
            self.trouble = None
        except CdcError as error:
            self.trouble = error.sentence()
        except OSError as error:
            self.trouble = f"{error.strerror or type(error).__name__}: {error.filename}"
        except Exception as error:
            # Whoever looks at the page shall see it, not only who reads a log.
            self.trouble = f"this is a bug in cdc-tail: {type(error).__name__}: {error}"
        # With the rest, not behind it: whoever asks from now on wants a later one.
        self._looking = None
        self._tried = self._clock()
        self.version += 1
        before, self._changed = self._changed, asyncio.Event()
        before.set()

    def _cost(self) -> float:
        return self.now.cost if self.now is not None else 0.0
