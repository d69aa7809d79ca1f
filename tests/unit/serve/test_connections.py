"""Clients that are slow, many, or send what is no request: they hold up nobody but themselves."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tailer.limits import MIB
from tailer.options.listen import LOCAL
from tailer.serve.clients import Client
from tailer.serve.connections import CONNECTIONS_MAX
from tailer.serve.options import Bounds
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table
from tests.helpers.served import BASE, OPEN, ServedNode, read_all, served, token_of

FIRST = 1_700_000_000_001
HEAD = f"GET {BASE}/records HTTP/1.1\r\nHost: localhost\r\n"
MANY = 1000


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), FIRST, 1)


@pytest.fixture
def strict(log: LogFolder) -> Iterator[ServedNode]:
    """A node that waits for nobody for long."""
    with served(log.path, bounds=Bounds(header_seconds=0.4, idle_seconds=0.6, stop_seconds=1.0)) as found:
        yield found


def answers_soon(node: ServedNode, seconds: float = 5.0) -> None:
    began = time.perf_counter()
    assert node.ask("GET", "/segments").status == 200
    assert time.perf_counter() - began < seconds


def ended_after(connection: socket.socket) -> float:
    """Seconds until the node closes a connection."""
    began = time.monotonic()
    read_all(connection)
    return time.monotonic() - began


def test_who_asks_for_nothing_is_ended(strict: ServedNode) -> None:
    with strict.raw() as silent:
        assert 0.2 < ended_after(silent) < 5


def test_who_drips_a_head_is_ended_and_others_are_served(strict: ServedNode) -> None:
    stop = threading.Event()

    def drip(connection: socket.socket) -> None:
        for letter in HEAD.encode() + b"X-Long: " + b"x" * 5000:
            if stop.wait(0.05):
                return
            try:
                connection.send(bytes([letter]))
            except OSError:
                return

    with ExitStack() as stack:
        slow = [stack.enter_context(strict.raw()) for _ in range(20)]
        threads = [threading.Thread(target=drip, args=[each]) for each in slow]
        for thread in threads:
            thread.start()
        answers_soon(strict)
        for each in slow:
            assert ended_after(each) < 5
        stop.set()
        for thread in threads:
            thread.join()
    answers_soon(strict)


def test_who_drips_a_body_is_told_so(node: ServedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.serve.asked.BODY_SECONDS", 0.3)
    head = f"PUT {BASE}/consumers/c HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{{"
    with node.raw(head.encode()) as slow:
        answers_soon(node)
        began = time.monotonic()
        found = read_all(slow)
        assert time.monotonic() - began < 5
    assert found.startswith(b"HTTP/1.1 408 ")
    assert json.loads(found.partition(b"\r\n\r\n")[2])["error"] == "refused"


def test_who_drips_the_head_of_a_second_request_is_ended(strict: ServedNode) -> None:
    with strict.raw(f"{HEAD}\r\n".encode()) as kept:
        assert kept.recv(1 << 20).startswith(b"HTTP/1.1 200 ")
        kept.sendall(HEAD[:20].encode())
        assert ended_after(kept) < 5


def test_who_waits_for_a_list_is_no_slow_client(strict: ServedNode) -> None:
    etag = strict.ask("GET", "/segments").json["etag"]
    answer = strict.ask("GET", f"/segments?etag={etag}&wait=1.5s")
    assert answer.status == 304


def test_a_body_is_not_longer_than_a_mebibyte(node: ServedNode) -> None:
    for length in (MIB + 1, 10**12):
        head = f"POST {BASE}/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
        with node.raw(head.encode()) as asked:
            assert asked.recv(1 << 16).startswith(b"HTTP/1.1 413 ")
    chunks = b"10000\r\n" + b" " * 65536 + b"\r\n"
    head = f"POST {BASE}/records HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with node.raw(head.encode()) as asked:
        for _ in range(17):
            asked.sendall(chunks)
        assert asked.recv(1 << 16).startswith(b"HTTP/1.1 413 ")
    assert node.ask("POST", "/records", b" " * (MIB - 10)).status == 400


def test_a_body_that_is_compressed_is_not_opened(node: ServedNode) -> None:
    import zlib

    bomb = zlib.compress(b" " * 50 * MIB, 9)
    assert len(bomb) < MIB
    answer = node.ask("POST", "/records", bomb, {"Content-Encoding": "deflate"})
    assert (answer.status, answer.error) == (400, "refused")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"reader": 5}',
        b'{"reader": ""}',
        b'{"reader": "a\\nb"}',
        b'{"reader": "%s"}' % (b"x" * 200),
        b'{"reader": "r", "version": 1e99}',
        b'{"reader": "r", "version": 1, "file": {"name": "c", "nodes": {"n": {}}}}',
    ],
)
def test_bodies_that_are_none_are_refused(body: bytes, node: ServedNode) -> None:
    answer = node.ask("PUT", "/consumers/c", body)
    assert (answer.status, answer.error) == (400, "refused")


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        HEAD.encode() + b"X: a\r\n b\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        HEAD.encode() + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD.encode() + b"Bad Name: x\r\n\r\n",
        HEAD.encode() + b"X: \x00\r\n\r\n",
        HEAD.encode() + b"X: " + b"x" * 100_000 + b"\r\n\r\n",
        HEAD.encode() + b"".join(b"X-%d: x\r\n" % number for number in range(5000)) + b"\r\n",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_what_is_no_request_is_told_so_and_ended(sent: bytes, node: ServedNode) -> None:
    with node.raw() as asked:
        try:
            asked.sendall(sent)
            asked.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        found = read_all(asked)
    assert found == b"" or b" 400 Bad Request" in found[:40]
    answers_soon(node)


def test_an_upgrade_is_not_spoken(node: ServedNode) -> None:
    more = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n"
    with node.raw((HEAD + more).encode()) as asked:
        assert asked.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


def test_thousands_of_requests_in_a_row_are_answered_in_a_row(node: ServedNode) -> None:
    with node.raw() as asked:
        sending = threading.Thread(target=asked.sendall, args=[f"{HEAD}Connection: keep-alive\r\n\r\n".encode() * 2000])
        sending.start()
        answers_soon(node)
        found = b""
        while found.count(b"HTTP/1.1 200 OK") < 2000:
            data = asked.recv(1 << 20)
            assert data
            found += data
        sending.join()


@pytest.mark.parametrize("more", ["", "Authorization: Bearer wrong\r\n"])
def test_who_asks_and_takes_nothing_is_ended(more: str, log: LogFolder) -> None:
    known = token_of(Client("reader")) if more else OPEN
    with (
        served(log.path, clients=known, bounds=Bounds(piece_seconds=0.3, stop_seconds=1.0)) as node,
        socket.socket() as asked,
    ):
        # Little room on the way, so that little is asked for.
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        asked.connect((LOCAL, node.port))
        asked.settimeout(0.2)
        with contextlib.suppress(OSError):
            for _ in range(20_000):
                asked.sendall(f"{HEAD}{more}\r\n".encode() * 10)
        assert node.counted.connections == 1
        until = time.monotonic() + 60
        while node.counted.connections:
            assert time.monotonic() < until
            node.run(node.node.sweep())
            time.sleep(0.1)


def test_who_takes_a_byte_now_and_then_is_ended(log: LogFolder) -> None:
    """Of an answer that is longer than the way has room for, so that it waits in the node."""
    for number in range(20_000):
        (log.path / f"CommitLog-7-{FIRST + 1000 + number}.log").touch()
    with served(log.path, bounds=Bounds(piece_seconds=0.5, stop_seconds=1.0)) as node, socket.socket() as asked:
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        asked.connect((LOCAL, node.port))
        asked.settimeout(10)
        asked.sendall(f"GET {BASE}/segments HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        until = time.monotonic() + 60
        taken = 0
        while node.counted.connections:
            assert time.monotonic() < until
            with contextlib.suppress(ConnectionError):
                taken += len(asked.recv(1))
            node.run(node.node.sweep())
            time.sleep(0.05)
        assert taken < 1000


def test_who_takes_slowly_is_not_ended(log: LogFolder) -> None:
    for number in range(2000):
        (log.path / f"CommitLog-7-{FIRST + 1000 + number}.log").write_bytes(b"")
    with served(log.path, bounds=Bounds(piece_seconds=0.4, stop_seconds=1.0)) as node, socket.socket() as asked:
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        asked.connect((LOCAL, node.port))
        asked.sendall(f"GET {BASE}/segments HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        found = b""
        while data := asked.recv(1 << 16):
            found += data
            if len(found) % 7 == 0:
                node.run(node.node.sweep())
                time.sleep(0.02)
        assert len(json.loads(found.partition(b"\r\n\r\n")[2])["segmentsInfo"]) == 2001


def test_whoever_comes_beyond_is_asked_to_come_again(log: LogFolder) -> None:
    with served(log.path, bounds=Bounds(connections=5, stop_seconds=1.0)) as node, ExitStack() as stack:
        for _ in range(5):
            kept = stack.enter_context(node.raw(f"{HEAD}\r\n".encode()))
            assert kept.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        answer = node.ask("GET", "/segments")
        assert (answer.status, answer.error, answer.headers["Retry-After"]) == (503, "failed", "1")
        assert node.counted.connections == 5
        stack.close()
        until = time.monotonic() + 5
        while node.ask("GET", "/segments").status != 200:
            assert time.monotonic() < until


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * MANY), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
def test_a_thousand_idle_clients_keep_nobody_waiting(log: LogFolder) -> None:
    assert CONNECTIONS_MAX > MANY
    with served(log.path) as node, ExitStack() as stack:
        node.ask("GET", "/segments")
        before = psutil.Process().memory_info().rss
        for _ in range(MANY):
            kept = stack.enter_context(node.raw(f"{HEAD}\r\n".encode()))
            assert kept.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        assert node.counted.connections == MANY
        for _ in range(5):
            answers_soon(node)
        # Both ends are in this process.
        assert psutil.Process().memory_info().rss - before < 150 * MIB


@pytest.mark.usefixtures("many_files")
def test_a_thousand_who_wait_for_a_list_are_told_and_keep_nobody_waiting(log: LogFolder) -> None:
    with served(log.path) as node, ExitStack() as stack:
        etag = node.ask("GET", "/segments").json["etag"]
        before = psutil.Process().memory_info().rss
        asked = f"GET {BASE}/segments?etag={etag}&wait=25s HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        waiting = [stack.enter_context(node.raw(asked)) for _ in range(MANY)]
        until = time.monotonic() + 20
        while node.counted.waiting < MANY:
            assert time.monotonic() < until
            time.sleep(0.01)
        for _ in range(5):
            answers_soon(node)
        assert psutil.Process().memory_info().rss - before < 150 * MIB
        began = time.monotonic()
        (log.path / f"CommitLog-7-{FIRST}.log").unlink()
        answers_soon(node)
        for each in waiting:
            assert each.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        assert time.monotonic() - began < 10


def test_a_client_that_is_gone_is_not_counted_any_more(node: ServedNode) -> None:
    with node.raw(f"{HEAD}\r\n".encode()) as kept:
        kept.recv(1 << 16)
    until = time.monotonic() + 5
    while node.counted.connections:
        assert time.monotonic() < until
        time.sleep(0.01)
