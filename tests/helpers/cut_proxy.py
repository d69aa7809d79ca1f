"""A TCP proxy that cuts a connection at a moment that a test chooses: when a client's bytes hold certain ones.

`after`: the server has had them, and has answered; its answer is not handed on. `late`: the client's connection is cut
first, and the server has them some time later.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Literal

When = Literal["after", "late"]


class CutProxy:
    """In front of a port of this machine; listens on `port`. Cuts nothing until `arm`."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.cuts = 0
        self._armed: tuple[bytes, When, float] | None = None
        self._skip = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, needle: bytes, when: When, *, seconds: float = 0.0, skip: int = 0) -> None:
        """Cut once, where `needle` comes by, after `skip` times. `seconds`: how much later the server has it."""
        self._skip, self._armed = skip, (needle, when, seconds)

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
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
                server.sendall(data)
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
                client.sendall(data)
        _end(client)


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
