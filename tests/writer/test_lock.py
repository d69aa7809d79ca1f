"""`commitlog/LOCK`, deleted or replaced under an open log: no second writer gets in, and the first ends."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tailer.errors import RefusedError, SystemFailedError
from tests.helpers.cli import ROOT
from tests.writer.crash.disk import Disk
from tests.writer.crash.files import FakeFiles, Fault
from tests.writer.crash.session import FOLDER, open_log
from tests.writer.plain import until
from tests.writer.small_log import note, numbers, small
from writer_hooks import SegmentLog
from writer_hooks.disk import RealFiles
from writer_hooks.presence import LOOK_SECONDS


def deleted(folder: Path) -> None:
    (folder / "commitlog" / "LOCK").unlink()


def replaced(folder: Path) -> None:
    """As an editor or a copy makes it anew."""
    new = folder / "commitlog" / "copy"
    new.write_text("pid 1 on somewhere\n")
    new.rename(folder / "commitlog" / "LOCK")


LOSE: dict[str, Callable[[Path], None]] = {"deleted": deleted, "replaced": replaced}

SECOND = """
import sys
from tailer.errors import CdcError
from tests.writer.small_log import note, small

try:
    with small(sys.argv[1]) as log:
        log.append(note(99)).wait()
except CdcError as error:
    sys.exit(error.sentence())
"""


def is_dead(log: SegmentLog) -> bool:
    try:
        log.append(note(2)).wait()
    except (SystemFailedError, RefusedError) as error:
        return "the lock file of the open log is gone" in str(error)
    return False


@pytest.mark.parametrize("lose", LOSE.values(), ids=LOSE)
def test_no_second_writer_gets_in(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    with small(tmp_path, segment_bytes=1 << 20) as log:
        log.append(note(1)).wait()
        lose(tmp_path)
        with pytest.raises(RefusedError, match="another writer has this log open, in this process"):
            small(tmp_path)
        done = subprocess.run(
            [sys.executable, "-c", SECOND, str(tmp_path)], cwd=ROOT, check=False, capture_output=True, text=True
        )
        assert "another writer has this log open, and its lock file was deleted or replaced" in done.stderr
        assert str(tmp_path / "commitlog" / "LOCK") in done.stderr
        assert done.returncode == 1
    with small(tmp_path) as again:
        assert numbers(again.replay()) == [1]


@pytest.mark.parametrize("threads", [True, False], ids=["threads", "no threads"])
@pytest.mark.parametrize("lose", LOSE.values(), ids=LOSE)
def test_the_writer_notices_soon(tmp_path: Path, lose: Callable[[Path], None], threads: bool) -> None:
    with small(tmp_path, threads=threads, segment_bytes=1 << 20) as log:
        log.append(note(1)).wait()
        lose(tmp_path)
        until(lambda: is_dead(log), 5 * LOOK_SECONDS)
        dead = str(log.stats().dead)
    assert str(tmp_path / "commitlog" / "LOCK") in dead
    assert "Find out what deleted it" in dead
    with small(tmp_path) as again:
        found = numbers(again.replay())
        assert found == [1, *[2] * (len(found) - 1)]


def test_an_idle_log_notices(tmp_path: Path) -> None:
    with small(tmp_path, threads=True, segment_bytes=1 << 20) as log:
        deleted(tmp_path)
        until(lambda: log.stats().dead is not None)


class NoFolderLocks(RealFiles):
    """A file system that locks no folder, as NFS."""

    def lock(self, fd: int) -> bool:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return super().lock(fd)


def test_the_first_leaves_a_second_alone_where_no_folder_can_be_locked(tmp_path: Path) -> None:
    """What the second acknowledges is believed by the next open: the first notes no end of its own."""
    first = small(tmp_path, files=NoFolderLocks(), segment_bytes=1 << 20)
    first.append(note(1)).wait()
    with pytest.raises(RefusedError, match="another writer"):
        small(tmp_path, files=NoFolderLocks())
    deleted(tmp_path)
    with small(tmp_path, files=NoFolderLocks()) as second:
        second.append(note(3)).wait()
        until(lambda: is_dead(first), 5 * LOOK_SECONDS)
        first.close()
        second.append(note(4)).wait()
    with small(tmp_path) as again:
        assert [number for number in numbers(again.replay()) if number != 2] == [1, 3, 4]


def test_whatever_else_keeps_the_folder_from_being_locked_is_an_error() -> None:
    disk = Disk()
    disk.make_folders(FOLDER)
    files = FakeFiles(disk)
    files.faults.append(Fault("lock", errno.EIO, ending="commitlog"))
    with pytest.raises(SystemFailedError, match="the log cannot be opened"):
        open_log(files)
    assert not files.open_descriptors


def test_who_is_refused_leaves_nothing_open() -> None:
    disk = Disk()
    disk.make_folders(FOLDER)
    files = FakeFiles(disk)
    log = open_log(files)
    files.another().unlink(FOLDER / "commitlog" / "LOCK")
    other = files.another()
    with pytest.raises(RefusedError, match="its lock file was deleted or replaced"):
        open_log(other)
    assert not other.open_descriptors
    log.close()
    assert not files.open_descriptors
    open_log(other).close()
