"""The page of a node, its events, metrics and health, as routes of an aiohttp application. Shows what others gather."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial, wraps
from typing import Any, Final

import msgspec
from aiohttp import web

from tailer.metrics.health import all_stuck, any_unready
from tailer.metrics.monitor import needs
from tailer.node_page.asked_as import asked_rightly
from tailer.node_page.collector import Collector
from tailer.node_page.figures import NodeFigures
from tailer.node_page.history import step_of
from tailer.node_page.look import Looker, StatusSource
from tailer.node_page.look_again import Hints
from tailer.node_page.page import page_text
from tailer.node_page.ready import unready
from tailer.node_page.shown import shown
from tailer.state.log_folder import state_folder

WATCHERS_MAX: Final = 32
"""Pages that are open at once; whoever comes beyond is asked to come again."""

BEAT_SECONDS: Final = 5.0
"""A page that hears nothing for longer knows that it is not live."""

CLIENT_SECONDS: Final = 10.0
"""For so long a client may not take what it is sent."""

FRESH_SECONDS: Final = 1.0
"""So old the numbers of a new page, or of a scrape, may be."""

READY_SECONDS: Final = 5.0

_SAFE: Final = {
    "Server": "cdc-tail",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def add_status(app: web.Application, source: StatusSource) -> NodePage:
    """Puts the routes of a node's page into an application, with which it begins to look and ends.

    UsageError where a package is missing.
    """
    page = NodePage(source)
    app.add_routes(page.routes())
    app.cleanup_ctx.append(page.lifetime)
    app.on_shutdown.append(page.leave)
    return page


class NodePage:
    """Of one node. An application that has its `routes` has its `lifetime` (`cleanup_ctx`) and `leave` (`on_shutdown`)
    too: see `add_status`."""

    def __init__(self, source: StatusSource, wall: Callable[[], float] = time.time) -> None:
        prometheus = needs("tailer.metrics.prometheus", "serve", "the status page")
        self._source = source
        self._wall = wall
        self._page = page_text()
        self._hints = Hints(source.folder, state_folder(source.folder, source.state))
        self.collector = Collector(Looker(source, wall).look, self._hints.wait, wall=wall)
        figures = NodeFigures(source.node, self._last, source.facts.served, wall)
        self._exposition = prometheus.Exposition([figures.samples])
        self._asked: asyncio.Task[list[str]] | None = None

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/", _guarded(self._show)),
            web.get("/events", _guarded(self._events), allow_head=False),
            web.get("/metrics", _guarded(self._metrics)),
            web.get("/healthz", _guarded(self._healthz)),
            web.get("/readyz", _guarded(self._readyz)),
        ]

    async def lifetime(self, app: web.Application) -> AsyncIterator[None]:
        """It looks while an application runs."""
        self.collector.start()
        yield
        await self.leave(app)
        await asyncio.to_thread(self._hints.close)

    async def leave(self, app: web.Application) -> None:
        """Lets open pages go, which would hold up the application's end."""
        await self.collector.stop()

    def shown(self) -> dict[str, Any]:
        """What the page shows now, as it is sent."""
        collector, source = self.collector, self._source
        served, now = source.facts.served(), self._wall()
        value = shown(source.node, str(source.folder), collector.now, served, now, collector.trouble)
        made: dict[str, Any] = msgspec.to_builtins(value)
        return made

    def _last(self) -> Any:
        return self.collector.now if self.collector.trouble is None else None

    async def _show(self, request: web.Request) -> web.StreamResponse:
        policy = {"Content-Security-Policy": self._page.policy}
        return web.Response(body=self._page.body, content_type="text/html", charset="utf-8", headers=policy)

    async def _metrics(self, request: web.Request) -> web.StreamResponse:
        await self.collector.fresh(FRESH_SECONDS)
        page = self._exposition.page(request.headers.get("Accept", ""))
        return web.Response(status=page.status, body=page.body, headers={"Content-Type": page.type})

    async def _healthz(self, request: web.Request) -> web.StreamResponse:
        return _told(all_stuck([self._source.facts]))

    async def _readyz(self, request: web.Request) -> web.StreamResponse:
        if self._asked is None:
            self._asked = asyncio.create_task(self.collector.in_thread(partial(unready, self._source)))
            self._asked.add_done_callback(self._answered)
        asked = self._asked
        done, _ = await asyncio.wait({asked}, timeout=READY_SECONDS)
        if not done:
            return _told([f"the folder has not answered for {READY_SECONDS:.0f} s"])
        collector, wrong = self.collector, [*any_unready([self._source.facts]), *asked.result()]
        known = [] if collector.now is None else collector.now.problems
        return _told(wrong or ([collector.trouble] if collector.trouble else known))

    def _answered(self, asked: asyncio.Task[list[str]]) -> None:
        self._asked = None

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if self.collector.watchers >= WATCHERS_MAX:
            return _text(503, [f"{WATCHERS_MAX} pages are open: close one"], {"Retry-After": "10"})
        response = web.StreamResponse(headers={**_SAFE, "Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
        with self.collector.watching():
            await response.prepare(request)
            await self.collector.fresh(FRESH_SECONDS)
            try:
                await self._tell(response)
            except (ConnectionError, TimeoutError):
                # It went away, or takes nothing: its matter. It may come again.
                if request.transport is not None:
                    request.transport.abort()
        return response

    async def _tell(self, response: web.StreamResponse) -> None:
        """What is new, until the end. Nothing waits for a slow client: it is sent what is newest by then."""
        collector, sent, step = self.collector, -1, -1
        while not collector.stopped:
            if collector.version != sent:
                sent = collector.version
                await _send(response, "status", self.shown())
                if step != (step := step_of(self._wall())):
                    await _send(response, "history", [msgspec.to_builtins(each) for each in collector.past()])
            else:
                await _send(response, "beat", {})
            await collector.news(sent, BEAT_SECONDS)


def _guarded(handler: Handler) -> Handler:
    @wraps(handler)
    async def guarded(request: web.Request) -> web.StreamResponse:
        local = request.transport.get_extra_info("sockname") if request.transport is not None else None
        address = local[0] if isinstance(local, tuple) else None
        if not asked_rightly(request.headers.get("Host"), address):
            return _text(403, ["on loopback this is asked for as localhost, or by its address"])
        response = await handler(request)
        if not response.prepared:
            response.headers.update(_SAFE)
        return response

    return guarded


async def _send(response: web.StreamResponse, event: str, value: object) -> None:
    # Not msgspec's encoder: a path may hold bytes that are no text, which JSON can have escaped.
    data = json.dumps(value, separators=(",", ":"))
    await asyncio.wait_for(response.write(f"event: {event}\ndata: {data}\n\n".encode()), CLIENT_SECONDS)


def _told(wrong: list[str]) -> web.Response:
    return _text(503, wrong) if wrong else _text(200, ["ok"])


def _text(status: int, lines: list[str], headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=status, text="".join(f"{line}\n" for line in lines), headers=headers)
