"""Data files over HTTP: what is sent, and what each answer means."""

from __future__ import annotations

import base64
import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailer.errors import CdcError, SinkError, SystemFailedError, UsageError
from tailer.shipping import web
from tests.helpers.data_files import KEY, indexes, write_files
from tests.helpers.shipping import ship
from tests.helpers.web_server import Reply, Request, Server, serving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_files(tmp_path / "out", [1, 2], [3])
    write_files(tmp_path / "out", [9], key=KEY._replace(node="n2"), format="arrow")
    return tmp_path / "out"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def numbers(server: Server) -> list[tuple[str, str]]:
    return [(each.headers["Cdc-Tail-Node"], each.headers["Cdc-Tail-Number"]) for each in server.requests]


def test_each_file_is_a_post(folder: Path, server: Server) -> None:
    kept = {path: path.read_bytes() for path in folder.glob("*/data-*")}
    one, two = indexes(folder / "n1")
    assert ship(folder, f"{server.url}/changes?to=a", keep=9) == 3
    assert numbers(server) == [("n1", "1"), ("n2", "1"), ("n1", "2")]
    first, arrow, second = server.requests
    assert {each.path for each in server.requests} == {"/changes?to=a"}
    assert first.body == kept[folder / "n1" / one["data"]]
    assert second.body == kept[folder / "n1" / two["data"]]
    assert first.headers["Idempotency-Key"] == '"5f4e/n1/billing/1"'
    assert arrow.headers["Idempotency-Key"] == '"5f4e/n2/billing/1"'
    assert (first.headers["Content-Type"], first.headers["Content-Encoding"]) == ("application/x-ndjson", "zstd")
    assert arrow.headers["Content-Type"] == "application/vnd.apache.arrow.file"
    assert "Content-Encoding" not in arrow.headers
    assert (first.headers["Cdc-Tail-Rows"], arrow.headers["Cdc-Tail-Rows"]) == ("2", "1")
    digest = base64.b64encode(hashlib.sha256(arrow.body).digest()).decode()
    assert arrow.headers["Repr-Digest"] == f"sha-256=:{digest}:"
    assert "Authorization" not in first.headers
    assert ship(folder, f"{server.url}/changes") == 0


def test_what_was_not_answered_comes_again_as_the_same(folder: Path, server: Server) -> None:
    left = [0, 503, 429, 500, 408]
    server.answer = lambda request: Reply(left.pop() if left else 204)
    said: list[str] = []
    assert ship(folder, server.url, said=said) == 3
    assert numbers(server) == [*[("n1", "1")] * 6, ("n2", "1"), ("n1", "2")]
    assert len({each.headers["Idempotency-Key"] for each in server.requests[:6]}) == 1
    assert len({each.body for each in server.requests[:6]}) == 1
    assert said[0].startswith(f"warning: {server.url} did not take n1/data-000000000001.jsonl.zst: found 408.")
    assert "there again" in said[1]


REFUSALS: dict[int, tuple[type[CdcError], str]] = {
    400: (SinkError, "refused n1/data-000000000001.jsonl.zst: found 400 why not"),
    409: (SinkError, "found 409"),
    413: (SinkError, "found 413"),
    422: (SinkError, "found 422"),
    401: (UsageError, "CDC_TAIL_SHIP_USER"),
    403: (UsageError, "not allowed"),
    302: (UsageError, "sends elsewhere: found 302 https://new.example/"),
    308: (UsageError, "sends elsewhere"),
}


@pytest.mark.parametrize("status", REFUSALS)
def test_what_a_person_must_mend_ends_the_run(folder: Path, server: Server, status: int) -> None:
    server.answer = lambda request: Reply(status, b"why not", (("Location", "https://new.example/"),))
    kind, what = REFUSALS[status]
    with pytest.raises(kind, match=what):
        ship(folder, server.url)
    assert numbers(server) == [("n1", "1")]
    server.answer = lambda request: Reply()
    assert ship(folder, server.url) == 3


def test_a_target_that_stays_away_ends_the_run(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(SystemFailedError, match="no answer") as caught:
            ship(folder, f"http://127.0.0.1:{taken.getsockname()[1]}", retry_for=30)
    assert caught.value.code == 8
    assert [len(indexes(folder / node)) for node in ("n1", "n2")] == [2, 1]


def test_passwords_come_from_the_environment(folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDC_TAIL_SHIP_USER", "ann")
    monkeypatch.setenv("CDC_TAIL_SHIP_PASSWORD", "sé:cret")
    ship(folder, server.url)
    told = server.requests[0].headers["Authorization"].removeprefix("Basic ")
    assert base64.b64decode(told).decode() == "ann:sé:cret"
    monkeypatch.setenv("CDC_TAIL_SHIP_AUTHORIZATION", "ApiKey abc")
    write_files(folder, [4])
    ship(folder, server.url)
    assert server.requests[-1].headers["Authorization"] == "ApiKey abc"
    for to in ("http://ann:secret@host/", "https:///path", "http://"):
        with pytest.raises(UsageError, match="without user and password") as caught:
            ship(folder, to)
        assert "secret" not in str(caught.value)


def test_an_answer_that_is_cut_is_none(folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(request: Request) -> Reply:
        server.answer = lambda request: Reply()
        return Reply(0)

    server.answer = cut
    assert ship(folder, server.url) == 3
    assert len(server.requests) == 4


def test_a_certificate_that_nobody_signed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def untrusted(*arguments: object) -> None:
        error = web.ssl.SSLCertVerificationError("certificate verify failed")
        error.verify_message = "self-signed certificate"
        raise error

    monkeypatch.setattr(web.HTTPSConnection, "request", untrusted)
    with pytest.raises(UsageError, match=r"not trusted: found self-signed certificate.*SSL_CERT_FILE"):
        ship(folder, "https://127.0.0.1:1/")
