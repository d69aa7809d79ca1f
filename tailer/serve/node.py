"""One node that serves its log, begun and ended. For one event loop."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Final

from aiohttp import web

from tailer.node_page.look import StatusSource
from tailer.node_page.routes import add_status
from tailer.serve.app import Interface
from tailer.serve.connections import begun
from tailer.serve.doors import Doors
from tailer.serve.facts import Facts
from tailer.serve.listening import address_of, bound
from tailer.serve.options import ServeOptions
from tailer.serve.parts import Clock, Parts, open_state, parts_of
from tailer.serve.rare_lines import Say
from tailer.serve.threads import Disk
from tailer.state.log_folder import log_state
from tailer.state.modes import make_folder

SWEEP_SECONDS: Final = 5.0
"""How long the lock of a name whose lease has ended is held at most."""

STATUS_STOP_SECONDS: Final = 1.0


class Node:
    """`clock`: of leases, `wall`: seconds since the epoch."""

    def __init__(self, options: ServeOptions, say: Say, clock: Clock = time.monotonic, wall: Clock = time.time) -> None:
        self.options = options
        self.address = options.listen
        self.status_address = options.status
        self.parts: Parts | None = None
        self._say = say
        self._clock = clock
        self._wall = wall
        self._ends = AsyncExitStack()

    async def begin(self) -> None:
        """Answers from now on. UsageError where the folder is none; raises `cannot_listen`. Nothing is made then."""
        try:
            await self._begin()
        except BaseException:
            await self.end()
            raise

    async def end(self) -> None:
        """Who waits is answered, what is sent may end, everybody else is cut off."""
        await self._ends.aclose()

    async def sweep(self) -> None:
        """Locks of names whose lease has ended are let go, and clients who are stuck."""
        assert self.parts is not None
        for gate in (self.parts.gate, self.parts.status_gate):
            gate.sweep()
        for name in self.parts.leases.ended():
            async with self.parts.names.one(name):
                await self.parts.disk.run(self.parts.leases.let_go, name)

    async def _begin(self) -> None:
        options, disk = self.options, Disk()
        # The last to end: what was begun in a thread is done by then.
        self._ends.callback(disk.close)
        state = await disk.run(log_state, options.folder)
        listening = bound(options.listen)
        self._ends.callback(listening.close)
        self.address = address_of(listening, options.listen)
        status = None if options.status is None else bound(options.status)
        if status is not None:
            self._ends.callback(status.close)
        await disk.run(make_folder, state)
        opened = await disk.run(open_state, state)
        self.parts = parts_of(options, self.address, opened, disk, self._clock, self._wall)
        self._ends.push_async_callback(self._close, self.parts)
        await self._answer(self.parts, listening)
        if options.status is not None and status is not None:
            self.status_address = address_of(status, options.status)
            await self._answer_for_status(self.parts, status)
        sweeping = asyncio.create_task(self._sweep_often())
        self._ends.push_async_callback(_cancelled, sweeping)

    async def _answer(self, parts: Parts, listening: socket.socket) -> None:
        interface, tls = Interface(parts, self._say), self.options.tls
        doors = Doors(parts.gate, interface.stamp, self.options.bounds)
        made = await doors.open(interface.application(), listening, self._ends, tls)
        self._ends.callback(self._stop, parts, made)

    async def _answer_for_status(self, parts: Parts, listening: socket.socket) -> None:
        app, options = web.Application(middlewares=[begun]), self.options
        facts = Facts(parts.counts.now)
        add_status(app, StatusSource(options.folder, options.reading.node, cap=options.cap, facts=facts))
        doors = Doors(parts.status_gate, _unstamped, replace(options.bounds, stop_seconds=STATUS_STOP_SECONDS))
        made = await doors.open(app, listening, self._ends)
        self._ends.callback(made.close)

    @staticmethod
    def _stop(parts: Parts, server: asyncio.Server) -> None:
        """Nobody new is let in, and nobody waits any more: then the rest may end."""
        server.close()
        parts.listing.end()
        parts.reading.end()

    @staticmethod
    async def _close(parts: Parts) -> None:
        await parts.listing.close()
        await parts.disk.read(parts.reading.close)
        await parts.disk.run(parts.leases.close)

    async def _sweep_often(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.sweep()


def _unstamped(response: web.StreamResponse) -> None:
    """The page's own answers have all that they need."""


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
