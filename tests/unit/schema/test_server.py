"""A server's answers → deltas, addresses and TLS; the driver itself is tried against a running server elsewhere."""

from __future__ import annotations

import builtins
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

import tailer
from tailer.errors import SystemFailedError, UsageError
from tailer.options.to_spark import parse_options
from tailer.schema.follow import SchemaState
from tailer.schema.rows import SchemaDelta
from tailer.schema.server import Server, Tls, read_server, read_session
from tests.helpers.tails import open_tail
from tests.unit.schema.made import ID_A

ANSWERS: dict[str, list[tuple[Any, ...]]] = {
    "tables": [
        ("ks", "t", UUID(hex=ID_A), True, {"compound"}, 3600, 50, 60, 50, 70),
        ("system", "x", None, None, None, None, None, None, None, None),
    ],
    "views": [],
    "columns": [
        ("ks", "t", "id", "partition_key", 0, "int", "none", b"id", 50, 50, 50, 50, 50),
        ("ks", "t", "v", "regular", -1, "frozen<u>", "none", b"v", 51, 51, 51, 51, 51),
    ],
    "dropped_columns": [("ks", "t", "w", "regular", "int", 1795257919446, 55, 55, 55)],
    "types": [("ks", "u", ["a"], ["int"], 40, 40)],
    "keyspaces": [("ks", False, 30), ("system", True, 30)],
}


class FakeSession:
    def __init__(self) -> None:
        self.queries: list[str] = []

    def execute(self, query: str, *, timeout: float) -> Iterator[tuple[Any, ...]]:
        self.queries.append(query)
        return iter(ANSWERS[query.rpartition(".")[2]])


def test_rows_come_with_their_write_timestamps() -> None:
    session = FakeSession()
    found = read_session(session)
    assert session.queries[0] == (
        "SELECT keyspace_name, table_name, id, cdc, flags, gc_grace_seconds,"
        " writetime(id), writetime(cdc), writetime(flags), writetime(gc_grace_seconds) FROM system_schema.tables"
    )
    cells = {"id": (50, ID_A), "cdc": (60, True), "flags": (50, ["compound"]), "gc_grace_seconds": (70, 3600)}
    assert found[0] == SchemaDelta("tables", "ks", ("t",), cells, 70)
    assert found[-1] == SchemaDelta("keyspaces", "ks", (), {"durable_writes": (30, False)}, 30)
    assert found[-3].cells["dropped_time"] == (55, 1795257919446000)
    assert {delta.keyspace for delta in found} == {"ks"}


def test_a_response_makes_the_same_definitions_as_a_log() -> None:
    logged, given = SchemaState(), SchemaState()
    logged.apply(read_session(FakeSession()))
    given.apply(read_session(FakeSession()), response=True)
    assert dict(logged.definitions) == dict(given.definitions)
    assert given.definitions[ID_A].cdc
    assert [column.name for column in given.definitions[ID_A].columns] == ["id", "v", "w"]


class ChangingSession(FakeSession):
    """The schema changes between two of its queries: `w` is dropped behind query number `at`."""

    def __init__(self, at: int, *, forever: bool = False) -> None:
        super().__init__()
        self._at = at
        self._forever = forever

    def execute(self, query: str, *, timeout: float) -> Iterator[tuple[Any, ...]]:
        rows = [*super().execute(query, timeout=timeout)]
        table, changed = query.rpartition(".")[2], len(self.queries) > self._at
        live = ("ks", "t", "w", "regular", -1, "int", "none", b"w", 50, 50, 50, 50, 50)
        if table == "columns" and not changed:
            rows.append(live)
        if table == "dropped_columns" and not changed:
            rows = []
        if self._forever and table == "types":
            rows.append(("ks", f"u{len(self.queries)}", ["a"], ["int"], len(self.queries), len(self.queries)))
        return iter(rows)


@pytest.mark.parametrize("at", range(12))
def test_tables_are_taken_of_one_moment(at: int) -> None:
    """The columns of one moment and the dropped columns of another are a state that never was."""
    found = read_session(ChangingSession(at))
    names = {(delta.table, delta.clustering) for delta in found}
    assert (("columns", ("t", "w")) in names) != (("dropped_columns", ("t", "w")) in names)


def test_a_schema_that_never_stays_the_same_is_not_taken() -> None:
    with pytest.raises(SystemFailedError, match="changed each time while it was read"):
        read_session(ChangingSession(0, forever=True))


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("node1", "node1", 9042),
        ("node1:19042", "node1", 19042),
        ("10.0.0.1:1", "10.0.0.1", 1),
        ("::1", "::1", 9042),
        ("[::1]", "::1", 9042),
        ("[fe80::2]:9142", "fe80::2", 9142),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    server = Server.parse(text, environment={})
    assert (server.host, server.port) == (host, port)


@pytest.mark.parametrize("text", ["", ":9042", "node:", "node:port", "node:0", "node:65536", "[]:1"])
def test_addresses_that_cannot_be_read(text: str) -> None:
    with pytest.raises(UsageError, match="HOST or HOST:PORT"):
        Server.parse(text, environment={})


