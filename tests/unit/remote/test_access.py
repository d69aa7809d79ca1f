"""Who a reader is to a node, and a node to its reader: certificates and tokens, right and wrong; no secret is shown."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tailer.serve.clients import Client, Clients
from tailer.serve.tls import Tls
from tests.helpers.certificate import Authority, Issued
from tests.helpers.cli import Result, run_cli
from tests.helpers.faulty_link import end
from tests.helpers.links import rows_of
from tests.helpers.log_writer import LogFolder
from tests.helpers.served import TOKEN, ServedNode, served, token_of
from tests.unit.remote.conftest import COUNT

HERE = ["127.0.0.1"]
OTHER_TOKEN = "another-token-that-is-long-enough"


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ours")


@pytest.fixture
def foreign(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "foreign", "somebody else")


@contextmanager
def secured(log: LogFolder, issued: Issued, clients: Clients, client_ca: Path | None = None) -> Iterator[ServedNode]:
    with served(log.path, clients=clients, tls=Tls(issued.cert, issued.key, client_ca).context()) as node:
        yield node


def follow(url: str, *words: str | Path, token: str | None = None) -> Result:
    env = {} if token is None else {"CDC_TAIL_TOKEN": token}
    result = run_cli(["follow", url, "--once", "--output", "json", *words], env)
    assert TOKEN not in result.err + result.out
    assert OTHER_TOKEN not in result.err + result.out
    assert "Traceback" not in result.err
    return result


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for is waited for a moment."""
    monkeypatch.setattr("tailer.tail.node_log.PATIENCE_SECONDS", 2.0)


def test_mutual_tls(log: LogFolder, ours: Authority) -> None:
    mine = ours.issue("spark")
    with secured(log, ours.issue(addresses=HERE), Clients({"spark": Client("spark")}), ours.ca) as node:
        for given in (["--node-cert", mine.cert, "--node-key", mine.key], ["--node-cert", mine.both]):
            assert len(rows_of(follow(node.url, "--node-ca", ours.ca, *given))) == COUNT


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("unknown authority", "unable to get local issuer certificate"),
        ("system's authorities", "unable to get local issuer certificate"),
        ("another host", "IP address mismatch"),
        ("expired", "certificate has expired"),
    ],
)
def test_a_node_that_is_not_to_be_trusted(
    how: str, says: str, log: LogFolder, ours: Authority, foreign: Authority
) -> None:
    """Nothing is sent to it: no token."""
    addresses = ["127.0.0.2"] if how == "another host" else HERE
    issued = ours.issue(addresses=addresses, expired=how == "expired")
    ca: list[str | Path] = ["--node-ca", foreign.ca if how == "unknown authority" else ours.ca]
    with secured(log, issued, token_of(Client("spark"))) as node:
        result = follow(node.url, *(ca if how != "system's authorities" else []), token=TOKEN)
    assert (result.code, result.out) == (2, ""), result.err
    assert "the node's certificate is not to be trusted" in result.err
    assert says in result.err
    assert "--node-ca" in result.err


@pytest.mark.parametrize("shown", ["none", "foreign", "expired", "unknown"])
def test_a_reader_that_the_node_does_not_take(shown: str, log: LogFolder, ours: Authority, foreign: Authority) -> None:
    """What asyncio's servers do not take in a handshake they say nothing of: the reader is told what it may be."""
    issued = certificate(shown, ours, foreign)
    with secured(log, ours.issue(addresses=HERE), Clients({"spark": Client("spark")}), ours.ca) as node:
        result = follow(node.url, "--node-ca", ours.ca, *issued)
    words = {"none": "neither a token nor a certificate", "unknown": "none of those that are known"}
    assert (result.code, result.out) == (2 if shown in words else 8, ""), result.err
    assert words.get(shown, "does it take our certificate") in result.err


@pytest.mark.parametrize("shown", ["none", "foreign", "expired"])
def test_a_server_that_says_why_it_does_not_take_a_certificate(shown: str, ours: Authority, foreign: Authority) -> None:
    """As a proxy before the node may."""
    server = ours.issue(addresses=HERE)
    context = Tls(server.cert, server.key, ours.ca).context()
    context.verify_mode = ssl.CERT_REQUIRED
    with refusing(context) as url:
        result = follow(url, "--node-ca", ours.ca, *certificate(shown, ours, foreign))
    assert (result.code, result.out) == (2, ""), result.err
    assert "the node does not take our certificate" in result.err
    assert "--node-cert" in result.err


