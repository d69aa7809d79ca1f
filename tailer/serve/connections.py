"""Connections of clients, and how long each may take: to ask, between two requests; and how many there may be at once.

What a request is about is nothing to this module.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

from aiohttp import web

from tailer.limits import KIB
from tailer.serve.problems import refused
from tailer.wire import words
from tailer.wire.state import Problem, encode

HEADER_SECONDS: Final = 10.0
"""From being let in to having asked for something."""

IDLE_SECONDS: Final = 75.0
"""Between two requests, from the answer to the first one to the whole head of the next one."""

LINGER_SECONDS: Final = 2.0
"""How long a body is taken that nobody wants."""

CONNECTIONS_MAX: Final = 4096

_OWN_FILES: Final = 128
"""For everything but connections: the state, locks of consumers' names, the loop."""

LEAST_BYTES: Final = 1 * KIB
"""A second, which a client takes at least of what it asked for."""

_FULL: Final = encode(Problem(words.FAILED, "the node has as many connections as it takes", after=1.0))
_TURNED_AWAY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(_FULL), _FULL)
)

_SILENT: Final = logging.Logger("cdc-tail")
_SILENT.addHandler(logging.NullHandler())


def room_for(files: int) -> int:
    """How many connections a process lets in that may have so many files open: each may have one that is sent."""
    return max(1, (files - _OWN_FILES) // 2)


class Gate:
    """Knows who is inside: `most` at once. `seconds`: over how long a client's rate is measured."""

    def __init__(self, most: int, seconds: float) -> None:
        self.most = most
        self._seconds = seconds
        self._connections: set[Connection] = set()

    @property
    def inside(self) -> int:
        """How many."""
        return len(self._connections)

    def enter(self, connection: Connection) -> bool:
        """Whether there is room."""
        if self.inside >= self.most:
            return False
        self._connections.add(connection)
        return True

    def leave(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def sweep(self) -> None:
        """Who takes too little, or does not let go of a connection that is closed, is ended. Asked now and then."""
        now = asyncio.get_running_loop().time()
        for each in list(self._connections):
            each.end_stuck(now, self._seconds)


@web.middleware
async def begun(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> Any:
    """The first of an application: whose request is whole has been fast enough."""
    if isinstance(request.protocol, Connection):
        request.protocol.begun()
    return await handler(request)


class Connection(web.RequestHandler):
    """One client's. `begun` is called when its first request is whole; `stamp` with each answer that is made here."""

    def __init__(
        self,
        server: web.Server,
        gate: Gate,
        stamp: Callable[[web.StreamResponse], None],
        header_seconds: float,
        idle_seconds: float,
    ) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=idle_seconds,
            access_log=cast(Any, None),
            logger=_SILENT,
            lingering_time=LINGER_SECONDS,
            # What is compressed may be large: nobody needs it here.
            auto_decompress=False,
        )
        self._gate = gate
        self._stamp = stamp
        self._header_seconds = header_seconds
        self._inside = False
        self._deadline: asyncio.TimerHandle | None = None
        self._raw: asyncio.Transport | None = None
        self._stuck: tuple[float, int] | None = None
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def gone(self) -> asyncio.Future[None]:
        """Done once the client is gone."""
        return self._gone

    def begun(self) -> None:
        """The head of a request has come."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        raw = cast(asyncio.Transport, transport)
        if not self._gate.enter(self):
            raw.write(_TURNED_AWAY)
            raw.close()
            return
        self._inside, self._raw = True, raw
        self._deadline = asyncio.get_running_loop().call_later(self._header_seconds, raw.abort)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._inside:
            super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._inside:
            self._inside = False
            self._gone.set_result(None)
            self._gate.leave(self)
            self.begun()
            super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """What cannot be parsed as a request, or went wrong on the way."""
        if request.writer.output_size > 0:
            raise ConnectionError("an answer that was begun cannot be another one any more")
        self.begun()
        found = None if message is None else message[:200]
        problem = refused("the request is not understood", status=status, found=found)
        response = web.Response(status=status, body=encode(problem.problem), content_type="application/json")
        self._stamp(response)
        response.force_close()
        return response

    def end_stuck(self, now: float, seconds: float) -> None:
        """Ended, if of what waits to be sent less than LEAST_BYTES a second were taken for so long, or it is closed and
        the client stays."""
        assert self._raw is not None
        left, closing = self._raw.get_write_buffer_size(), self._raw.is_closing()
        if not left and not closing:
            self._stuck = None
            return
        since, most = self._stuck or (now, left)
        # Another answer may have come to what waits: that is no reason to wait longer.
        self._stuck = since, max(most, left)
        if now - since >= seconds:
            if most - left < LEAST_BYTES * (now - since):
                self._raw.abort()
            self._stuck = now, left
