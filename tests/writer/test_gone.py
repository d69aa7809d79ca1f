"""Folders that are deleted under an open log: it ends with an error, and acknowledges nothing that nobody can read."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError, SystemFailedError
from tests.writer.plain import until
from tests.writer.small_log import note, numbers, order, small
from writer_hooks import SegmentLog, SyncPolicy, batch, group, periodic
from writer_hooks.disk import RealFiles
from writer_hooks.presence import LOOK_SECONDS


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


@pytest.mark.parametrize("threads", [True, False], ids=["threads", "no threads"])
@pytest.mark.parametrize("change", [order(2), note(2)], ids=["captured", "not captured"])
@pytest.mark.parametrize("lose", GONE.values(), ids=GONE)
def test_a_log_whose_folder_is_gone_ends(
    tmp_path: Path, lose: Callable[[Path], None], change: Any, threads: bool
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    log = small(folder, threads=threads, segment_bytes=1 << 20)
    log.append(order(1)).wait()
    lose(folder)
    with pytest.raises((SystemFailedError, RefusedError), match="is gone"):
        log.append(change).wait()
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


def replaced(folder: Path) -> None:
    """Moved away, and copied back: what is written now goes into the files that were moved."""
    elsewhere = folder.with_name("elsewhere")
    folder.rename(elsewhere)
    shutil.copytree(elsewhere, folder)


def is_refused(log: SegmentLog) -> bool:
    try:
        log.append(note(2)).wait()
    except (SystemFailedError, RefusedError) as error:
        return "is gone" in str(error)
    return False


@pytest.mark.parametrize("threads", [True, False], ids=["threads", "no threads"])
@pytest.mark.parametrize("part", ["", "commitlog", "cdc_raw"])
def test_a_copy_in_the_place_of_a_folder_is_seen_soon(tmp_path: Path, part: str, threads: bool) -> None:
    (tmp_path / "data").mkdir()
    with small(tmp_path / "data", threads=threads, segment_bytes=1 << 20) as log:
        log.append(note(1)).wait()
        replaced(tmp_path / "data" / part)
        until(lambda: is_refused(log), 5 * LOOK_SECONDS)


def test_an_idle_log_notices(tmp_path: Path) -> None:
    with small(tmp_path, threads=True, segment_bytes=1 << 20) as log:
        log.append(note(1)).wait()
        deleted(tmp_path / "commitlog")
        until(lambda: log.stats().dead is not None)


def test_the_error_says_what_is_gone_and_what_to_do(tmp_path: Path) -> None:
    with small(tmp_path, threads=True, segment_bytes=1 << 20) as log:
        log.append(order(1)).wait()
        deleted(tmp_path / "cdc_raw")
        with pytest.raises((SystemFailedError, RefusedError)):
            log.append(order(2)).wait()
        waited = log.stats().dead
    assert str(tmp_path / "cdc_raw") in str(waited)
    assert "Restore it, or make the folder anew" in str(waited)
    # The log's own files are there: what was acknowledged is, too.
    with small(tmp_path) as again:
        assert numbers(again.replay())[:1] == [1]


@pytest.mark.parametrize("policy", [batch(), group(5), periodic(5)], ids=str)
def test_no_policy_acknowledges_what_is_in_no_file(tmp_path: Path, policy: SyncPolicy) -> None:
    with small(tmp_path, threads=True, segment_bytes=1 << 20, sync=policy) as log:
        log.append(note(1)).wait()
        deleted(tmp_path / "commitlog")
        with pytest.raises((SystemFailedError, RefusedError), match="is gone"):
            log.append(note(2)).wait(20)


def test_what_keeps_a_name_from_being_looked_at_is_no_sign(tmp_path: Path) -> None:
    class Shut(RealFiles):
        def there(self, path: Path) -> bool:
            return False

        def identity(self, file: int | Path) -> tuple[int, int]:
            if isinstance(file, Path):
                raise PermissionError(errno.EACCES, "not now", str(file))
            return super().identity(file)

    with small(tmp_path, files=Shut()) as log:
        log.append(note(1)).wait()


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

    def there(self, path: Path) -> bool:
        self.calls["there"] += 1
        return super().there(path)

    def identity(self, file: int | Path) -> tuple[int, int]:
        self.calls["identity"] += 1
        return super().identity(file)


def test_a_write_costs_one_write_one_sync_and_two_looks(tmp_path: Path) -> None:
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
        # A file's status costs the next write more: once a second will do.
        assert files.calls["there"] == 2 * 200
        assert files.calls["identity"] <= 5 * (seconds + 2)
        assert files.calls["open"] == 0
    assert os.listdir(tmp_path / "cdc_raw") == ["NEWEST"]  # noqa: PTH208
