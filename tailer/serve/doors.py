"""What lets clients in at an address: each gets a connection that waits for nobody for long. Knows no request."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import AsyncExitStack

from aiohttp import web

from tailer.serve.connections import Connection, Gate
from tailer.serve.handshakes import Handshake, Handshakes, keep_small
from tailer.serve.listening import BACKLOG
from tailer.serve.options import Bounds


class Doors:
    """To one application. `gate`: who is inside; `stamp`: see `Connection`."""

    def __init__(self, gate: Gate, stamp: Callable[[web.StreamResponse], None], bounds: Bounds) -> None:
        self._gate = gate
        self._stamp = stamp
        self._bounds = bounds

    async def open(
        self, app: web.Application, listening: socket.socket, ends: AsyncExitStack, tls: ssl.SSLContext | None = None
    ) -> asyncio.Server:
        """Clients are let in from now on. What was begun with the application ends with `ends`."""
        bounds = self._bounds
        runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=bounds.stop_seconds)
        ends.push_async_callback(runner.cleanup)
        await runner.setup()
        server = runner.server
        assert server is not None

        def connection() -> Connection:
            return Connection(server, self._gate, self._stamp, bounds.header_seconds, bounds.idle_seconds)

        made = await asyncio.get_running_loop().create_server(
            connection if tls is None else self._secured(tls, connection, ends),
            sock=listening,
            # So many are let in at once by asyncio, which does not break off where there are no more descriptors.
            backlog=1,
        )
        listening.listen(BACKLOG)
        return made

    def _secured(
        self, tls: ssl.SSLContext, connection: Callable[[], Connection], ends: AsyncExitStack
    ) -> Callable[[], Handshake]:
        bounds, gate = self._bounds, self._gate
        under_way = Handshakes(tls, gate, bounds.handshake_seconds, bounds.stop_seconds)
        ends.push_async_callback(under_way.end)
        keep_small()
        return lambda: Handshake(under_way, connection)
