"""Web servers as targets that lie: drip, send elsewhere, answer nonsense or break off. Nobody waits for ever, and no
password goes elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tailer.errors import CdcError, SinkError, UsageError
from tailer.shipping.web import Connection, address_of
from tailer.sinks.envelope.registry import PASSWORD_VARIABLE, USER_VARIABLE, HttpRegistry
from tailer.sinks.outlet import TargetAwayError
from tests.helpers.dripping import Dripping
from tests.helpers.web_server import Reply, serving

SECONDS = 1.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DRIPS = {
    "status": (b"", b"H"),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
    "body": (HEAD + b"Content-Length: 1000000\r\n\r\n", b"x"),
    "body without end": (HEAD + b"\r\n", b"x"),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "body of a refusal": (b"HTTP/1.1 503 No\r\nContent-Length: 1000000\r\n\r\n", b"x"),
}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.paced_answer.ANSWER_SECONDS", SECONDS)
    monkeypatch.setattr("tailer.sinks.envelope.registry._SECONDS", SECONDS)
    monkeypatch.setattr("tailer.shipping.web.TIMEOUT_SECONDS", SECONDS)


@pytest.fixture
def dripping(request: pytest.FixtureRequest) -> Iterator[Dripping]:
    server = Dripping(*DRIPS[request.param], SECONDS / 10)
    yield server
    server.close()


@pytest.mark.parametrize("dripping", DRIPS, indirect=True)
def test_a_registry_that_drips_counts_as_away(dripping: Dripping) -> None:
    with pytest.raises(TargetAwayError, match="schema registry"):
        HttpRegistry(dripping.url).id_of("s", "{}")
    assert dripping.gone.wait(30)


@pytest.mark.parametrize("dripping", DRIPS, indirect=True)
def test_a_web_target_that_drips_counts_as_away(dripping: Dripping) -> None:
    with Connection(address_of(dripping.url, {})) as connection, pytest.raises(TargetAwayError, match="no answer"):
        connection.post("/", [b"x"], 1, {})
    assert dripping.gone.wait(30)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_registry_that_sends_elsewhere_is_not_followed(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(USER_VARIABLE, "anna")
    monkeypatch.setenv(PASSWORD_VARIABLE, "secret")
    with ExitStack() as stack:
        other = stack.enter_context(serving(lambda request: Reply(body=b'{"id": 5}')))
        asked = stack.enter_context(serving(lambda request: Reply(status, headers=(("Location", other.url),))))
        with pytest.raises(UsageError, match="sends elsewhere") as failed:
            HttpRegistry(asked.url).id_of("s", "{}")
        assert other.url in failed.value.remedy
        assert other.requests == []


NONSENSE = [b"", b"null", b"[]", b"{}", b'{"id": "5"}', b'{"id": -1}', b'{"id": 1e3}', b"[" * 100_000, b"\xff" * 9,
            b'{"id": ' + b"9" * 5000 + b"}", b"<html>"]  # fmt: skip


@pytest.mark.parametrize("body", NONSENSE, ids=range(len(NONSENSE)))
def test_a_registry_that_answers_nonsense(body: bytes) -> None:
    with serving(lambda request: Reply(body=body)) as server, pytest.raises(SinkError, match="gave no id"):
        HttpRegistry(server.url).id_of("s", json.dumps({}))


@pytest.mark.parametrize("status", [0, 400, 404, 409, 422, 429, 500, 503])
def test_a_registry_that_refuses_or_ends(status: int) -> None:
    with serving(lambda request: Reply(status, b"no")) as server, pytest.raises(CdcError) as failed:
        HttpRegistry(server.url).id_of("s", "{}")
    assert isinstance(failed.value, TargetAwayError) == (status in (0, 429, 500, 503))
