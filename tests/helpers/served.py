"""A node of a test that serves a log folder: in a thread of this process, with a loop of its own.

with served(folder) as node:
    answer = node.ask("GET", "/api/v1/cdc/segments")
"""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tailer.options.listen import LOCAL, Listen
from tailer.options.tail import TailOptions
from tailer.serve.clients import Client, Clients
from tailer.serve.counts import ServedNow
from tailer.serve.node import Node
from tailer.serve.options import Bounds, ServeOptions
from tailer.serve.own_reading import READING

T = TypeVar("T")

OPEN = Clients({}, open=True)
TOKEN = "a-token-that-is-long-enough"
BASE = "/api/v1/cdc"


def token_of(client: Client, token: str = TOKEN) -> Clients:
    """One client, who shows a token."""
    return Clients({}, [(token.encode(), client)])


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The word of an answer of 400 and more."""
        word: str = self.json["error"]
        return word


class ServedNode:
    """`said`: the lines for who looks after it. Its loop runs until `stop`."""

    def __init__(self, options: ServeOptions, clock: Callable[[], float], wall: Callable[[], float]) -> None:
        self.said: list[str] = []
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="served")
        self._thread.start()
        self.faults: list[Mapping[str, Any]] = []
        self.loop.call_soon_threadsafe(self.loop.set_exception_handler, lambda loop, told: self.faults.append(told))
        self.node = Node(options, self.said.append, clock, wall)
        self._secure = options.tls is not None
        self._stopped = False
        try:
            self.run(self.node.begin())
        except BaseException:
            self._end_loop()
            raise

    @property
    def port(self) -> int:
        return self.node.address.port

    @property
    def url(self) -> str:
        return f"{'https' if self._secure else 'http'}://{LOCAL}:{self.port}"

    @property
    def counted(self) -> ServedNow:
        """What it has served by now."""
        assert self.node.parts is not None
        return self.node.parts.counts.now()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """In the node's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        context: ssl.SSLContext | None = None,
        token: str | None = None,
    ) -> Answer:
        """One request on a connection of its own. `path`: below the interface's base, if it begins there."""
        connection = (
            http.client.HTTPConnection(LOCAL, self.port, timeout=60)
            if context is None
            else http.client.HTTPSConnection(LOCAL, self.port, timeout=60, context=context)
        )
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        shown = {"Authorization": f"Bearer {token}"} if token is not None else {}
        with closing(connection):
            connection.request(
                method, path if path.startswith("/api") else BASE + path, data, {**shown, **(headers or {})}
            )
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())

    def raw(self, data: bytes = b"") -> socket.socket:
        """A connection on which these bytes were sent."""
        found = socket.create_connection((LOCAL, self.port), timeout=60)
        if data:
            found.sendall(data)
        return found

    def said_raw(self, data: bytes) -> bytes:
        """Everything that comes for these bytes, until the node closes."""
        with self.raw(data) as connection:
            return read_all(connection)

    def stop(self) -> None:
        """As SIGTERM does."""
        if not self._stopped:
            self._stopped = True
            try:
                self.run(self.node.end())
            finally:
                self._end_loop()

    def _end_loop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


def read_all(connection: socket.socket) -> bytes:
    """Until the other side closes, in whatever way."""
    found = b""
    while True:
        try:
            data = connection.recv(1 << 20)
        except ConnectionResetError:
            return found
        if not data:
            return found
        found += data


@contextmanager
def served(
    folder: Path,
    *,
    clients: Clients = OPEN,
    tls: ssl.SSLContext | None = None,
    rate: int | None = None,
    bounds: Bounds | None = None,
    port: int = 0,
    clock: Callable[[], float] = time.monotonic,
    wall: Callable[[], float] = time.time,
    reading: TailOptions | None = None,
    status: Listen | None = None,
    host_names: tuple[str, ...] = (),
) -> Iterator[ServedNode]:
    """A node that serves the folder as long as the block lasts; nothing went wrong in its loop unheard."""
    options = ServeOptions(
        folder,
        Listen(LOCAL, port),
        clients,
        tls,
        status,
        host_names,
        rate,
        None,
        reading or TailOptions(**READING),
        bounds or Bounds(stop_seconds=1.0),
    )
    node = ServedNode(options, clock, wall)
    try:
        yield node
    finally:
        node.stop()
    assert node.faults == []
