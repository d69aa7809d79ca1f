"""What goes wrong on the node itself: its state goes, or another one comes; it is stopped in the middle."""

from __future__ import annotations

import http.client
import shutil
import socket
import ssl
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tailer.errors import RefusedError, UsageError
from tailer.options.listen import LOCAL, Listen
from tailer.serve.handshakes import SPARE
from tailer.serve.options import Bounds
from tailer.serve.tls import Tls
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import StartRecord
from tests.helpers.certificate import Authority
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table
from tests.helpers.served import BASE, Answer, ServedNode, read_all, served

FIRST = 1_700_000_000_001
NAME = "billing"


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), FIRST, 2)


def put(node: ServedNode, version: int = 0, **more: object) -> Answer:
    return node.ask("PUT", f"/consumers/{NAME}", {"reader": "one", "version": version, **more})


def test_a_state_that_was_deleted_is_made_anew_under_another_id(node: ServedNode, state: Path) -> None:
    first = put(node)
    shutil.rmtree(state)
    answer = put(node, 1)
    assert (answer.status, answer.error) == (409, "no-lease")
    again = put(node)
    assert (again.status, again.json["version"]) == (200, 1)
    assert again.json["id"] != first.json["id"]
    assert again.headers["X-Cdc-Folder"] == again.json["id"]


def test_a_state_that_is_damaged_is_told_as_such(node: ServedNode, state: Path) -> None:
    put(node)
    (state / "cleaned.json").write_text("{")
    answer = node.ask("GET", "/segments")
    assert (answer.status, answer.error, answer.json["code"]) == (500, "failed", 6)
    (state / "cleaned.json").unlink()
    assert node.ask("GET", "/segments").status == 200
    (state / "consumers" / f"{NAME}.json").write_text('{"v": 99}')
    answer = node.ask("GET", f"/consumers/{NAME}")
    assert (answer.status, answer.json["code"]) == (500, 6)
    assert any("warning: 500 to 127.0.0.1" in line for line in node.said)


def test_a_journal_that_is_damaged_is_not_served(log: LogFolder, state: Path) -> None:
    journal = FolderJournal(state)
    for number in range(2):
        journal.append([StartRecord(consumer=NAME, segment=number)])
    text = (state / "journal").read_bytes()
    (state / "journal").write_bytes(text.replace(b'"kind":"start"', b'"kind":"STARt"', 1))
    with pytest.raises(RefusedError, match="the journal is damaged"), served(log.path):
        pass


def test_paths_of_the_node_are_not_told(node: ServedNode, state: Path, tmp_path: Path) -> None:
    put(node)
    (state / "cleaned.json").write_text("{")
    (state / "consumers" / f"{NAME}.json").write_text("{")
    for path in (f"/consumers/{NAME}", "/segments"):
        answer = node.ask("GET", path)
        assert answer.status == 500
        assert str(tmp_path) not in answer.body.decode()


