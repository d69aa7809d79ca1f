"""What a tail, a segment, a state of images or a server had taken is given back where a later step fails."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import CdcError, SystemFailedError
from tailer.image_state.file import ImageFile
from tailer.metrics.server import Server
from tailer.options.listen import Listen
from tailer.options.tail import TailOptions
from tailer.planning.open_segments import OPEN_MAX, OpenSegments
from tailer.segments.opened import OpenedFile
from tailer.segments.segment import SegmentFile
from tailer.state.consumers import take_consumer
from tailer.state.log_folder import state_folder
from tailer.tail.deliver import deliver
from tailer.tail.images.stream import ImageStream
from tests.helpers.log_writer import LogFolder, one_row_log, simple_table
from tests.helpers.tails import open_tail

FIRST = 1_700_000_000_001


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    return one_row_log(tmp_path / "cdc_raw", simple_table("ks", "t"), FIRST, 3)


@pytest.fixture
def unreadable(tmp_path: Path) -> Path:
    """Neither a key for masks nor a server's settings."""
    (file := tmp_path / "file").write_text("x")
    file.chmod(0o600)
    return file


@contextmanager
def nothing_left(error: type[BaseException] = OSError) -> Iterator[None]:
    before = sorted(path.name for path in Path("/proc/self/fd").iterdir())
    with pytest.raises(error):
        yield
    assert sorted(path.name for path in Path("/proc/self/fd").iterdir()) == before


def fail(*args: object, **named: object) -> Any:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def test_a_tail_that_cannot_be_made_gives_the_name_back(log: LogFolder, unreadable: Path) -> None:
    options = TailOptions(consumer="c")
    with nothing_left(CdcError):
        open_tail(log.path, replace(options, cassandra_yaml=unreadable))
    os.close(take_consumer(state_folder(log.path), "c", 0))


def test_a_tail_that_cannot_let_its_hold_go_gives_the_name_back(
    log: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    tail = open_tail(log.path, TailOptions(consumer="c"))
    monkeypatch.setattr("tailer.tail.holding.Holding.let_go", fail)
    with pytest.raises(OSError, match="Too many"):
        tail.close()
    os.close(take_consumer(state_folder(log.path), "c", 0))


def test_a_segment_that_cannot_be_asked_is_closed(log: LogFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    path = next(log.path.glob("*.log"))
    monkeypatch.setattr(OpenedFile, "status", fail)
    with nothing_left():
        SegmentFile(path, FIRST)


def test_a_segment_is_opened_when_another_one_is_closed() -> None:
    """Behind it nothing is left to fail, and one descriptor fewer is needed."""
    files, ends = OpenSegments(), []

    class One:
        def __init__(self, number: int) -> None:
            self.number = number
            assert len(files) < OPEN_MAX

        def close(self) -> None:
            ends.append(self.number)

    for number in range(OPEN_MAX + 2):
        files.file(number, lambda number=number: One(number))  # type: ignore[misc, arg-type, return-value]
    assert ends == [0, 1]


def test_a_state_of_images_that_cannot_be_made_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.image_state.file.TABLES", (b"x" * 600,))
    with nothing_left(CdcError):
        ImageFile(tmp_path / "images")
    monkeypatch.undo()
    ImageFile(tmp_path / "images").close()


def test_a_stream_of_images_that_cannot_write_gives_the_state_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = ImageStream(ImageFile(tmp_path / "images"), "c", ["local"], lambda batch: True)
    stream.open()
    monkeypatch.setattr(ImageFile, "write", fail)
    with pytest.raises(OSError, match="Too many"):
        stream.close()
    monkeypatch.undo()
    ImageFile(tmp_path / "images").close()


@pytest.mark.parametrize("name", ["socket.socketpair", "threading.Thread.start"])
def test_a_page_that_cannot_be_begun_gives_its_port_back(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setattr(name, fail)
    before = set(Path("/proc/self/fd").iterdir())
    with pytest.raises(OSError, match="Too many"):
        Server(Listen("127.0.0.1", port), {})
    assert set(Path("/proc/self/fd").iterdir()) == before
    monkeypatch.undo()
    Server(Listen("127.0.0.1", port), {}).close()


def test_a_step_behind_the_log_that_fails_still_closes_the_outlet() -> None:
    class Feed:
        """Of a log that ends at once, and whose last words nobody takes."""

        def __init__(self) -> None:
            self.closed = False
            self.tail = self

        def open(self) -> None:
            raise SystemFailedError("away")

        def last_notices(self) -> list[str]:
            return ["words"]

        def close(self) -> None:
            self.closed = True

    feed = Feed()
    with pytest.raises(OSError, match="Too many"):
        deliver(feed, once=True, say=fail)  # type: ignore[arg-type]
    assert feed.closed
