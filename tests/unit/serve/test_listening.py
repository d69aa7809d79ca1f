"""Addresses that cannot be had, at `serve`, its status page and `--metrics`: wrong usage, or worth a restart."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailer.cli.serve import _is_loopback
from tailer.errors import OwnLimitError, SystemFailedError, UsageError
from tailer.metrics.server import Server
from tailer.options.listen import Listen
from tailer.serve.listening import bound
from tests.helpers.certificate import make_certificate
from tests.helpers.cli import run_cli
from tests.helpers.few_files import few_files
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table

LISTENERS: dict[str, Callable[[Listen], Any]] = {
    "metrics": lambda listen: Server(listen, {}),
    "serve": bound,
    "is it loopback": _is_loopback,
}
ABSENT = "203.0.113.1"
"""Of no machine (RFC 5737)."""


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), 1_700_000_000_001, 1)


every = pytest.mark.parametrize("listener", LISTENERS)


def answered(monkeypatch: pytest.MonkeyPatch, number: int, words: str) -> None:
    """That is what the resolver says of every name."""

    def fail(*_: object, **named: object) -> Any:
        raise socket.gaierror(number, words)

    monkeypatch.setattr(socket, "getaddrinfo", fail)


@every
def test_a_host_that_is_not_known_is_wrong_usage(listener: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"cannot listen on no\.\.such\.host:0"):
        LISTENERS[listener](Listen("no..such.host", 0))
    answered(monkeypatch, socket.EAI_NONAME, "Name or service not known")
    with pytest.raises(UsageError, match=r"no.such.host:0.*not known.*Name an address of this machine"):
        LISTENERS[listener](Listen("no.such.host", 0))


@pytest.mark.parametrize("listener", ["metrics", "serve"])
@pytest.mark.parametrize("host", [ABSENT, "2001:db8::7", "fe80::1%none7"])
def test_an_address_that_no_interface_has_yet_is_worth_a_restart(host: str, listener: str) -> None:
    """At boot the network may be late, and a unit starts again what ends with 8."""
    if ":" in host and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with pytest.raises(SystemFailedError, match=r"cannot listen on .*Is its interface up") as failed:
        LISTENERS[listener](Listen(host, 0))
    assert host in failed.value.sentence()


@every
def test_a_host_that_cannot_be_asked_for_yet_is_worth_a_restart(listener: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, socket.EAI_AGAIN, "Temporary failure in name resolution")
    with pytest.raises(SystemFailedError, match="Temporary failure in name resolution"):
        LISTENERS[listener](Listen("n1.example", 0))


@every
@pytest.mark.parametrize("number", [socket.EAI_NONAME, socket.EAI_AGAIN])
def test_without_files_to_open_no_host_is_misspelt(listener: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the resolver could not open it tells as a name that is not there."""
    answered(monkeypatch, number, "Name or service not known")
    with few_files(1), pytest.raises(OwnLimitError, match="LimitNOFILE"):
        LISTENERS[listener](Listen("n1.example", 0))


@pytest.mark.parametrize("words", [("--listen", f"{ABSENT}:0"), ("--listen", "0", "--status-listen", f"{ABSENT}:0")])
def test_a_unit_of_serve_starts_again(words: tuple[str, ...], log: LogFolder, tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path, ABSENT)
    tokens = tmp_path / "tokens.toml"
    tokens.write_text('[a]\ntoken = "a-token-that-is-long-enough"\n')
    who = ("--cert", certificate, "--key", key, "--token-file", tokens)
    before = sorted(tmp_path.iterdir())
    result = run_cli(["serve", log.path, *words, *who])
    assert result.code == 8, result.err
    assert f"cannot listen on {ABSENT}:0" in result.err
    assert sorted(tmp_path.iterdir()) == before, "nothing is made before"
