"""Requests to a node over links that cut, reset, are slow and hang; and to what is no node at all."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import msgspec
import pytest

from tailer.errors import CdcError, NodeAwayError, RefusedError, SystemFailedError, UsageError
from tailer.remote.absence import SAID_SECONDS, Absence
from tailer.remote.access import Access
from tailer.remote.link import Link
from tailer.remote.problems import AnsweredError
from tailer.remote.seen import decode_list
from tailer.wire import paths
from tests.helpers.cli import run_cli
from tests.helpers.faulty_link import LOCAL, faulty_link, http, odd_server
from tests.helpers.links import linked, read_once, url_of
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table
from tests.helpers.served import ServedNode, served
from tests.unit.remote.conftest import FIRST

LOG = f"{paths.SEGMENTS}/CommitLog-7-{FIRST}.log"
EVER = 30.0


@pytest.mark.parametrize("resets", [False, True], ids=["ends", "resets"])
def test_an_answer_cut_at_any_byte_is_asked_for_again(node: ServedNode, resets: bool) -> None:
    with faulty_link(node.port) as between, linked(between.url) as once, linked(between.url, patience=EVER) as patient:
        between.resets = resets
        asked = f"GET {LOG} HTTP/1.1\r\nHost: {LOCAL}\r\nRange: bytes=0-99\r\n"
        whole = node.said_raw(f"{asked}Connection: close\r\n\r\n".encode())
        # Who keeps the connection is not told that it closes.
        for cut in range(len(whole) - len("Connection: close\r\n")):
            between.cut_at = cut
            with pytest.raises(NodeAwayError, match="does not answer"):
                once.ask("GET", LOG, headers={"Range": "bytes=0-99"})
            between.cut_at = cut
            answer = patient.ask("GET", LOG, headers={"Range": "bytes=0-99"})
            assert (answer.status, answer.body) == (206, whole[-100:])


def test_a_kept_connection_that_the_node_closed_meanwhile_is_no_fault(node: ServedNode) -> None:
    with faulty_link(node.port) as between, linked(between.url) as link:
        for _ in range(3):
            link.ask("GET", LOG)
            between.cut_at = 0
            # Kept, and cut at its first byte: it is asked once more on a new one.
            assert link.ask("GET", LOG).status == 200
        assert between.connections == 4


def test_a_slow_link_is_waited_for(node: ServedNode, log: LogFolder) -> None:
    with faulty_link(node.port) as between:
        between.pause, between.piece = 0.002, 100
        assert read_once(between.url).lines == read_once(log.path).lines


def test_a_node_that_is_away_for_a_while_is_waited_for_and_told(log: LogFolder) -> None:
    said: list[str] = []
    with served(log.path) as first:
        port = first.port
    with linked(f"http://{LOCAL}:{port}", patience=EVER, say=said.append) as link:
        answers: list[int] = []
        waiting = threading.Thread(target=lambda: answers.append(link.ask("GET", LOG).status))
        waiting.start()
        time.sleep(0.5)
        with served(log.path, port=port):
            waiting.join()
    assert answers == [200]
    assert [line.split(": ")[0] for line in said[:1]] == ["warning"]
    assert "the node does not answer" in said[0]
    assert said[0].endswith("Waiting for it for 30 s; nothing is lost.")
    assert said[1].startswith(f"http://{LOCAL}:{port} is there again after ")
    assert len(said) == 2


def test_beyond_patience_it_is_the_error_of_a_node_that_is_away() -> None:
    with socket.create_server((LOCAL, 0)) as taken:
        port = taken.getsockname()[1]
    began = time.monotonic()
    with linked(f"http://{LOCAL}:{port}", patience=0.4) as link, pytest.raises(NodeAwayError) as error:
        link.list_now()
    assert 0.2 < time.monotonic() - began < 5
    assert (error.value.code, error.value.file) == (8, f"http://{LOCAL}:{port}")


def test_each_minute_it_is_said_again() -> None:
    said: list[str] = []
    now = 100.0
    absence = Absence("http://n1:9043", 600.0, said.append, lambda: now)
    absence.over()
    for _ in range(3 * 60 + 1):
        absence.begun(NodeAwayError("the node does not answer"))
        now += 1.0
    absence.over()
    absence.over()
    assert SAID_SECONDS == 60
    assert said == [
        "warning: the node does not answer. Waiting for it for 600 s; nothing is lost.",
        "warning: http://n1:9043 is away for 60 s; it is waited for",
        "warning: http://n1:9043 is away for 120 s; it is waited for",
        "warning: http://n1:9043 is away for 180 s; it is waited for",
        "http://n1:9043 is there again after 181 s",
    ]


@pytest.mark.parametrize("how", ["away", "hangs", "unreachable"])
def test_who_is_told_to_stop_waits_no_more(node: ServedNode, how: str) -> None:
    """The node is not there; it takes requests and answers none; it does not even take connections."""
    stopping = False
    with faulty_link(node.port) as between, socket.create_server((LOCAL, 0), backlog=0) as full:
        between.hangs = how == "hangs"
        port = full.getsockname()[1] if how == "unreachable" else between.port
        crowd = [socket.socket() for _ in range(3)]
        for each in crowd:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        if how == "away":
            between.close()
        with linked(f"http://{LOCAL}:{port}", patience=EVER, stopping=lambda: stopping) as link:
            link.listen()
            began = time.monotonic()

            def stop() -> None:
                nonlocal stopping, began
                stopping, began = True, time.monotonic()

            later = threading.Timer(0.3, stop)
            later.start()
            with pytest.raises(NodeAwayError):
                link.ask("GET", LOG)
            assert time.monotonic() - began < 10
            later.join()
            # And nothing after it waits at all, or for long.
            with pytest.raises(NodeAwayError):
                link.ask("GET", LOG)
            assert time.monotonic() - began < 20
        for each in crowd:
            each.close()
        between.hangs = False


def test_a_node_that_answers_is_asked_also_behind_a_stop(node: ServedNode) -> None:
    """What a run has in hand is saved."""
    with linked(node.url, patience=EVER, stopping=lambda: True) as link:
        time.sleep(1.5)
        assert link.ask("GET", LOG).status == 200


def test_a_busy_node_is_asked_again_when_it_says_so() -> None:
    busy = http(b'{"error":"failed","what":"the node still reads its log","after":0.05}', "503 Service Unavailable")
    done = http(b"{}")
    answers = iter([busy, busy, done, busy, busy])
    with odd_server(lambda asked: next(answers)) as server, linked(server.url) as link:
        assert link.ask("GET", "/x").body == b"{}"
        with pytest.raises(AnsweredError, match="still reads") as answered:
            link.ask("GET", "/x", seconds=0.08)
    assert isinstance(answered.value.error(), NodeAwayError)


def test_redirects_are_not_followed(node: ServedNode) -> None:
    there = http(b"", "302 Found", [f"Location: {node.url}{paths.SEGMENTS}"])
    with odd_server(there) as server, linked(server.url) as link:
        with pytest.raises(CdcError) as error:
            link.list_now()
        assert error.value.code == 8
        assert len(server.asked) == 1
        result = read_once(server.url)
        assert (result.code, result.out) == (8, "")
        assert "Traceback" not in result.err


ODD = {
    "page": http(b"<html>It works!</html>"),
    "not found": http(b"<html>nothing</html>", "404 Not Found"),
    "teapot": http(b"", "418 I'm a teapot"),
    "other json": http(b'{"hello": 1}'),
    "a list": http(b"[]"),
    "wrong types": http(b'{"host":1,"port":"a","segmentsInfo":{}}'),
    "a name": http(b'{"host":"h","port":1,"boot":"b","segmentsInfo":[{"name":"../x","size":1,"idx":1,"completed":true,'
                   b'"lastModifiedTimestamp":0}]}'),
    "a sidecar": http(b'{"host":"h","port":1,"boot":"b","segmentsInfo":[],"sidecars":[{"name":"CommitLog-7-1_cdc.idx",'
                      b'"bytes":"%%%","modifiedNs":0}]}'),
    "deep": http(b"[" * 100_000),
    "no utf-8": http(b'{"host":"\xff\xfe","port":1,"segmentsInfo":[]}'),
    "an empty answer": http(b""),
    "204": http(b"", "204 No Content"),
    "206": http(b"{}", "206 Partial Content"),
    "informational": b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + http(b"no"),
    "a problem": http(b'{"error":"?","what":"?","code":99}', "409 Conflict"),
    "a null": http(b"null"),
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "no length": b"HTTP/1.1 200 OK\r\n\r\n{",
    "a negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}",
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1000 + b"\r\n",
    "a long header": b"HTTP/1.1 200 OK\r\nA: " + b"b" * 100_000 + b"\r\n\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "nothing": b"",
    "zeros": b"\0" * 1000,
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_what_is_no_node_is_a_documented_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.tail.node_log.PATIENCE_SECONDS", 0.0)
    with odd_server(ODD[name]) as server:
        for words in (["follow", server.url, "--once"], ["follow", server.url, "--once", "--consumer", "c"]):
            result = run_cli(words)
            assert (result.code, result.out) in {(8, ""), (4, "")}, result.err
            assert "Traceback" not in result.err
            assert result.err.count("\n") <= 2, result.err


def test_another_nodes_log_at_the_same_address_is_refused(log: LogFolder, tmp_path: Path) -> None:
    other = one_row_log(tmp_path / "other" / "cdc_raw", simple_table("ks", "t"), FIRST, 1)
    for each in (log, other):
        with served(each.path) as node:
            assert read_once(node.url, "--consumer", "c").code == 0
    with served(log.path) as node:
        port = node.port
        link = Link(url_of(node.url), Access())
        link.list_now()
    try:
        with served(other.path, port=port), pytest.raises(RefusedError, match="another node's log") as error:
            link.list_now()
    finally:
        link.close()
    assert error.value.code == 6
    assert error.value.expected != error.value.found


def test_an_answer_that_was_overtaken_is_not_taken(node: ServedNode) -> None:
    """Two threads ask for the list; the older answer may come last."""
    with linked(node.url) as link:
        link.list_now()
        before = link.ask("GET", paths.SEGMENTS).body
        number = link.info("x")[1]
        (seen,) = [link.look(lambda seen: seen)]
        newer = before.replace(f'"etag":"{seen.etag}"'.encode(), f'"etag":"{seen.etag}0"'.encode())
        assert newer != before
        assert seen.take(decode_list(newer), 0.0) in (True, False)
        assert seen.overtook(decode_list(before))
        assert not seen.overtook(decode_list(newer))
        for version in ("9" * 5000, "-1", "x", ""):
            odd = msgspec.structs.replace(
                decode_list(newer), etag=f"{decode_list(newer).etag.rpartition('-')[0]}-{version}"
            )
            assert not seen.overtook(odd)
        assert link.info("x")[1] == number


def test_nothing_stays_open_where_opening_fails(node: ServedNode, tmp_path: Path) -> None:
    def descriptors() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate")
    with linked(node.url) as link:
        # What stays as long as the node does.
        link.list_now()
    before = descriptors()
    for _ in range(3):
        with pytest.raises(UsageError):
            Link(url_of("https://127.0.0.1:1"), Access(ca=str(bad)))
        Link(url_of(node.url), Access()).list_now()  # closed by nobody
    until = time.monotonic() + 10
    while descriptors() > before and time.monotonic() < until:
        # The node's own ends are closed in its loop.
        time.sleep(0.02)
    assert descriptors() <= before


def test_close_ends_whoever_waits(node: ServedNode) -> None:
    link = Link(url_of(node.url), Access())
    link.list_now()
    link.listen()
    time.sleep(0.1)
    began = time.monotonic()
    link.close()
    link.close()
    assert time.monotonic() - began < 10
    with pytest.raises((NodeAwayError, SystemFailedError)):
        link.ask("GET", LOG)
