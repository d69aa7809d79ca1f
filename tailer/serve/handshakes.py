"""Clients in their TLS handshake: each counts from the moment it connects. Knows no request."""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable
from typing import Final, cast

from tailer.limits import KIB
from tailer.serve.connections import Gate

READ_BYTES: Final = 16 * KIB
"""Room for what a client sends, in each connection: a record of TLS. asyncio takes 256 KiB, and has no argument for it:
1 GiB for 4,096 clients, who only ask."""

SPARE: Final = 64
"""So many handshakes are taken beyond the connections that there may be, so that these clients are told 503."""


def keep_small() -> None:
    """Each connection with TLS of this process keeps `READ_BYTES` from here on."""
    SSLProtocol.max_size = READ_BYTES


class Handshakes:
    """Those under way. `gate`: of the connections they become; `seconds` for each; `stop_seconds` to close TLS."""

    def __init__(self, context: ssl.SSLContext, gate: Gate, seconds: float, stop_seconds: float) -> None:
        self.context, self.seconds, self.stop_seconds = context, seconds, stop_seconds
        self._gate = gate
        self._under_way: set[asyncio.Task[None]] = set()

    def has_room(self) -> bool:
        return self._gate.inside + len(self._under_way) < self._gate.most + SPARE

    def begin(self, task: asyncio.Task[None]) -> None:
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def end(self) -> None:
        """End all of them."""
        tasks = list(self._under_way)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Handshake(asyncio.Protocol):
    """One client's. `behind`: what takes the connection once it is secure."""

    def __init__(self, all_of_them: Handshakes, behind: Callable[[], asyncio.Protocol]) -> None:
        self._all, self._behind = all_of_them, behind
        self._early = b""
        self._is_over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        raw = cast(asyncio.Transport, transport)
        if not self._all.has_room():
            raw.abort()
            return
        # What the client says first is for TLS.
        raw.pause_reading()
        self._all.begin(asyncio.get_running_loop().create_task(self._shake(raw)))

    async def _shake(self, raw: asyncio.Transport) -> None:
        try:
            secure = await asyncio.get_running_loop().start_tls(
                raw,
                self,
                self._all.context,
                server_side=True,
                ssl_handshake_timeout=self._all.seconds,
                ssl_shutdown_timeout=self._all.stop_seconds,
            )
        except OSError:
            # The client knows why; whoever scans the network fills no log.
            return
        assert secure is not None, "None comes of closed event loops alone"
        if self._is_over:
            secure.close()
            return
        protocol = self._behind()
        secure.set_protocol(protocol)
        protocol.connection_made(secure)
        if self._early:
            protocol.data_received(self._early)

    def data_received(self, data: bytes) -> None:
        """The first request may come with the end of the handshake."""
        self._early += data

    def eof_received(self) -> None:
        self._is_over = True

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over = True
