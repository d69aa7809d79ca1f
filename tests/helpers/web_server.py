"""A web server for tests, in a thread: keeps what it was sent, and answers what it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Request(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes


class Reply(NamedTuple):
    """What is answered. A `status` of 0: the connection is closed without a word."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


Answering = Callable[[Request], Reply]


class Server:
    """`requests`: all that came whole, in order. `answer` may be changed at any time. `port`: 0 for a free one."""

    def __init__(self, answer: Answering, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.answer = answer
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                body = self.rfile.read(length)
                if len(body) < length:
                    # Its sender was killed.
                    self.close_connection = True
                    return
                request = Request(self.path, dict(self.headers.items()), body)
                server.requests.append(request)
                reply = server.answer(request)
                if not reply.status:
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                for name, value in reply.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *arguments: object) -> None:
                """Tests look at what came, not at a log."""

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, request: object, address: object) -> None:
                """Connections of who is killed end as they may."""

        self.http = Quiet(("127.0.0.1", port), Handler)
        self.http.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}"


@contextmanager
def serving(answer: Answering = lambda request: Reply()) -> Iterator[Server]:
    server = Server(answer)
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()
