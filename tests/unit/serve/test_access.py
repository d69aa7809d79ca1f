"""Who is answered: tokens, certificates, the name that the node is asked by, pages in browsers."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailer.errors import UsageError
from tailer.options.listen import LOCAL
from tailer.serve.clients import Client, Clients, read_clients, read_tokens
from tailer.serve.hosts import Hosts
from tailer.serve.tls import Tls
from tests.helpers.certificate import Authority, Issued
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table
from tests.helpers.served import BASE, TOKEN, ServedNode, served, token_of

FIRST = 1_700_000_000_001
EVERY_GET = (
    "/segments",
    f"/segments/CommitLog-7-{FIRST}.log",
    "/consumers",
    "/consumers/c",
    "/records",
    "/status",
    "/x",
)


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), FIRST, 1)


@pytest.fixture
def node(log: LogFolder) -> Iterator[ServedNode]:
    with served(log.path, clients=token_of(Client("spark", "spark-", 2))) as found:
        yield found


@pytest.mark.parametrize("path", EVERY_GET)
def test_without_a_token_nothing_is_told(path: str, node: ServedNode) -> None:
    answer = node.ask("GET", path)
    assert (answer.status, answer.error, answer.headers["WWW-Authenticate"]) == (401, "no-token", "Bearer")


@pytest.mark.parametrize(
    "given",
    [
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN.upper()}",
        "Bearer ",
        "Bearer",
        f"Basic {TOKEN}",
        TOKEN,
        f"Token {TOKEN}",
        "Bearer \xff\xfe",
        f"Bearer {TOKEN} {TOKEN}",
        "x" * 8000,
    ],
)
def test_a_wrong_token_is_told_as_one(given: str, node: ServedNode) -> None:
    answer = node.ask("GET", "/segments", headers={"Authorization": given})
    assert (answer.status, answer.error) == (401, "wrong-token")
    assert TOKEN not in answer.body.decode()


def test_a_token_opens(node: ServedNode) -> None:
    for word in ("Bearer", "bearer"):
        assert node.ask("GET", "/segments", headers={"Authorization": f"{word} {TOKEN}"}).status == 200


def test_no_token_is_ever_said(node: ServedNode) -> None:
    node.ask("GET", "/segments", token="wrong-but-secret-enough")
    node.ask("PUT", "/consumers/other", {"reader": "r"}, token=TOKEN)
    assert node.said
    assert not any(TOKEN in line or "secret" in line for line in node.said)


def test_refusals_are_said_now_and_then(node: ServedNode) -> None:
    for _ in range(50):
        node.ask("GET", "/segments")
    assert node.said == ["warning: 401 to 127.0.0.1: who asks shows neither a token nor a certificate"]


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "10.0.0.1", "localhost@evil", "", "a b", "[::2]"]
)
def test_another_name_is_another_server(host: str, node: ServedNode) -> None:
    answer = node.ask("GET", "/segments", headers={"Host": host}, token=TOKEN)
    assert (answer.status, answer.error) == (421, "refused")
    assert "--host-name" in answer.json["remedy"]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9043", "127.0.0.1:1", "[::1]:9043", "localhost."])
def test_its_own_names(host: str, node: ServedNode) -> None:
    assert node.ask("GET", "/segments", headers={"Host": host}, token=TOKEN).status == 200


def test_names_that_it_is_given(log: LogFolder) -> None:
    with served(log.path, host_names=("n1", "n1.example")) as node:
        asked = [
            node.ask("GET", "/segments", headers={"Host": host}).status for host in ("N1:9043", "n1.example", "n2")
        ]
    assert asked == [200, 200, 421]


def test_a_request_without_host_or_with_two_is_refused(node: ServedNode) -> None:
    head = f"GET {BASE}/segments HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n"
    for more in ("", "Host: localhost\r\nHost: evil\r\n"):
        assert b" 400 Bad Request\r\n" in node.said_raw(f"{head}{more}\r\n".encode())[:30]


def test_an_address_that_it_was_reached_at_is_a_name() -> None:
    hosts = Hosts(["0.0.0.0"])
    assert hosts.fits("10.1.2.3:9043", "10.1.2.3")
    assert hosts.fits("[fe80::1]:9043", "fe80::1%eth0")
    assert hosts.fits("10.1.2.3", "::ffff:10.1.2.3")
    assert not hosts.fits("10.1.2.4:9043", "10.1.2.3")
    assert not hosts.fits(None, "10.1.2.3")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:9043"])
def test_a_page_in_a_browser_is_refused(origin: str, node: ServedNode) -> None:
    answer = node.ask("GET", "/segments", headers={"Origin": origin}, token=TOKEN)
    assert (answer.status, answer.error) == (403, "refused")
    asked = {"Origin": origin, "Access-Control-Request-Method": "GET"}
    answer = node.ask("OPTIONS", "/segments", headers=asked)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


# Certificates


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def own(authority: Authority) -> Issued:
    return authority.issue("n1", [LOCAL], ["localhost"])


KNOWN = Clients({"spark.example": Client("spark", "spark-"), "urn:reader": Client("reader", read_only=True)})


@pytest.fixture
def secure(log: LogFolder, own: Issued, authority: Authority) -> Iterator[ServedNode]:
    known = Clients(KNOWN.certificates, [(TOKEN.encode(), Client("token"))])
    with served(log.path, clients=known, tls=Tls(own.cert, own.key, authority.ca).context()) as found:
        yield found


def context_of(authority: Authority, issued: Issued | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.ca)
    if issued is not None:
        context.load_cert_chain(issued.cert, issued.key)
    return context


def test_a_certificate_opens_by_common_name_and_by_others(secure: ServedNode, authority: Authority) -> None:
    for issued in (authority.issue("spark.example"), authority.issue("x", hosts=["spark.example"])):
        assert secure.ask("GET", "/segments", context=context_of(authority, issued)).status == 200


def test_without_a_certificate_and_token_it_is_said_in_words(secure: ServedNode, authority: Authority) -> None:
    answer = secure.ask("GET", "/segments", context=context_of(authority))
    assert (answer.status, answer.error) == (401, "no-token")
    assert secure.ask("GET", "/segments", context=context_of(authority), token=TOKEN).status == 200


def test_a_certificate_of_nobody_known_is_not_allowed(secure: ServedNode, authority: Authority) -> None:
    answer = secure.ask("GET", "/segments", context=context_of(authority, authority.issue("stranger")))
    assert (answer.status, answer.error) == (403, "not-allowed")


def test_certificates_that_are_expired_or_another_authority_s_end_the_handshake(
    secure: ServedNode, authority: Authority, tmp_path: Path
) -> None:
    foreign = Authority(tmp_path / "foreign")
    for issued in (authority.issue("spark.example", expired=True), foreign.issue("spark.example")):
        with pytest.raises((ssl.SSLError, ConnectionError), match=r"alert|reset|closed|Broken|EOF"):
            secure.ask("GET", "/segments", context=context_of(authority, issued))
    assert secure.ask("GET", "/segments", context=context_of(authority), token=TOKEN).status == 200


def test_a_client_that_trusts_another_authority_sends_nothing(secure: ServedNode, tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        secure.ask("GET", "/segments", context=ssl.create_default_context(), token=TOKEN)


def test_any_certificate_of_the_authority_counts_where_nobody_lists_them(
    log: LogFolder, own: Issued, authority: Authority
) -> None:
    with served(log.path, clients=Clients(None), tls=Tls(own.cert, own.key, authority.ca).context()) as node:
        context = context_of(authority, authority.issue("anybody"))
        assert node.ask("PUT", "/consumers/c", {"reader": "r"}, context=context).status == 200
        assert node.ask("GET", "/segments", context=context_of(authority)).status == 401


def test_old_tls_and_plain_http_are_not_spoken(secure: ServedNode, authority: Authority) -> None:
    context = context_of(authority)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        secure.ask("GET", "/segments", context=context, token=TOKEN)
    assert not secure.said_raw(f"GET {BASE}/segments HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()).startswith(b"HTTP")


def test_ranges_over_tls(secure: ServedNode, authority: Authority, log: LogFolder) -> None:
    name = f"CommitLog-7-{FIRST}.log"
    (log.path / name).write_bytes(bytes(range(256)) * 5000)
    context = context_of(authority)
    answer = secure.ask("GET", f"/segments/{name}", headers={"Range": "bytes=7-"}, context=context, token=TOKEN)
    assert answer.body == (bytes(range(256)) * 5000)[7:]


# What a client may do


def test_a_client_has_consumers_of_its_prefix_alone(node: ServedNode) -> None:
    for method, path, body in (
        ("PUT", "/consumers/other", {"reader": "r"}),
        ("GET", "/consumers/other", None),
        ("DELETE", "/consumers/other", None),
        ("POST", "/consumers/other/quarantine", {"entries": []}),
        ("POST", "/records", {"expected": 0, "records": [], "consumer": "other"}),
    ):
        answer = node.ask(method, path, body, token=TOKEN)
        assert (answer.status, answer.error) == (403, "not-allowed"), (method, path)
        assert "spark-" in answer.json["remedy"]


def test_a_client_has_so_many_consumers(node: ServedNode) -> None:
    for name in ("spark-1", "spark-2", "spark-1"):
        assert node.ask("PUT", f"/consumers/{name}", {"reader": "r"}, token=TOKEN).status == 200
    answer = node.ask("PUT", "/consumers/spark-3", {"reader": "r"}, token=TOKEN)
    assert (answer.status, answer.error) == (403, "not-allowed")


def test_who_may_only_read_writes_nothing(log: LogFolder) -> None:
    with served(log.path, clients=token_of(Client("reader", read_only=True))) as node:
        for method, path, body in (
            ("PUT", "/consumers/c", {"reader": "r"}),
            ("DELETE", "/consumers/c", None),
            ("POST", "/consumers/c/quarantine", {"entries": []}),
            ("POST", "/records", {"expected": 0, "records": [], "consumer": "c"}),
            ("POST", "/records", {"expected": 0, "records": []}),
            ("PUT", "/holds/h", {"node": "n", "segment": 1, "seconds": 5}),
            ("DELETE", "/holds/h", None),
        ):
            answer = node.ask(method, path, body, token=TOKEN)
            assert (answer.status, answer.error) == (403, "not-allowed"), (method, path)
        for path in ("/segments", "/consumers", "/records", "/status"):
            assert node.ask("GET", path, token=TOKEN).status == 200
    assert not (log.path.with_name("cdc_raw.cdc_tail") / "consumers").exists()


# Files that say who may ask


def test_files_of_clients(tmp_path: Path) -> None:
    file = tmp_path / "clients.toml"
    file.write_text(
        '[spark]\ncertificate = "spark.example"\nprefix = "spark-"\nconsumers = 3\n'
        '[eyes]\ncertificate = "urn:eyes"\nread_only = true\n'
    )
    assert read_clients(file) == {
        "spark.example": Client("spark", "spark-", 3),
        "urn:eyes": Client("eyes", read_only=True),
    }
    file.write_text(f'[spark]\ntoken = "{TOKEN}"\n')
    assert read_tokens(file) == [(TOKEN.encode(), Client("spark"))]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "token",
        f'token = "{TOKEN}"',
        "[a]\n",
        '[a]\ntoken = "short"\n',
        f'[a]\ntoken = "{TOKEN} x"\n',
        f'[a]\ntoken = "{TOKEN}"\n[b]\ntoken = "{TOKEN}"\n',
        f'[a]\ntoken = "{TOKEN}"\nprefx = "x"\n',
        f'[a]\ntoken = "{TOKEN}"\nconsumers = -1\n',
        f'[a]\ntoken = "{TOKEN}"\nconsumers = true\n',
        f'[a]\ntoken = "{TOKEN}"\nread_only = "yes"\n',
        f'[a]\ntoken = "{TOKEN}\n',
    ],
)
def test_a_file_of_tokens_that_is_none_shows_none(text: str, tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"tokens\.toml") as failed:
        read_tokens(file)
    assert TOKEN not in failed.value.sentence()


def test_files_that_give_no_tls(tmp_path: Path, own: Issued, authority: Authority) -> None:
    other = authority.issue("other")
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for tls in (
        Tls(tmp_path / "missing.pem"),
        Tls(empty),
        Tls(own.cert),
        Tls(own.cert, other.key),
        Tls(own.cert, own.key, empty),
        Tls(own.cert, own.key, tmp_path / "missing.pem"),
    ):
        with pytest.raises(UsageError):
            tls.context()
    assert Tls(own.both).context().minimum_version == ssl.TLSVersion.TLSv1_2
