"""`cdc-tail serve`: what it refuses before it listens, that it stops, and that it goes on after a kill."""

from __future__ import annotations

import builtins
import contextlib
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.certificate import Authority
from tests.helpers.cli import ROOT, program, run_cli
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table

FIRST = 1_700_000_000_001
BASE = "/api/v1/cdc"
TOKEN = "a-token-that-is-long-enough"
HERE = ("--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0")


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), FIRST, 2)


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    file = tmp_path / "tokens.toml"
    file.write_text(f'[reader]\ntoken = "{TOKEN}"\nread_only = true\n')
    return file


class Running:
    """A process that serves; `url` and `status` as it said them."""

    def __init__(self, *words: str | Path) -> None:
        self.process = subprocess.Popen(
            program(["serve", *words]),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.said = [self.process.stderr.readline(), self.process.stderr.readline()]
        found = [re.search(r"at (https?://[\d.]+:\d+)", line) for line in self.said]
        assert all(found), (self.said, self.process.stderr.read())
        self.url, self.status = (each[1] for each in found if each is not None)

    def get(self, path: str, context: ssl.SSLContext | None = None, **headers: str) -> tuple[int, bytes]:
        asked = urllib.request.Request(self.url + BASE + path, headers=headers)
        try:
            with urllib.request.urlopen(asked, timeout=30, context=context) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """The exit code, and the rest of what it said."""
        self.process.send_signal(number)
        _, rest = self.process.communicate(timeout=30)
        return self.process.returncode, rest


@contextlib.contextmanager
def running(*words: str | Path) -> Iterator[Running]:
    found = Running(*words)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.process.kill()
            found.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop(number: signal.Signals, log: LogFolder) -> None:
    with running(log.path, *HERE, "--no-auth") as node:
        status, body = node.get("/segments")
        assert (status, len(json.loads(body)["segmentsInfo"])) == (200, 2)
        for page in ("healthz", "readyz"):
            with urllib.request.urlopen(f"{node.status}/{page}", timeout=10) as answer:
                assert answer.read() == b"ok\n"
        assert node.stop(number) == (0, "cdc-tail: stops\n")
    assert (log.path.with_name("cdc_raw.cdc_tail")).is_dir()


def test_who_waits_is_answered_when_it_stops(log: LogFolder) -> None:
    with running(log.path, *HERE, "--no-auth") as node:
        etag = json.loads(node.get("/segments")[1])["etag"]
        host, port = node.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as waiting:
            asked = f"GET {BASE}/segments?etag={etag}&wait=25s HTTP/1.1\r\nHost: localhost\r\n\r\n"
            waiting.sendall(asked.encode())
            time.sleep(0.3)
            began = time.monotonic()
            assert node.stop()[0] == 0
            assert waiting.recv(1000).startswith(b"HTTP/1.1 304 ")
        assert time.monotonic() - began < 10


def test_a_consumer_goes_on_after_a_kill(log: LogFolder) -> None:
    def put(node: Running, **asked: Any) -> tuple[int, dict[str, Any]]:
        body = json.dumps({"reader": "one", **asked}).encode()
        request = urllib.request.Request(f"{node.url}{BASE}/consumers/billing", body, method="PUT")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    offset = {"j": 0, "s": FIRST, "o": 0, "done": True, "p": []}
    file = {"name": "billing", "nodes": {"n": {"offset": offset}}, "v": 3}
    with running(log.path, *HERE, "--no-auth") as node:
        assert put(node)[1]["version"] == 1
        assert put(node, version=1, file=file, registers=True, cleaned_tag="none")[0] == 200
        node.stop(signal.SIGKILL)
    with running(log.path, *HERE, "--no-auth") as node:
        assert put(node, version=1)[1]["error"] == "no-lease"
        status, taken = put(node)
        assert (status, taken["version"], taken["file"]["nodes"]["n"]["offset"]["s"]) == (200, 2, FIRST)
        assert node.stop()[0] == 0


def test_tokens_over_tls(log: LogFolder, tokens: Path, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    own = authority.issue("n1", ["127.0.0.1"])
    words = ("--cert", own.cert, "--key", own.key, "--token-file", tokens)
    context = ssl.create_default_context(cafile=authority.ca)
    with running(log.path, *HERE, *words) as node:
        assert node.url.startswith("https://")
        assert node.get("/segments", context)[0] == 401
        assert node.get("/segments", context, Authorization=f"Bearer {TOKEN}")[0] == 200
        code, rest = node.stop()
    assert code == 0
    assert "401 to 127.0.0.1" in rest
    assert TOKEN not in rest + "".join(node.said)


def refused(folder: Path, *words: str | Path) -> str:
    result = run_cli(["serve", folder, *words])
    assert (result.code, result.out) == (2, "")
    assert not folder.with_name("cdc_raw.cdc_tail").exists()
    return result.err


def test_addresses_that_others_reach_need_tls(log: LogFolder, tokens: Path) -> None:
    for listen in ("0.0.0.0:0", "[::]:0"):
        said = refused(log.path, "--listen", listen, "--token-file", tokens)
        assert "an address that others reach" in said
        assert "--cert FILE" in said


def test_somebody_must_say_who_may_ask(log: LogFolder, tokens: Path, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    assert "--no-auth" in refused(log.path, *HERE)
    assert "--client-ca without --cert" in refused(log.path, *HERE, "--client-ca", authority.ca)
    assert "--key without --cert" in refused(log.path, *HERE, "--no-auth", "--key", authority.ca)
    assert "--clients without --client-ca" in refused(log.path, *HERE, "--clients", tokens)
    assert "--no-auth with --token-file" in refused(log.path, *HERE, "--no-auth", "--token-file", tokens)
    assert "no such file" in refused(log.path, *HERE, "--token-file", tmp_path / "missing")


def test_files_that_cannot_be_used(log: LogFolder, tokens: Path, tmp_path: Path) -> None:
    said = refused(log.path, *HERE, "--token-file", tokens, "--cert", tokens)
    assert "these files give no TLS" in said
    assert TOKEN not in said
    tokens.write_text(f'[a]\ntoken = "{TOKEN}\n')
    said = refused(log.path, *HERE, "--token-file", tokens)
    assert "no TOML" in said
    assert TOKEN not in said


def test_a_port_that_is_taken(log: LogFolder) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        for words in (
            ("--listen", where, "--status-listen", "127.0.0.1:0"),
            ("--listen", "127.0.0.1:0", "--status-listen", where),
        ):
            result = run_cli(["serve", log.path, *words, "--no-auth"])
            assert result.code == 2
            assert f"cannot listen on {where}" in result.err
            assert "name another port" in result.err


def test_an_address_of_another_machine(log: LogFolder) -> None:
    result = run_cli(["serve", log.path, "--listen", "no-such-host.invalid:0", "--no-auth"])
    assert result.code == 2
    assert "Name an address of this machine" in result.err


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for name in ("missing", "other"):
        result = run_cli(["serve", tmp_path / name, *HERE, "--no-auth"])
        assert result.code == 2
        assert name in result.err


def test_without_the_package_it_says_what_to_install(log: LogFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    real = builtins.__import__

    def without(name: str, *given: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "aiohttp":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *given, **named)

    for name in [each for each in sys.modules if each.startswith("tailer.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    result = run_cli(["serve", log.path, *HERE, "--no-auth"])
    assert result.code == 2
    assert result.err == ("cdc-tail: serve: there is no package aiohttp. Install it: pip install 'cdc-tail[serve]'.\n")
