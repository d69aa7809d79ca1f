"""`GET /segments`: the list of segments, or what differs from one that a reader has, as soon as something does.

However many wait, one look is made for all of them, and what it comes to is put into words once for all who know the
same list.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from typing import Any, Final

import msgspec
from aiohttp import web

from tailer.errors import CdcError
from tailer.limits import whole_number
from tailer.segments.wake import POLL_SECONDS
from tailer.serve.access import CLIENT
from tailer.serve.asked import wait_of, wishes_of
from tailer.serve.clients import Client
from tailer.serve.connections import Connection
from tailer.serve.files import Files
from tailer.serve.problems import failed
from tailer.serve.seen import Answer, Seen
from tailer.serve.threads import Disk
from tailer.serve.wishes import Wishes
from tailer.system_errors import system_error
from tailer.wire.listing import BytesInfo, ListAnswer
from tailer.wire.wishes import Wish

JOINED_SECONDS: Final = 0.005
"""Looks that follow each other are so far apart: what changes in between is told together."""

FIRST_JOINED_SECONDS: Final = 0.001
"""So far apart are the first two: a log is written, and a moment later the sidecar that vouches for it."""

CALM_SECONDS: Final = 0.03
"""A look after so long is a first one again."""

ANSWERS_MAX: Final = 64
"""Kept of one version, for readers who know different lists."""

_Fault = CdcError | OSError


class Listing:
    """Of one node, for one event loop. `head`: what the list says of the node, asked for each answer."""

    def __init__(
        self,
        seen: Seen,
        files: Files,
        disk: Disk,
        boot: str,
        head: Callable[[], ListAnswer],
        wall: Callable[[], int] = time.time_ns,
    ) -> None:
        self._seen = seen
        self._wishes = Wishes(files)
        self._disk = disk
        self._boot = boot
        self._head = head
        self._wall = wall
        self._version = 0
        self._looked = self._apart = 0.0
        self._looking: asyncio.Task[int] | None = None
        self._next: asyncio.Task[int] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._waiting: Counter[int] = Counter()
        self._answers: dict[int, asyncio.Future[Answer]] = {}
        self._news: asyncio.Future[_Fault | None] = asyncio.get_running_loop().create_future()
        self._ended = False
        self._hinted = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many readers wait now."""
        return self._waiting.total()

    async def get(self, request: web.Request) -> web.Response:
        """The list. 304 where there is nothing else than the reader knows, for as long as it asked to wait."""
        etag, wait, wishes = request.query.get("etag", ""), wait_of(request), wishes_of(request)
        known = self._known(etag)
        try:
            # Who waits hears of what changed since the last look anyhow, where that is hinted at.
            if known != self._version or not wait or self._seen.descriptor() is None:
                await self.look()
            # Not what that look gave: another one may have ended by now, and was told of before anybody waited here.
            if self._version == known:
                with self._wishes.waiting(wishes):
                    changed = await self._changed(known, wait, request)
                if not changed:
                    return web.Response(status=304, headers={"ETag": f'"{etag}"'})
            found = await self._answer(known)
            # At once: bytes may be of a look behind that of the list, never of one before.
            ahead = await self._wishes.member(wishes)
        except CdcError as error:
            raise failed(error) from error
        except OSError as error:
            raise failed(system_error("cannot look at the log folder", error)) from error
        # The answer may be a moment old; the clock is not.
        own = _cleaned_of(found, request[CLIENT])
        body = b'{"nowNs":%d,%b%b%b' % (self._wall(), own, ahead, found.body[1:])
        return web.Response(body=body, content_type="application/json", headers={"ETag": f'"{found.etag}"'})

    async def look(self) -> int:
        """The version that a look shows which begins now. Who asks before it has begun has the same one."""
        if self._next is None:
            self._next = asyncio.create_task(self._begin(self._looking))
        return await asyncio.shield(self._next)

    def hint(self) -> None:
        """Something may be different: who waits is told soon."""
        self._hinted.set()

    def end(self) -> None:
        """The server stops: nobody waits any more."""
        self._ended = True
        self._tell(None)

    async def close(self) -> None:
        """Nobody asks any more."""
        tasks = [each for each in (self._looking, self._next, self._watching, *self._answers.values()) if each]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._disk.look(self._seen.close)

    def _known(self, etag: str) -> int:
        """The version that a reader has; 0 for none, and for one of another run."""
        boot, _, version = etag.rpartition("-")
        return whole_number(version) or 0 if boot == self._boot else 0

    async def _changed(self, known: int, wait: float, request: web.Request) -> bool:
        """Whether anything is another than in that version, within so many seconds."""
        if wait <= 0 or self._ended:
            return False
        news, gone = self._news, _gone(request)
        either: set[asyncio.Future[Any]] = {news, gone}
        self._waiting[known] += 1
        try:
            if self._watching is None or self._watching.done():
                self._watching = asyncio.create_task(self._watch())
            done, _ = await asyncio.wait(either, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waiting[known] -= 1
            if not self._waiting[known]:
                del self._waiting[known]
        if gone in done:
            raise ConnectionResetError("the client is gone")
        if news in done and (fault := news.result()) is not None:
            raise fault
        return news in done and not self._ended

    async def _watch(self) -> None:
        """Look again and again, as long as somebody waits."""
        while self._waiting and not self._ended:
            await self._hint()
            try:
                await self.look()
            except (CdcError, OSError) as error:
                self._tell(error)

    async def _hint(self) -> None:
        """Wait until something hints at a change, or as long as is safe without one."""
        for each in self._seen.take_retired():
            each.close()
        hinted = self._hinted = asyncio.Event()
        loop, descriptor = asyncio.get_running_loop(), self._seen.descriptor()
        if descriptor is not None:
            loop.add_reader(descriptor, hinted.set)
        try:
            await asyncio.wait_for(hinted.wait(), POLL_SECONDS)
        except TimeoutError:
            return
        finally:
            if descriptor is not None:
                loop.remove_reader(descriptor)

    async def _begin(self, before: asyncio.Task[int] | None) -> int:
        loop = asyncio.get_running_loop()
        if before is not None:
            await asyncio.wait([before])
        past = loop.time() - self._looked
        self._apart = min(FIRST_JOINED_SECONDS if past >= CALM_SECONDS else 2 * self._apart, JOINED_SECONDS)
        if past < self._apart:
            await asyncio.sleep(self._apart - past)
        self._looked = loop.time()
        self._looking, self._next = self._next, None
        # With what those get who wait: each way to a thread and back takes its time.
        known = list(islice(self._waiting, ANSWERS_MAX))
        version, answers, ahead = await self._disk.look(self._look_for, known, self._wishes.now(), self._told())
        if version != self._version:
            self._version = version
            self._wishes.put(ahead)
            self._answers = {each: _done(answer) for each, answer in answers.items()}
            self._tell(None)
        return version

    def _look_for(
        self, known: Collection[int], wishes: Collection[Wish], head: ListAnswer
    ) -> tuple[int, dict[int, Answer], Mapping[Wish, BytesInfo]]:
        """In the thread that looks."""
        version, answers = self._seen.look_for(known, head)
        return version, answers, self._wishes.read(wishes, self._seen) if version != self._version else {}

    def _tell(self, fault: _Fault | None) -> None:
        """Who waits hears of it."""
        told, self._news = self._news, asyncio.get_running_loop().create_future()
        told.set_result(fault)

    async def _answer(self, known: int) -> Answer:
        if known not in self._answers:
            if len(self._answers) >= ANSWERS_MAX:
                self._answers.clear()
            work = self._disk.look(self._seen.answer, known, self._told())
            self._answers[known] = asyncio.create_task(work)
        return await asyncio.shield(self._answers[known])

    def _told(self) -> ListAnswer:
        return msgspec.structs.replace(self._head(), boot=self._boot)


def _cleaned_of(found: Answer, client: Client) -> bytes:
    """The member of the answer that is not the same for all clients, with its comma."""
    return b"" if found.cleaned is None else b'"cleaned":%b,' % found.cleaned.shown_to(client)


def _gone(request: web.Request) -> asyncio.Future[None]:
    """Done once who asks is gone."""
    assert isinstance(request.protocol, Connection)
    return request.protocol.gone


def _done(answer: Answer) -> asyncio.Future[Answer]:
    found: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    found.set_result(answer)
    return found