def certificate(shown: str, ours: Authority, foreign: Authority) -> list[str | Path]:
    """The options of a certificate that is shown."""
    if shown == "none":
        return []
    issued = {
        "foreign": foreign.issue("spark"),
        "expired": ours.issue("spark", expired=True),
        "unknown": ours.issue("somebody"),
    }[shown]
    return ["--node-cert", issued.cert, "--node-key", issued.key]


@contextmanager
def refusing(context: ssl.SSLContext) -> Iterator[str]:
    """A server of which every handshake fails, with an alert."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                secure = context.wrap_socket(client, server_side=True, do_handshake_on_connect=False)
                with contextlib.suppress(ssl.SSLError):
                    secure.do_handshake()
                # Closed with bytes unread, the connection would be reset, and the alert lost on the way.
                with socket.socket(fileno=secure.detach()) as plain:
                    plain.shutdown(socket.SHUT_WR)
                    while plain.recv(1 << 12):
                        pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        end(listener)
        thread.join()


def test_without_tls_where_the_node_has_it(log: LogFolder, ours: Authority) -> None:
    with secured(log, ours.issue(addresses=HERE), token_of(Client("spark"))) as node:
        result = follow(node.url.replace("https", "http"), token=TOKEN)
    assert (result.code, result.out) == (8, ""), result.err


def test_with_tls_where_the_node_has_none(log: LogFolder, ours: Authority) -> None:
    with served(log.path) as node:
        result = follow(node.url.replace("http", "https"), "--node-ca", ours.ca)
    assert (result.code, result.out) == (8, ""), result.err
    assert "Does the node speak TLS there?" in result.err


def test_a_token_from_a_file_and_from_the_environment(log: LogFolder, tmp_path: Path) -> None:
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text(f"{TOKEN}\nand a note\n")
    wrong.write_text(f"{OTHER_TOKEN}\n")
    with served(log.path, clients=token_of(Client("spark"))) as node:
        assert len(rows_of(follow(node.url, "--token-file", right))) == COUNT
        assert len(rows_of(follow(node.url, token=TOKEN))) == COUNT
        # The file counts where both are given.
        assert len(rows_of(follow(node.url, "--token-file", right, token=OTHER_TOKEN))) == COUNT
        for none in (follow(node.url), follow(node.url, token="")):
            assert (none.code, none.out) == (2, "")
            assert "neither a token nor a certificate" in none.err
        for bad in (follow(node.url, token=OTHER_TOKEN), follow(node.url, "--token-file", wrong)):
            assert (bad.code, bad.out) == (2, "")
            assert "the token is none of those known here" in bad.err


@pytest.mark.parametrize("content", [b"", b"\n", b"a token with blanks\n", b"\xff\xfe\n", f"{TOKEN}\0\n".encode()])
def test_a_file_that_holds_no_token(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    result = follow("http://127.0.0.1:1", "--token-file", file)
    assert (result.code, result.out) == (2, ""), result.err
    assert str(file) in result.err
    assert "blanks" not in result.err.replace("without blanks", "")


def test_files_that_are_none(tmp_path: Path, ours: Authority) -> None:
    mine, bad = ours.issue(), tmp_path / "bad"
    bad.write_text("nothing")
    for words in (
        ["--node-ca", bad],
        ["--node-ca", tmp_path / "missing"],
        ["--node-cert", bad],
        ["--node-cert", mine.cert, "--node-key", ours.issue().key],
        ["--token-file", tmp_path / "missing"],
        ["--token-file", tmp_path],
    ):
        result = follow("https://127.0.0.1:1", *words)
        assert (result.code, result.out) == (2, ""), (words, result.err)


def test_who_may_only_read_reads_and_keeps_no_position(log: LogFolder) -> None:
    with served(log.path, clients=token_of(Client("eyes", read_only=True))) as node:
        assert len(rows_of(follow(node.url, token=TOKEN))) == COUNT
        result = follow(node.url, "--consumer", "c", token=TOKEN)
    assert (result.code, result.out) == (2, "")
    assert "eyes may only read" in result.err


def test_a_consumer_of_another_prefix_is_refused(log: LogFolder) -> None:
    with served(log.path, clients=token_of(Client("spark", "spark-", 1))) as node:
        assert follow(node.url, "--consumer", "spark-a", token=TOKEN).code == 0
        other = follow(node.url, "--consumer", "billing", token=TOKEN)
        more = follow(node.url, "--consumer", "spark-b", token=TOKEN)
    assert (other.code, more.code) == (2, 2)
    assert "begin with 'spark-'" in other.err
    assert "may have 1" in more.err