def test_who_does_not_shake_hands_is_ended_and_others_are_served(log: LogFolder, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    own = authority.issue("n1", [LOCAL])
    context = Tls(own.cert, own.key).context()
    with served(log.path, tls=context, bounds=Bounds(handshake_seconds=0.5, stop_seconds=1.0)) as node:
        trusting = ssl.create_default_context(cafile=authority.ca)
        with node.raw() as silent, node.raw(b"\x16\x03\x01") as begun:
            assert node.ask("GET", "/segments", context=trusting).status == 200
            began = time.monotonic()
            for each in (silent, begun):
                read_all(each)
            assert time.monotonic() - began < 5


def test_who_does_not_shake_hands_counts(log: LogFolder, tmp_path: Path) -> None:
    """More of them than the node has room for are ended at once; the room is there again as soon as they go."""
    authority = Authority(tmp_path / "authority")
    own = authority.issue("n1", [LOCAL])
    context, trusting = Tls(own.cert, own.key).context(), ssl.create_default_context(cafile=authority.ca)
    with ExitStack() as stack, served(log.path, tls=context, bounds=Bounds(2, stop_seconds=1.0)) as node:
        silent = [stack.enter_context(node.raw()) for _ in range(2 + SPARE)]
        with node.raw() as beyond:
            beyond.settimeout(5)
            assert beyond.recv(1) == b""
        silent.pop().close()
        until, status = time.monotonic() + 10, 0
        while not status:
            try:
                status = node.ask("GET", "/segments", context=trusting).status
            except OSError:
                assert time.monotonic() < until
                time.sleep(0.05)
        assert status == 200


def test_what_comes_with_the_end_of_the_handshake_is_answered(log: LogFolder, tmp_path: Path) -> None:
    """By TLS 1.3 a client asks in the same packet."""
    authority = Authority(tmp_path / "authority")
    own = authority.issue("n1", [LOCAL])
    trusting = ssl.create_default_context(cafile=authority.ca)
    with served(log.path, tls=Tls(own.cert, own.key).context()) as node, node.raw() as raw:
        into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = trusting.wrap_bio(into, out, server_hostname=LOCAL)
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        raw.sendall(out.read())
        while True:
            into.write(raw.recv(1 << 16))
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                continue
        client.write(f"GET {BASE}/segments HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        raw.sendall(out.read())
        raw.settimeout(10)
        found = b""
        while b"HTTP/1.1 200 OK" not in found:
            more = raw.recv(1 << 16)
            assert more, "the node ended the connection"
            into.write(more)
            try:
                found += client.read(1 << 16)
            except ssl.SSLWantReadError:
                continue


def test_what_is_being_sent_is_sent_when_the_node_stops(log: LogFolder) -> None:
    size = 3_000_000
    (log.path / f"CommitLog-7-{FIRST}.log").write_bytes(b"x" * size)
    found: list[Answer] = []
    with served(log.path, rate=4_000_000, bounds=Bounds(stop_seconds=10.0)) as node:
        asking = threading.Thread(target=lambda: found.append(node.ask("GET", f"/segments/CommitLog-7-{FIRST}.log")))
        asking.start()
        until = time.monotonic() + 10
        while not node.counted.bytes:
            assert time.monotonic() < until
            time.sleep(0.01)
        node.stop()
        asking.join()
    assert [len(each.body) for each in found] == [size]


def test_who_does_not_take_what_is_sent_is_cut_off_when_the_node_stops(log: LogFolder) -> None:
    (log.path / f"CommitLog-7-{FIRST}.log").write_bytes(b"x" * 60_000_000)
    asked = f"GET {BASE}/segments/CommitLog-7-{FIRST}.log HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with served(log.path, bounds=Bounds(stop_seconds=0.3)) as node, node.raw(asked) as taken:
        taken.recv(10)
        began = time.monotonic()
        node.stop()
        assert time.monotonic() - began < 8


def test_nothing_is_made_where_an_address_is_taken(log: LogFolder, state: Path) -> None:
    with socket.socket() as other:
        other.bind((LOCAL, 0))
        other.listen()
        with pytest.raises(UsageError, match="name another port"), served(log.path, port=other.getsockname()[1]):
            pass
        with (
            pytest.raises(UsageError, match="name another port"),
            served(log.path, status=Listen(LOCAL, other.getsockname()[1])),
        ):
            pass
    assert not state.exists()


def test_a_port_is_free_again_at_once(log: LogFolder) -> None:
    with served(log.path) as node:
        port = node.port
        kept = node.raw(f"GET {BASE}/records HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        kept.recv(1000)
    with served(log.path, port=port) as node:
        assert node.ask("GET", "/segments").status == 200
    kept.close()


def test_ready_is_who_can_see_the_log(log: LogFolder) -> None:
    def page(port: int, name: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(LOCAL, port, timeout=10)
        connection.request("GET", name)
        response = connection.getresponse()
        found = response.status, response.read()
        connection.close()
        return found

    with served(log.path, status=Listen(LOCAL, 0)) as node:
        assert node.node.status_address is not None
        port = node.node.status_address.port
        assert page(port, "/healthz") == page(port, "/readyz") == (200, b"ok\n")
        log.path.rename(log.path.with_name("aside"))
        assert page(port, "/healthz")[0] == 200
        status, text = page(port, "/readyz")
        assert (status, len(text) > 10) == (503, True)
        log.path.with_name("aside").rename(log.path)


def test_another_folder_of_that_name_is_listened_to(node: ServedNode, log: LogFolder) -> None:
    etag = node.ask("GET", "/segments").json["etag"]
    log.path.rename(log.path.with_name("aside"))
    other = one_row_log(log.path, simple_table("ks", "t"), FIRST + 10, 1)
    found = node.ask("GET", f"/segments?etag={etag}").json
    assert len(found["gone"]) == 4
    answers: list[Answer] = []
    waiting = threading.Thread(
        target=lambda: answers.append(node.ask("GET", f"/segments?etag={found['etag']}&wait=20s"))
    )
    waiting.start()
    while not node.counted.waiting:
        time.sleep(0.01)
    began = time.monotonic()
    (other.path / f"CommitLog-7-{FIRST + 11}.log").write_bytes(b"x")
    waiting.join()
    assert time.monotonic() - began < 5
    assert [each["name"] for each in answers[0].json["segmentsInfo"]] == [f"CommitLog-7-{FIRST + 11}.log"]