def test_credentials_come_from_the_environment_and_are_not_shown() -> None:
    server = Server.parse("n", environment={"CDC_TAIL_CQL_USER": "u", "CDC_TAIL_CQL_PASSWORD": "secret"})
    assert (server.user, server.password) == ("u", "secret")
    assert "secret" not in repr(server)
    assert "secret" not in str(server)
    with pytest.raises(UsageError, match="only one of"):
        Server.parse("n", environment={"CDC_TAIL_CQL_USER": "u"})


def test_tls_files_that_cannot_be_used() -> None:
    with pytest.raises(UsageError, match="TLS files"):
        Tls(ca="/nowhere/ca.pem").context()
    assert not Tls(verify_host=False).context().check_hostname


@pytest.fixture
def pem(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate and its key, each in a file of its own."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a test")])
    day = datetime(2020, 1, 1, tzinfo=UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, day, day + timedelta(days=36500))
    certificate, private = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return certificate, private


def test_the_key_may_have_a_file_of_its_own(pem: tuple[Path, Path], tmp_path: Path) -> None:
    certificate, key = pem
    assert Tls(None, certificate, key).context()
    both = tmp_path / "both.pem"
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    assert Tls(None, both).context()
    with pytest.raises(UsageError, match="TLS files"):
        Tls(None, certificate).context()
    with pytest.raises(UsageError, match="a key without its certificate"):
        Tls(None, None, key).context()


@pytest.mark.parametrize("door", ["python", "spark"])
def test_a_tail_asks_with_the_files_it_was_given(
    door: str, tmp_path: Path, pem: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Server] = []
    monkeypatch.setattr("tailer.definitions.outside.read_server", lambda server: asked.append(server) or [])
    (tmp_path / "cdc_raw").mkdir()
    certificate, key = pem
    if door == "python":
        given = {"server": "db", "server_ca": certificate, "server_cert": str(certificate), "server_key": key}
        list(tailer.open(tmp_path / "cdc_raw", **given).read())
    else:
        texts = {"path": str(tmp_path / "cdc_raw"), "server": "db", "serverCa": str(certificate)}
        source = parse_options({**texts, "serverCert": str(certificate), "serverKey": str(key)})
        with open_tail(tmp_path / "cdc_raw", source.of("local", once=True), writes=False):
            pass
    assert [server.tls for server in asked] == [Tls(certificate, certificate, key)]


def test_without_the_driver_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name.startswith("cassandra"):
            raise ImportError("No module named 'cassandra'", name="cassandra")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(UsageError, match=r"pip install 'cassandra-driver>="):
        read_server(Server("127.0.0.1"))


def test_a_server_that_is_not_there_is_a_failed_system() -> None:
    pytest.importorskip("cassandra")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        with pytest.raises(SystemFailedError, match=f"does not answer \\(127.0.0.1:{port}\\)"):
            read_server(Server("127.0.0.1", port))


def test_wrong_credentials_are_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    cassandra = pytest.importorskip("cassandra")
    cluster = pytest.importorskip("cassandra.cluster")
    refused = cassandra.AuthenticationFailed("no")
    down: list[bool] = []

    def connect() -> None:
        raise cluster.NoHostAvailable("none", {"127.0.0.1": refused})

    fake = SimpleNamespace(connect=connect, shutdown=lambda: down.append(True))
    monkeypatch.setattr(cluster, "Cluster", lambda *_, **__: fake)
    with pytest.raises(UsageError, match="CDC_TAIL_CQL_USER"):
        read_server(Server("127.0.0.1", user="u", password="p"))
    assert down == [True]


def test_a_driver_that_knows_no_host_is_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error has a list then: a node that was just stopped."""
    cluster = pytest.importorskip("cassandra.cluster")

    def connect() -> None:
        raise cluster.NoHostAvailable("Unable to connect to any servers", [])

    monkeypatch.setattr(cluster, "Cluster", lambda *_, **__: SimpleNamespace(connect=connect, shutdown=lambda: None))
    with pytest.raises(SystemFailedError, match=r"does not answer.*Unable to connect to any servers"):
        read_server(Server("127.0.0.1"))


@pytest.mark.parametrize(
    "errors",
    [
        {"127.0.0.1:9042": "Client request timeout. See Session.execute[_async](timeout)"},
        "Failed to create all new connection pools in the 30.0s timeout.",
        None,
    ],
    ids=["texts by host", "a text", "none"],
)
def test_a_request_that_takes_too_long_is_a_server_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, errors: object
) -> None:
    """What the driver (3.29) gives as the errors of its OperationTimedOut."""
    cassandra = pytest.importorskip("cassandra")
    cluster = pytest.importorskip("cassandra.cluster")

    def execute(query: str, *, timeout: float) -> None:
        raise cassandra.OperationTimedOut(errors, "127.0.0.1:9042")

    session = SimpleNamespace(execute=execute)
    fake = SimpleNamespace(connect=lambda: session, shutdown=lambda: None)
    monkeypatch.setattr(cluster, "Cluster", lambda *_, **__: fake)
    with pytest.raises(SystemFailedError, match="does not answer"):
        read_server(Server("127.0.0.1"))
