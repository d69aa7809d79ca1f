"""`GET /segments/NAME`: ranges of files; names and ranges that are tricks."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from tailer.serve.options import Bounds
from tailer.state.cleaned import CleanedFile, write_cleaned
from tailer.state.ids import Ids
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table
from tests.helpers.served import BASE, Answer, ServedNode, read_all, served

FIRST = 1_700_000_000_001
NAME = f"CommitLog-7-{FIRST}.log"


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), FIRST, 2)


def ranged(node: ServedNode, text: str, name: str = NAME, **headers: str) -> Answer:
    return node.ask("GET", f"/segments/{name}", headers={"Range": text, **headers})


def etag_of(file: Path) -> str:
    status = file.stat()
    return f'"{status.st_dev}-{status.st_ino}"'


def test_a_whole_file(node: ServedNode, log: LogFolder) -> None:
    answer = node.ask("GET", f"/segments/{NAME}")
    assert (answer.status, answer.body) == (200, (log.path / NAME).read_bytes())
    assert answer.headers["ETag"] == etag_of(log.path / NAME)
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert "Content-Range" not in answer.headers


def test_ranges(node: ServedNode, log: LogFolder) -> None:
    data = (log.path / NAME).read_bytes()
    size = len(data)
    for first, last in ((0, 0), (0, 9), (5, size - 1), (size - 1, size - 1), (7, size + 100), (3, 10**17)):
        answer = ranged(node, f"bytes={first}-{last}")
        end = min(last + 1, size)
        assert (answer.status, answer.body) == (206, data[first:end])
        assert answer.headers["Content-Range"] == f"bytes {first}-{end - 1}/{size}"
        assert answer.headers["ETag"] == etag_of(log.path / NAME)
    assert ranged(node, "bytes=5-").body == data[5:]


def test_what_the_file_does_not_reach_to_is_not_visible_yet(node: ServedNode, log: LogFolder) -> None:
    size = (log.path / NAME).stat().st_size
    for text in (f"bytes={size}-{size + 5}", f"bytes={size}-", "bytes=999999999999999999-999999999999999999"):
        answer = ranged(node, text)
        assert (answer.status, answer.error) == (416, "not-visible")
        assert answer.headers["Content-Range"] == f"bytes */{size}"
    with (log.path / NAME).open("ab") as file:
        file.write(b"more")
    assert ranged(node, f"bytes={size}-{size + 5}").body == b"more"


@pytest.mark.parametrize(
    "text",
    [
        "bytes=0-1,3-4",
        "bytes=0-1,0-1,0-1,0-1",
        "bytes=9-3",
        "bytes=-5",
        "bytes=-",
        "bytes=",
        "bytes=a-b",
        "bytes=0x0-0x5",
        "bytes=1.0-2",
        "bytes=+1-5",
        "bytes=--1-5",
        "bytes=0-99999999999999999999999999",
        "bytes=٣-٤",
        "lines=0-5",
        "0-5",
        "bytes 0-5",
        "bytes=0 - 5",
        "",
        "b" * 2000,
    ],
)
def test_ranges_that_are_none_are_refused(text: str, node: ServedNode) -> None:
    answer = ranged(node, text.encode("utf-8").decode("latin-1"))
    assert (answer.status, answer.error) == (400, "refused")


def test_two_range_headers_are_refused(node: ServedNode) -> None:
    head = f"GET {BASE}/segments/{NAME} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    found = node.said_raw(f"{head}Range: bytes=0-1\r\nRange: bytes=2-3\r\n\r\n".encode())
    assert found.startswith(b"HTTP/1.1 400 ")


def test_another_file_of_that_name_is_told(node: ServedNode, log: LogFolder) -> None:
    etag = ranged(node, "bytes=0-3").headers["ETag"]
    assert ranged(node, "bytes=0-3", **{"If-Match": etag}).status == 206
    data = (log.path / NAME).read_bytes()
    (log.path / "new").write_bytes(data)
    (log.path / "new").replace(log.path / NAME)
    answer = ranged(node, "bytes=0-3", **{"If-Match": etag})
    assert (answer.status, answer.error, answer.headers["ETag"]) == (412, "another-file", etag_of(log.path / NAME))
    assert ranged(node, "bytes=999999-", **{"If-Match": etag}).status == 412


def test_gone_is_404_and_cleaned_is_410(node: ServedNode, log: LogFolder) -> None:
    (log.path / NAME).unlink()
    answer = ranged(node, "bytes=0-3")
    assert (answer.status, answer.error) == (404, "gone")
    write_cleaned(log.path.with_name("cdc_raw.cdc_tail"), CleanedFile(segments=Ids.of([FIRST, FIRST + 1])))
    for number in range(2):
        # The second is there still, or again: nobody may read it.
        answer = ranged(node, "bytes=0-3", f"CommitLog-7-{FIRST + number}.log")
        assert (answer.status, answer.error) == (410, "gone")


@pytest.mark.parametrize(
    "name",
    [
        "%2e%2e",
        "..%2fsecret",
        "%2e%2e%2fsecret",
        "..%5csecret",
        "%2fetc%2fpasswd",
        "%00",
        f"{NAME}%00",
        f"%00{NAME}",
        f"{NAME}%2f",
        f"{NAME}%0a",
        f"{NAME}.new",
        f".{NAME}",
        f"..%2f{'cdc_raw'}%2f{NAME}",
        "CommitLog-7-1700000000001_cdc.idx",
        "DROPPED",
        "secret",
        "CommitLog-07-1700000000001.log",
        "CommitLog-7-01700000000001.log",
        "CommitLog-7-٣.log",
        "commitlog-7-1700000000001.log",
        "CommitLog-7-1700000000001.LOG",
        "CommitLog-7-" + "9" * 4000 + ".log",
        "x" * 7000,
    ],
)
def test_names_that_are_tricks_are_404(name: str, node: ServedNode, log: LogFolder) -> None:
    (log.path.parent / "secret").write_text("nobody's")
    (log.path / "secret").write_text("nobody's")
    answer = node.ask("GET", f"/segments/{quote(name, safe='%')}")
    assert answer.status == 404
    assert b"nobody" not in answer.body


@pytest.mark.parametrize(
    "target",
    [
        f"{BASE}/segments/../../secret",
        "/../../etc/passwd",
        f"{BASE}/segments//{NAME}",
        "//x",
        f"http://localhost{BASE}/../x",
    ],
)
def test_targets_that_climb_lead_nowhere(target: str, node: ServedNode) -> None:
    found = node.said_raw(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert found.startswith(b"HTTP/1.1 404 ")


def test_only_regular_files_of_the_folder_itself_are_opened(node: ServedNode, log: LogFolder, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("nobody's")
    (log.path / f"CommitLog-7-{FIRST + 5}.log").symlink_to(tmp_path / "secret")
    (log.path / f"CommitLog-7-{FIRST + 6}.log").symlink_to(f"CommitLog-7-{FIRST + 6}.log")
    os.mkfifo(log.path / f"CommitLog-7-{FIRST + 7}.log")
    (log.path / f"CommitLog-7-{FIRST + 8}.log").mkdir()
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(log.path):
        # By its name alone: a socket's whole path has room for a hundred letters.
        listening.bind(f"CommitLog-7-{FIRST + 9}.log")
        began = time.monotonic()
        for number in range(5, 10):
            answer = ranged(node, "bytes=0-3", f"CommitLog-7-{FIRST + number}.log")
            assert (answer.status, answer.error) == (404, "gone")
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_a_segment_is_only_read(method: str, node: ServedNode, log: LogFolder) -> None:
    answer = node.ask(method, f"/segments/{NAME}")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET")
    assert (log.path / NAME).exists()


def test_a_file_that_is_cut_while_it_is_sent_is_a_cut_body(log: LogFolder) -> None:
    file = log.path / NAME
    file.write_bytes(b"x" * 40_000_000)
    with (
        served(log.path) as node,
        node.raw(f"GET {BASE}/segments/{NAME} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()) as taken,
    ):
        head = taken.recv(500)
        assert b"Content-Length: 40000000" in head
        os.truncate(file, 20_000_000)
        assert len(read_all(taken)) < 39_000_000


def test_who_does_not_take_what_he_asked_for_is_ended(log: LogFolder) -> None:
    (log.path / NAME).write_bytes(b"x" * 60_000_000)
    asked = f"GET {BASE}/segments/{NAME} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with served(log.path, bounds=Bounds(piece_seconds=0.5, stop_seconds=1.0)) as node, node.raw(asked) as taken:
        until = time.monotonic() + 10
        while node.counted.errors.get("cut", 0) == 0:
            assert time.monotonic() < until
            time.sleep(0.05)
            assert node.ask("GET", f"/segments/{NAME}", headers={"Range": "bytes=0-9"}).body == b"x" * 10
        assert len(read_all(taken)) < 60_000_000


def test_a_rate_is_kept_and_shared(log: LogFolder) -> None:
    size = 3_000_000
    (log.path / NAME).write_bytes(os.urandom(size))
    with served(log.path, rate=2_000_000) as node:
        began = time.monotonic()
        assert len(node.ask("GET", f"/segments/{NAME}").body) == size
        spent = time.monotonic() - began
        # A quarter of a second's bytes may leave at once.
        assert 1.0 < spent < 6
        # Lists and the like are not held back.
        began = time.monotonic()
        assert node.ask("GET", "/segments").status == 200
        assert time.monotonic() - began < 5


def test_bytes_are_counted(node: ServedNode, log: LogFolder) -> None:
    ranged(node, "bytes=0-99")
    ranged(node, "bytes=9-3")
    counted = node.counted
    assert (counted.bytes, counted.requests, counted.errors) == (100, {206: 1, 400: 1}, {"refused": 1})
