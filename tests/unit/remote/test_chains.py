"""Certificates by way of an intermediate authority, on both sides: with and without it, expired, of another name."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tailer.serve.clients import Client, Clients
from tailer.serve.tls import Tls
from tests.helpers.certificate import Authority, Issued, chained
from tests.helpers.cli import Result, run_cli
from tests.helpers.links import rows_of
from tests.helpers.log_writer import LogFolder
from tests.helpers.served import served
from tests.unit.remote.conftest import COUNT

HERE = ["127.0.0.1"]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.tail.node_log.PATIENCE_SECONDS", 1.0)


class Chain(NamedTuple):
    root: Authority
    middle: Authority
    expired: Authority

    def certificate(self, how: str, name: str = "spark") -> Issued:
        addresses = ["127.0.0.2"] if how == "another host" else HERE
        if how == "through an expired one":
            return chained(self.expired.issue(name, addresses), self.expired)
        issued = self.middle.issue(name, addresses, expired=how == "expired")
        return issued if how == "alone" else chained(issued, self.middle)


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    folder = tmp_path_factory.mktemp("chain")
    root = Authority(folder / "root", "root")
    expired = Authority(folder / "expired", "an expired one", root, expired=True)
    return Chain(root, Authority(folder / "middle", "middle", root), expired)


def followed(log: LogFolder, server: Issued, client: Issued, node_ca: Path, client_ca: Path) -> Result:
    clients = Clients({"spark": Client("spark")})
    with served(log.path, clients=clients, tls=Tls(server.cert, server.key, client_ca).context()) as node:
        given = ["--node-ca", node_ca, "--node-cert", client.cert, "--node-key", client.key]
        result = run_cli(["follow", node.url, "--once", "--output", "json", *given])
    assert "Traceback" not in result.err
    assert "bug" not in result.err
    return result


@pytest.mark.parametrize(("shown", "trusts"), [("chain", "root"), ("chain", "middle"), ("alone", "middle")])
def test_they_are_taken(shown: str, trusts: str, chain: Chain, log: LogFolder) -> None:
    trusted = chain.root.ca if trusts == "root" else chain.middle.ca
    ran = followed(log, chain.certificate(shown), chain.certificate(shown), trusted, trusted)
    assert len(rows_of(ran)) == COUNT


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        ("alone", "unable to get local issuer certificate"),
        ("expired", "certificate has expired"),
        ("another host", "IP address mismatch"),
        ("through an expired one", "certificate has expired"),
    ],
)
def test_a_node_that_shows_another_chain(shown: str, says: str, chain: Chain, log: LogFolder) -> None:
    root = chain.root.ca
    ran = followed(log, chain.certificate(shown), chain.certificate("chain"), root, root)
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert says in ran.err


@pytest.mark.parametrize("shown", ["alone", "expired", "through an expired one"])
def test_a_reader_that_shows_another_chain(shown: str, chain: Chain, log: LogFolder) -> None:
    root = chain.root.ca
    ran = followed(log, chain.certificate("chain"), chain.certificate(shown), root, root)
    assert (ran.code, ran.out) == (8, ""), ran.err
    assert "does it take our certificate" in ran.err


def test_one_that_another_intermediate_authority_signed(chain: Chain, log: LogFolder, tmp_path: Path) -> None:
    """Where only one of two under the same root is trusted."""
    other = Authority(tmp_path / "other", "other", chain.root)
    client = chained(other.issue("spark"), other)
    ran = followed(log, chain.certificate("chain"), client, chain.middle.ca, chain.middle.ca)
    assert (ran.code, ran.out) == (8, ""), ran.err
