"""Folders that are deleted under an open log: it ends with an error, and acknowledges nothing that nobody can read."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import CdcError, RefusedError, SystemFailedError
from tests.writer.small_log import note, numbers, order, small
from writer_hooks.disk import RealFiles


def deleted(folder: Path) -> None:
    """The log writes there meanwhile: what it made while others went goes too."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def emptied(folder: Path) -> None:
    """Deleted and made anew: a sidecar there would have no segment beside it."""
    deleted(folder)
    folder.mkdir()


GONE: dict[str, Callable[[Path], None]] = {
    "all of it": deleted,
    "cdc_raw": lambda folder: deleted(folder / "cdc_raw"),
    "commitlog": lambda folder: deleted(folder / "commitlog"),
    "cdc_raw, which is there again": lambda folder: emptied(folder / "cdc_raw"),
    "all of it, moved away": lambda folder: folder.rename(folder.with_name("elsewhere")) and None,
}


def until_refused(log: Any, change: Any, seconds: float = 20.0) -> tuple[CdcError, int]:
    """What it is refused with, and how often it was acknowledged before."""
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end:
        try:
            log.append(change).wait()
        except CdcError as error:
            return error, count
        count += 1
        time.sleep(0.001)
    raise AssertionError("everything was acknowledged")


@pytest.mark.parametrize("change", [order(2), note(2)], ids=["captured", "not captured"])
@pytest.mark.parametrize("lose", GONE.values(), ids=GONE)
def test_a_log_whose_folder_is_gone_ends(tmp_path: Path, lose: Callable[[Path], None], change: Any) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    log = small(folder, threads=True, segment_bytes=1 << 20)
    log.append(order(1)).wait()
    lose(folder)
    until_refused(log, change)
    with pytest.raises(RefusedError, match=r"the log is dead .* is gone"):
        log.append(change)
    assert "is gone" in str(log.stats().dead)
    log.close()
    # What the errors say: the folder is made again, and that the newest segment is lost is accepted.
    folder.mkdir(exist_ok=True)
    (folder / "cdc_raw" / "NEWEST").unlink(missing_ok=True)
    with small(folder) as again:
        again.append(order(3)).wait()
        assert numbers(again.replay())[-1] == 3


def test_the_error_says_what_is_gone_and_what_to_do(tmp_path: Path) -> None:
    with small(tmp_path, threads=True, segment_bytes=1 << 20) as log:
        log.append(order(1)).wait()
        deleted(tmp_path / "cdc_raw")
        found, acknowledged = until_refused(log, order(2))
        waited = log.stats().dead
    assert str(tmp_path / "cdc_raw") in str(waited)
    assert "Restore it, or make the folder anew" in str(waited)
    assert isinstance(found, SystemFailedError | RefusedError)
    # The log's own files are there: what was acknowledged is, too.
    with small(tmp_path) as again:
        assert numbers(again.replay()) == [1] + [2] * acknowledged


def test_without_threads_the_next_write_is_refused(tmp_path: Path) -> None:
    log = small(tmp_path)
    log.append(order(1)).wait()
    deleted(tmp_path / "cdc_raw")
    log.append(order(2)).wait()
    with pytest.raises(RefusedError, match="is gone"):
        log.append(order(3))
    log.close()


def test_a_segment_that_cannot_be_made_as_its_folder_is_gone_ends_the_log(tmp_path: Path) -> None:
    log = small(tmp_path)
    log.append(note(1)).wait()
    deleted(tmp_path / "commitlog")
    with pytest.raises(SystemFailedError, match="is gone"):
        log.append_many(note(number, 200) for number in range(100))
    log.close()


def test_close_tells_that_the_folder_is_gone(tmp_path: Path) -> None:
    log = small(tmp_path, threads=True, publish_ms=60_000.0, segment_bytes=1 << 20)
    log.append(order(1))
    deleted(tmp_path / "cdc_raw")
    with pytest.raises(SystemFailedError, match="is gone"):
        log.close()


class Counted(RealFiles):
    """The disk, and how often each call was made."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def open(self, path: Path, *, create: bool = False, exclusive: bool = False, write: bool = True) -> int:
        self.calls["open"] += 1
        return super().open(path, create=create, exclusive=exclusive, write=write)

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, at: int) -> int:
        self.calls["pwrite"] += 1
        return super().pwrite(fd, data, at)

    def fdatasync(self, fd: int) -> None:
        self.calls["fdatasync"] += 1
        super().fdatasync(fd)


def test_a_write_costs_one_write_and_one_sync(tmp_path: Path) -> None:
    files = Counted()
    with small(tmp_path, threads=True, files=files, segment_bytes=1 << 20) as log:
        log.append(note(0)).wait()
        while log.appender.spares.ready is None:
            time.sleep(0.01)
        files.calls.clear()
        began = time.monotonic()
        for number in range(200):
            log.append(note(number)).wait()
        seconds = time.monotonic() - began
        assert (files.calls["pwrite"], files.calls["fdatasync"]) == (200, 200)
        # Two names are looked at once a second.
        assert files.calls["open"] <= 2 * (seconds + 2)
    assert os.listdir(tmp_path / "cdc_raw") == ["NEWEST"]  # noqa: PTH208
