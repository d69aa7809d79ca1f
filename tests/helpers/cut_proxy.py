"""A TCP proxy that cuts a connection at a moment that a test chooses: when a client's bytes hold certain ones; or lets
nobody through for a while; or lets the server's bytes through slowly.

`after`: the server has had them, and has answered; its answer is not handed on. `late`: the client's connection is cut
first, and the server has them some time later.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Literal

When = Literal["after", "late"]

PIECES_A_SECOND = 20
"""In which what is slowed down goes on."""


class CutProxy:
    """In front of a port of `host`, an address of this machine; listens there on `port`. Cuts nothing until `arm`.

    `rate`: bytes a second from the server to each client, to be changed at any time; None is as fast as it goes.
    `forth` and `back`: what becomes of bytes of a client and of the server on their way.
    """

    def __init__(self, target: int, host: str = "127.0.0.1") -> None:
        self._target = (host, target)
        self._listener = socket.create_server((host, 0))
        self.port = int(self._listener.getsockname()[1])
        self.cuts = 0
        self.rate: float | None = None
        self.forth: Callable[[bytes], bytes] = bytes
        self.back: Callable[[bytes], bytes] = bytes
        self._armed: tuple[bytes, When, float] | None = None
        self._skip = 0
        self._clients: list[socket.socket] = []
        self._listen()

    def arm(self, needle: bytes, when: When, *, seconds: float = 0.0, skip: int = 0) -> None:
        """Cut once, where `needle` comes by, after `skip` times. `seconds`: how much later the server has it."""
        self._skip, self._armed = skip, (needle, when, seconds)

    def close(self) -> None:
        """Connections are refused, and those that there are end."""
        # A thread that waits for one is not woken by closing alone.
        _end(self._listener)
        for client in self._clients:
            _end(client)
        self._clients.clear()

    def reopen(self) -> None:
        """On the same port."""
        self._listener = socket.create_server((self._target[0], self.port))
        self._listen()

    def _listen(self) -> None:
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                self._clients.append(client)
                server = socket.create_connection(self._target)
                threading.Thread(target=self._forth, args=(client, server), daemon=True).start()
                threading.Thread(target=self._back, args=(server, client), daemon=True).start()

    def _forth(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                armed = self._armed
                if armed is not None and armed[0] in data:
                    if self._skip == 0:
                        self._cut(client, server, data, armed)
                        return
                    self._skip -= 1
                server.sendall(self.forth(data))
        _end(server)

    def _cut(self, client: socket.socket, server: socket.socket, data: bytes, armed: tuple[bytes, When, float]) -> None:
        self._armed = None
        self.cuts += 1
        _, when, seconds = armed
        if when == "late":
            _end(client)
            time.sleep(seconds)
            server.sendall(data)
            time.sleep(1.0)
        else:
            # What the server answers goes nowhere: the thread that would bring it finds the client gone.
            client.shutdown(socket.SHUT_RDWR)
            server.sendall(data)
            time.sleep(0.3)
            _end(client)
        _end(server)

    def _back(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                data = self.back(data)
                while data:
                    data = self._handed_on(client, data)
        _end(client)

    def _handed_on(self, client: socket.socket, data: bytes) -> bytes:
        """Sends what may go now; the rest."""
        rate = self.rate
        if rate is None:
            client.sendall(data)
            return b""
        piece = max(1, int(rate / PIECES_A_SECOND))
        client.sendall(data[:piece])
        time.sleep(len(data[:piece]) / rate)
        return data[piece:]


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
