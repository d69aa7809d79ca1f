"""What lets clients in at an address: each gets a connection that waits for nobody for long. Knows no request."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import AsyncExitStack

from aiohttp import web

from tailer.serve.connections import Connection, Gate
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
        made = await asyncio.get_running_loop().create_server(
            lambda: Connection(server, self._gate, self._stamp, bounds.header_seconds, bounds.idle_seconds),
            sock=listening,
            # So many are let in at once by asyncio, which does not break off where there are no more descriptors.
            backlog=1,
            ssl=tls,
            ssl_handshake_timeout=None if tls is None else bounds.handshake_seconds,
            ssl_shutdown_timeout=None if tls is None else bounds.stop_seconds,
        )
        listening.listen(BACKLOG)
        return made
