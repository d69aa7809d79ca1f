"""What may lie between a reader and its node: a link that cuts answers, is slow, hangs; or an odd server instead."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

LOCAL = "127.0.0.1"


class FaultyLink:
    """In front of a port of this machine. What it does to answers can be changed at any time.

    `cut_at`: the next answer ends behind so many bytes, and the connection with it: once. `resets`: by a reset then.
    `pause`: seconds before each `piece` bytes of an answer. `hangs`: nothing of any answer comes any more.
    """

    def __init__(self, target: int) -> None:
        self.cut_at: int | None = None
        self.resets = False
        self.pause, self.piece = 0.0, 65536
        self.hangs = False
        self.connections = 0
        self._target = target
        self._listener = socket.create_server((LOCAL, 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: list[socket.socket] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()
        self._threads: list[threading.Thread] = []

    @property
    def url(self) -> str:
        return f"http://{LOCAL}:{self.port}"

    def close(self) -> None:
        self.hangs = False
        end(self._listener)
        self._accepting.join()
        for each in self._open:
            end(each)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                server = socket.create_connection((LOCAL, self._target))
                self._open += [client, server]
                for work in (lambda c=client, s=server: self._forth(c, s), lambda c=client, s=server: self._back(s, c)):
                    self._threads.append(threading.Thread(target=work))
                    self._threads[-1].start()

    def _forth(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
        end(server)

    def _back(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(self.piece):
                while self.hangs:
                    time.sleep(0.01)
                if self.pause:
                    time.sleep(self.pause)
                if self.cut_at is not None:
                    if self.cut_at <= len(data):
                        data, self.cut_at = data[: self.cut_at], None
                        client.sendall(data)
                        break
                    self.cut_at -= len(data)
                client.sendall(data)
        if self.resets:
            reset(client)
        end(client)
        end(server)


@contextmanager
def faulty_link(target: int) -> Iterator[FaultyLink]:
    link = FaultyLink(target)
    try:
        yield link
    finally:
        link.close()


class OddServer:
    """Answers each connection's first request by the bytes of `answer`, and closes. `asked`: what came."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self.asked: list[bytes] = []
        self._answer = answer
        self._listener = socket.create_server((LOCAL, 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://{LOCAL}:{self.port}"

    def close(self) -> None:
        end(self._listener)
        self._thread.join()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                with client:
                    client.settimeout(10)
                    with contextlib.suppress(OSError):
                        self.asked.append(client.recv(65536))
                        client.sendall(self._answer(self.asked[-1]))


@contextmanager
def odd_server(answer: bytes | Callable[[bytes], bytes]) -> Iterator[OddServer]:
    server = OddServer(answer if callable(answer) else lambda asked: answer)
    try:
        yield server
    finally:
        server.close()


def http(body: bytes, status: str = "200 OK", headers: Sequence[str] = ()) -> bytes:
    """An answer as it is on the line."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def reset(connection: socket.socket) -> None:
    """Closing it sends a reset."""
    with contextlib.suppress(OSError):
        # Whoever receives on it would keep it open.
        connection.shutdown(socket.SHUT_RD)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        connection.close()


def end(connection: socket.socket) -> None:
    """Whoever waits for it is woken."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
