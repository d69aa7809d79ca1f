"""Segments over HTTP as files: gone, cleaned, another one of that name, growing, and filled while they are read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailer.errors import SystemFailedError
from tailer.framing.name import SegmentName, parse_log_name
from tailer.limits import KIB
from tailer.remote.file import RemoteFile
from tailer.remote.link import Link
from tailer.state.cleaned import CleanedFile, write_cleaned
from tailer.state.ids import Ids
from tests.helpers.faulty_link import LOCAL, http, odd_server
from tests.helpers.links import linked
from tests.helpers.log_writer import LogFolder, insert_payload, simple_table
from tests.helpers.logs.growing import GrowingLog
from tests.helpers.served import ServedNode, served
from tests.unit.remote.conftest import FIRST

TABLE = simple_table("ks", "t")


def name_of(segment: int) -> SegmentName:
    name = parse_log_name(f"CommitLog-7-{segment}.log")
    assert name is not None
    return name


@pytest.fixture
def link(node: ServedNode) -> Iterator[Link]:
    with linked(node.url) as found:
        found.list_now()
        yield found


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[GrowingLog]:
    """With one row."""
    log = GrowingLog(tmp_path / "growing", FIRST)
    log.section([insert_payload(TABLE, 0, "a", 0)])
    log.publish()
    yield log
    log.finish()


def path_of(log: LogFolder, segment: int) -> Path:
    return log.path / name_of(segment).log


def test_any_part_is_that_of_the_file(link: Link, log: LogFolder) -> None:
    data = path_of(log, FIRST).read_bytes()
    file = RemoteFile(link, name_of(FIRST))
    for at in (0, 1, 7, len(data) - 1, 3, len(data), len(data) + 5):
        for length in (0, 1, 8, 50, len(data) * 2):
            assert file.read(at, length) == data[at : at + length], (at, length)
    assert file.status().size == len(data)
    assert file.status().inode == path_of(log, FIRST).stat().st_ino
    file.close()


def test_what_a_reader_wants_next_is_asked_for_once(link: Link, log: LogFolder, node: ServedNode) -> None:
    size = path_of(log, FIRST).stat().st_size
    asked: list[str] = []
    ask, link.ask = link.ask, lambda *a, **k: (asked.append(k["headers"]["Range"]), ask(*a, **k))[1]  # type: ignore
    file = RemoteFile(link, name_of(FIRST))
    for at in range(size):
        file.read(at, 1)
    assert len(asked) == 1, asked


def test_a_row_that_was_just_written_is_one_request(link: Link, log: LogFolder) -> None:
    path, sidecar = path_of(log, FIRST + 2), log.path / name_of(FIRST + 2).sidecar
    size = path.stat().st_size
    with path.open("r+b") as reserved:
        reserved.truncate(size + 64 * KIB)
    sidecar.write_text(str(size))
    link.list_now()
    file = RemoteFile(link, name_of(FIRST + 2))
    with path.open("r+b") as written:
        written.seek(size)
        written.write(b"X" * 100)
    sidecar.write_text(str(size + 100))
    link.list_now()
    asked: list[str] = []
    ask, link.ask = link.ask, lambda *a, **k: (asked.append(k["headers"]["Range"]), ask(*a, **k))[1]  # type: ignore
    assert file.read(size, 100) == b"X" * 100
    # As the planner does behind it: whether more has come.
    assert file.read(size + 100, 4 * KIB) == bytes(4 * KIB)
    assert len(asked) == 1, asked


def test_rows_that_are_heard_of_come_with_the_news(growing: GrowingLog) -> None:
    path = growing.folder / name_of(FIRST).log
    with served(growing.folder) as node, linked(node.url) as link:
        link.list_now()
        asked: list[str] = []
        ask, link.ask = link.ask, lambda *a, **k: (asked.append(k["headers"]["Range"]), ask(*a, **k))[1]  # type: ignore
        file = RemoteFile(link, name_of(FIRST))
        link.listen()
        end = durable(file)
        for number in range(1, 30):
            await_waiting(node)
            growing.section([insert_payload(TABLE, number, "a", number)])
            growing.publish_whole()
            begin, end = end, await_more(file, end)
            assert file.read(begin, end - begin) == path.read_bytes()[begin:end]
            # As the planner does behind it: whether more has come.
            assert file.read(end, 4 * KIB) == bytes(4 * KIB)
        assert len(asked) == 1, asked
        file.close()


def durable(file: RemoteFile) -> int:
    sidecar = file.sidecar()
    # A sidecar is truncated, and written anew.
    return -1 if sidecar is None or sidecar.content is None else sidecar.content.end


def await_more(file: RemoteFile, end: int) -> int:
    deadline = time.monotonic() + 20
    while (found := durable(file)) <= end:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return found


def await_waiting(node: ServedNode) -> None:
    deadline = time.monotonic() + 20
    while not node.counted.waiting:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_one_that_is_gone_is_not_found(link: Link, log: LogFolder) -> None:
    file = RemoteFile(link, name_of(FIRST))
    path_of(log, FIRST).unlink()
    for use in (lambda: RemoteFile(link, name_of(FIRST)), file.reopen, lambda: RemoteFile(link, name_of(FIRST + 77))):
        with pytest.raises(FileNotFoundError):
            use()
    link.list_now()
    with pytest.raises(FileNotFoundError):
        file.check_named()
    with pytest.raises(FileNotFoundError):
        file.read(0, 1)


def test_one_that_was_cleaned_is_not_found(link: Link, log: LogFolder) -> None:
    state = log.path.with_name("cdc_raw.cdc_tail")
    write_cleaned(state, CleanedFile(segments=Ids.of([FIRST])))
    with pytest.raises(FileNotFoundError, match="cleaned"):
        RemoteFile(link, name_of(FIRST))


def test_another_file_of_that_name_is_refused_and_can_be_opened_anew(link: Link, log: LogFolder) -> None:
    file, path = RemoteFile(link, name_of(FIRST)), path_of(log, FIRST)
    data = path.read_bytes()
    other = path.with_name("other")
    other.write_bytes(data[:8] + b"X" * 100 + data[108:])
    other.replace(path)
    link.list_now()
    with pytest.raises(SystemFailedError, match="other bytes than were asked for") as error:
        file.read(0, 10)
    assert error.value.found == "another file of that name"
    file.reopen()
    assert file.read(8, 100) == b"X" * 100


def test_beyond_its_end_nothing_is_visible_yet_and_then_it_is(link: Link, log: LogFolder) -> None:
    path = path_of(log, FIRST + 2)
    file, size = RemoteFile(link, name_of(FIRST + 2)), path.stat().st_size
    assert file.read(size, 100) == file.read(size + 10, 1) == b""
    with path.open("ab") as more:
        more.write(b"more")
    link.list_now()
    assert file.read(size, 100) == b"more"
    assert file.read(size - 1, 3)[1:] == b"mo"


def test_bytes_fetched_before_a_change_was_told_are_not_given_behind_it(growing: GrowingLog) -> None:
    """A preallocated file is filled while it is read: its length and its name stay."""
    path = growing.folder / name_of(FIRST).log
    with served(growing.folder) as node, linked(node.url) as link:
        link.list_now()
        file = RemoteFile(link, name_of(FIRST))
        for number in range(1, 40):
            promised = link.info(path.name)[0].idx  # type: ignore[union-attr]
            # More than is promised: zeros, by now.
            ahead = file.read(0, 64 * KIB)
            assert ahead[:promised] == path.read_bytes()[:promised]
            growing.section([insert_payload(TABLE, number, "a", number)])
            growing.publish()
            link.list_now()
            end = link.info(path.name)[0].idx  # type: ignore[union-attr]
            assert end > promised
            assert file.read(promised, end - promised) == path.read_bytes()[promised:end]
            assert file.read(0, end) == path.read_bytes()[:end]
        file.close()


def test_what_is_promised_is_there_while_another_thread_writes(growing: GrowingLog) -> None:
    stop, path = threading.Event(), growing.folder / name_of(FIRST).log

    def write() -> None:
        number = 0
        while not stop.wait(0.001) and number < 2000:
            number += 1
            growing.section([insert_payload(TABLE, number, "a", number)])
            growing.publish()

    writing = threading.Thread(target=write)
    with served(growing.folder) as node, linked(node.url) as link:
        link.list_now()
        link.listen()
        file = RemoteFile(link, name_of(FIRST))
        writing.start()
        try:
            ends = set()
            while len(ends) < 100:
                sidecar = file.sidecar()
                if sidecar is None or sidecar.content is None:
                    # It is truncated, and written anew.
                    continue
                end = sidecar.content.end
                ends.add(end)
                read = file.read(0, end)
                assert read == path.read_bytes()[:end]
        finally:
            stop.set()
            writing.join()


@pytest.mark.parametrize(
    "answer",
    [
        http(b"x" * 100, "200 OK"),
        http(b"x" * 10, "206 Partial Content", ["Content-Range: bytes 1-10/100"]),
        http(b"x" * 10, "206 Partial Content", ["Content-Range: bytes 0-20/100"]),
        http(b"x" * 10, "206 Partial Content", ["Content-Range: bytes 0-9/5"]),
        http(b"x" * 10, "206 Partial Content", ["Content-Range: lines 0-9/100"]),
        http(b"x" * 10, "206 Partial Content", [f"Content-Range: bytes 0-9/{'9' * 5000}"]),
        http(b"x" * 10, "206 Partial Content", [f"Content-Range: bytes {'0' * 5000}-9/100"]),
        http(b"x" * 10, "206 Partial Content"),
        http(b"", "304 Not Modified"),
    ],
    ids=[
        "whole",
        "another place",
        "another length",
        "beyond its end",
        "other units",
        "a long size",
        "a long place",
        "no range",
        "not modified",
    ],
)
def test_other_bytes_than_were_asked_for_are_none(answer: bytes) -> None:
    with (
        odd_server(answer) as server,
        linked(f"http://{LOCAL}:{server.port}") as link,
        pytest.raises(SystemFailedError, match="other bytes"),
    ):
        RemoteFile(link, name_of(FIRST))


def test_a_long_etag_is_that_of_no_file() -> None:
    """A node that lies about its files harms nobody but its readers, and ends none of them with a bug."""
    headers = ["Content-Range: bytes 0-9/10", f'ETag: "{"9" * 5000}-1"']
    with (
        odd_server(http(b"x" * 10, "206 Partial Content", headers)) as server,
        linked(f"http://{LOCAL}:{server.port}") as link,
    ):
        status = RemoteFile(link, name_of(FIRST)).status()
    assert (status.device, status.inode) == (0, 0)
