"""The pages of a run: what is answered, and that nobody who asks badly holds it up."""

from __future__ import annotations

import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tailer.errors import UsageError
from tailer.metrics import server as module
from tailer.metrics.server import Page, Server, text
from tailer.options.listen import Listen, listen_of

LOCAL = Listen("127.0.0.1", 0)
LARGE = 64 * 1024 * 1024


def fails(accept: str) -> Page:
    raise KeyError("nothing")


PAGES = {
    "/ok": lambda accept: text(200, "ok", accept),
    "/bad": lambda accept: text(503, "no"),
    "/fails": fails,
    "/large": lambda accept: Page(200, "text/plain", bytes(LARGE)),
}


def get(server: Server, path: str, accept: str = "text/plain") -> tuple[int, str]:
    request = urllib.request.Request(f"http://{server.address}{path}", headers={"Accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(LOCAL, PAGES, clients_max=4)
    yield made
    made.close()


def test_pages(server: Server) -> None:
    assert get(server, "/ok", "mine") == (200, "ok\nmine\n")
    assert get(server, "/ok?with=words")[0] == 200
    assert get(server, "/bad") == (503, "no\n")
    assert get(server, "/") == (404, "There are: /ok, /bad, /fails, /large\n")
    assert get(server, "/fails") == (500, "this is a bug in cdc-tail: KeyError: 'nothing'\n")


def test_a_port_that_is_taken_is_wrong_usage(server: Server) -> None:
    with pytest.raises(UsageError, match=r"cannot listen on .* Address already in use.*name another port"):
        Server(server.address, PAGES)


def test_a_port_is_free_again_at_once(server: Server) -> None:
    other = Server(LOCAL, PAGES)
    get(other, "/ok")
    other.close()
    again = Server(other.address, PAGES)
    assert get(again, "/ok")[0] == 200
    again.close()


def await_clients(server: Server, count: int) -> None:
    deadline = time.monotonic() + 60
    while server.clients != count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_slow_clients_hold_up_themselves_and_are_cut_off(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody is cut off until the fifth client was sent away, however busy the machine is.
    monkeypatch.setattr(module, "CLIENT_SECONDS", 600.0)
    with ExitStack() as opened:
        slow = [opened.enter_context(socket.create_connection(tuple(server.address))) for _ in range(3)]
        # One says nothing, one begins to ask, one takes nothing of what it asked for.
        slow[1].sendall(b"GET /ok HT")
        slow[2].sendall(b"GET /large HTTP/1.0\r\n\r\n")
        await_clients(server, 3)
        assert get(server, "/ok")[0] == 200
        # A fifth is one too many, until the slow ones are cut off.
        await_clients(server, 3)
        more = opened.enter_context(socket.create_connection(tuple(server.address)))
        await_clients(server, 4)
        with pytest.raises(OSError, match=r"."):
            get(server, "/ok")
        monkeypatch.setattr(module, "CLIENT_SECONDS", 0.2)
        assert slow[0].recv(10) == more.recv(10) == b""
        await_clients(server, 0)
        assert get(server, "/ok")[0] == 200
        got = 0
        while data := slow[2].recv(1 << 20):
            got += len(data)
        assert got < LARGE


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("9464", Listen("127.0.0.1", 9464)),
        (9464, Listen("127.0.0.1", 9464)),
        (":9464", Listen("127.0.0.1", 9464)),
        (" db1:80 ", Listen("db1", 80)),
        ("0.0.0.0:0", Listen("0.0.0.0", 0)),
        ("[::1]:9464", Listen("::1", 9464)),
        ("::1:9464", None),
        ("db1", None),
        ("db1:", None),
        ("65536", None),
        ("-1", None),
        (-1, None),
        (True, None),
        (None, None),
        ("http://db1:80", None),
    ],
)
def test_where_to_listen(said: object, meant: Listen | None) -> None:
    assert listen_of(said) == meant
    if meant is not None:
        assert listen_of(str(meant)) == meant
