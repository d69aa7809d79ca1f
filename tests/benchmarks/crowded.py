"""What does a client of a node notice of thousands of others?

One `cdc-tail serve` on this machine, plain and with TLS. So many connections are opened as `serve` takes, less the one
that is measured: half of them wait for a list in which nothing changes, half have asked once and stay open, as clients
do between two looks. Beside them one client asks for the list again and again: how long it waits for each answer, how
long opening the others took it, what `serve` takes of memory and, while nobody asks, of processor. And that whoever
comes beyond is told so.

    python -m tests.benchmarks.crowded FOLDER --connections 0 1000 4095 --keep
"""

from __future__ import annotations

import argparse
import http.client
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tailer.serve.connections import CONNECTIONS_MAX
from tests.benchmarks.measured import percentiles
from tests.benchmarks.script import Begun, publish, script_parser
from tests.benchmarks.served import LOCAL, Serving, serving
from tests.helpers.certificate import Authority

NAME = "crowded"
QUESTION = "What does a client of a node notice of thousands of others?"
TARGETS = {"p99_ms": 50.0, "kib_a_connection": 64.0}
ASKED = 200
GAP_SECONDS = 0.02
IDLE_SECONDS = 10.0
SEGMENTS = "/api/v1/cdc/segments"


class Crowd:
    """Connections to one node, which stay open until the context ends."""

    def __init__(self, node: Serving, trusted: ssl.SSLContext | None, stack: ExitStack) -> None:
        self._port = int(node.url.rpartition(":")[2])
        self._trusted = trusted
        self._stack = stack

    def client(self) -> http.client.HTTPConnection:
        if self._trusted is None:
            made = http.client.HTTPConnection(LOCAL, self._port, timeout=60)
        else:
            made = http.client.HTTPSConnection(LOCAL, self._port, timeout=60, context=self._trusted)
        self._stack.callback(made.close)
        return made

    def open(self, count: int, etag: str) -> None:
        """Every second one waits for news; the others have their answer."""
        for number in range(count):
            words = f"{SEGMENTS}?etag={etag}&wait=70s" if number % 2 else SEGMENTS
            connection = self._socket()
            connection.sendall(f"GET {words} HTTP/1.1\r\nHost: {LOCAL}\r\n\r\n".encode())
            if number % 2 == 0:
                found = connection.recv(1 << 16)
                if not found.startswith(b"HTTP/1.1 200 "):
                    raise RuntimeError(f"connection {number}: {found[:100]!r}")

    def turned_away(self) -> bool:
        """Whether one more is told that there are as many as the node takes."""
        found = self._socket().recv(1 << 16)
        return found.startswith(b"HTTP/1.1 503 ")

    def _socket(self) -> socket.socket:
        connection = self._stack.enter_context(socket.create_connection((LOCAL, self._port), timeout=60))
        if self._trusted is None:
            return connection
        return self._stack.enter_context(self._trusted.wrap_socket(connection, server_hostname=LOCAL))


def asked(client: http.client.HTTPConnection) -> str:
    """The list, read whole; its ETag."""
    client.request("GET", SEGMENTS)
    response = client.getresponse()
    response.read()
    if response.status != 200:
        raise RuntimeError(f"the node answers {response.status}")
    return (response.headers.get("ETag") or "").strip('"')


def measure(folder: Path, connections: int, authority: Authority | None) -> dict[str, Any]:
    """Of a node with so many connections besides the one that is measured."""
    words: list[str] = []
    trusted = None
    if authority is not None:
        node = authority.issue("node", addresses=(LOCAL,))
        words = ["--cert", str(node.cert), "--key", str(node.key)]
        trusted = ssl.create_default_context(cafile=str(authority.ca))
    with ExitStack() as stack:
        served = stack.enter_context(serving(folder, *words))
        crowd = Crowd(served, trusted, stack)
        client = crowd.client()
        etag = asked(client)
        before = served.process.memory_info().rss
        began = time.perf_counter()
        crowd.open(connections, etag)
        opened = time.perf_counter() - began
        more = served.process.memory_info().rss - before
        waits = []
        for _ in range(ASKED):
            time.sleep(GAP_SECONDS)
            began = time.perf_counter()
            asked(client)
            waits.append(time.perf_counter() - began)
        cpu, began = served.cpu(), time.monotonic()
        time.sleep(IDLE_SECONDS)
        idle = 100 * (served.cpu() - cpu) / (time.monotonic() - began)
        full = crowd.turned_away() if connections == CONNECTIONS_MAX - 1 else None
    return {
        "asked_ms": percentiles(waits),
        "opening_seconds": round(opened, 2),
        "kib_a_connection": round(more / 1024 / connections, 1) if connections else 0.0,
        "idle_percent": round(idle, 2),
        "turned_away": full,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = script_parser(NAME, QUESTION)
    parser.add_argument("folder", type=Path, help="a log folder; it is read alone")
    parser.add_argument("--connections", type=int, nargs="+", default=[0, 1000, CONNECTIONS_MAX - 1])
    given: argparse.Namespace = parser.parse_args(arguments)
    begun = Begun(NAME, QUESTION, TARGETS, 1, given.folder)
    with tempfile.TemporaryDirectory() as name:
        ways = {"http": None, "https": Authority(Path(name))}
        runs = {
            way: {str(count): measure(given.folder, count, authority) for count in given.connections}
            for way, authority in ways.items()
        }
    every = [each for way in runs.values() for each in way.values()]
    met = {
        "p99_ms": max(each["asked_ms"]["p99"] for each in every) <= TARGETS["p99_ms"],
        "kib_a_connection": max(each["kib_a_connection"] for each in every) <= TARGETS["kib_a_connection"],
        "turned_away": all(each["turned_away"] is not False for each in every),
    }
    publish(begun.result(runs=runs, met=met), keep=given.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
