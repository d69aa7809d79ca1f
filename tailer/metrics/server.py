"""A small HTTP server in a thread of its own: pages for monitoring. Knows no metric.

Whoever asks slowly holds up himself alone: each has a thread, a few at once, and little time.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Final, NamedTuple

from tailer.options.listen import Listen, cannot_listen

CLIENTS_MAX: Final = 16
"""Whoever comes beyond is sent away."""

CLIENT_SECONDS: Final = 10.0
"""From being let in to having the page."""

_TEXT: Final = "text/plain; charset=utf-8"
_TURN_SECONDS: Final = 1.0


class Page(NamedTuple):
    """What is answered."""

    status: int
    type: str
    body: bytes


Pages = Mapping[str, Callable[[str], Page]]
"""By path; called with what the client accepts, by any thread."""


def text(status: int, *lines: str) -> Page:
    """A page of a few lines."""
    return Page(status, _TEXT, "".join(f"{line}\n" for line in lines).encode())


class Server:
    """Answers from when it is made until `close`. Raises `cannot_listen`."""

    def __init__(self, listen: Listen, pages: Pages, clients_max: int = CLIENTS_MAX) -> None:
        with ExitStack() as undo:
            self._server = _bound(listen, pages, clients_max)
            undo.callback(self._server.server_close)
            host, port = self._server.server_address[:2]
            self.address = Listen(str(host), int(port))
            self._ended, self._end = socket.socketpair()
            undo.callback(self._ended.close)
            undo.callback(self._end.close)
            self._thread = threading.Thread(target=self._run, name="cdc-tail-metrics", daemon=True)
            self._thread.start()
            undo.pop_all()

    @property
    def clients(self) -> int:
        """How many are let in and not yet gone."""
        return self._server.clients

    def close(self) -> None:
        """Answers nobody any more."""
        # Not by closing its end alone: a forked child may hold it too.
        self._end.send(b"end")
        self._thread.join()
        for each in (self._end, self._ended):
            each.close()
        self._server.server_close()

    def forget(self) -> None:
        """This is a forked child: the thread is the parent's, and so is the port."""
        for each in (self._server.socket, self._end, self._ended):
            each.close()

    def _run(self) -> None:
        # Not `serve_forever`: that one is asked whether to end between two turns only, and a run would wait for it.
        with selectors.DefaultSelector() as selector:
            for each in (self._server, self._ended):
                selector.register(each, selectors.EVENT_READ)
            while not any(key.fileobj is self._ended for key, _ in selector.select(_TURN_SECONDS)):
                self._server.handle_request()
                self._server.cut_off()


def _bound(listen: Listen, pages: Pages, clients_max: int) -> _Server:
    try:
        found = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return _Server(family, address, pages, clients_max)
    except (OSError, UnicodeError, OverflowError) as error:
        raise cannot_listen(listen, error, " for metrics") from error


class _Server(ThreadingMixIn, TCPServer):
    daemon_threads = True
    allow_reuse_address = True
    timeout = 0.0
    """`handle_request` lets somebody in who is there, and waits for nobody."""

    def __init__(self, family: int, address: Any, pages: Pages, clients_max: int) -> None:
        self.address_family = family
        self.pages = pages
        self._clients_max = clients_max
        self._clients: dict[Any, float] = {}
        super().__init__(address, _Handler)

    @property
    def clients(self) -> int:
        return len(self._clients)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.clients >= self._clients_max:
            self.shutdown_request(request)
            return
        self._clients[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._clients.pop(request, None)
        super().shutdown_request(request)

    def cut_off(self) -> None:
        """Whoever has taken too long, in whatever his thread waits. Called each second at least."""
        limit = time.monotonic() - CLIENT_SECONDS
        for request, since in list(self._clients.items()):
            if since < limit:
                # He may have gone by himself meanwhile.
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away, or was cut off: his matter. What fails in making a page is answered (`_Handler`)."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "cdc-tail"
    sys_version = ""

    def do_GET(self) -> None:
        make = self.server.pages.get(self.path.partition("?")[0])
        if make is None:
            page = text(404, f"There are: {', '.join(self.server.pages)}")
        else:
            try:
                page = make(self.headers.get("Accept", ""))
            except Exception as error:
                page = text(500, f"this is a bug in cdc-tail: {type(error).__name__}: {error}")
        self.send_response(page.status)
        self.send_header("Content-Type", page.type)
        self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        self.wfile.write(page.body)

    def log_message(self, format: str, *values: Any) -> None:
        """Nobody wants a line for each scrape."""
