"""What goes wrong around the writer: each failure has its error, code and remedy, and leaves what was acknowledged."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import CdcError, RefusedError, SystemFailedError, UsageError
from tailer.position import Position
from tests.helpers.cli import ROOT
from tests.writer.crash.crashes import raw_files, replayed
from tests.writer.crash.disk import Disk, everything_kept, nothing_kept
from tests.writer.crash.files import FakeFiles, Fault
from tests.writer.crash.reader import read_folder
from tests.writer.crash.session import FOLDER, Session, open_log
from tests.writer.crash.tables import PLAIN, TABLES, A, PlainChange
from writer_hooks import SegmentLog


@pytest.fixture
def files() -> FakeFiles:
    disk = Disk()
    disk.make_folders(FOLDER)
    return FakeFiles(disk)


@pytest.fixture
def run(files: FakeFiles) -> Session:
    """A log with two acknowledged rows."""
    session = Session(lambda: open_log(files))
    session.append(A)
    session.append(A)
    session.sync()
    assert session.acknowledged == 2
    return session


def failed(error: CdcError, kind: type[CdcError], code: int, *words: str) -> None:
    """The error's class and exit code, and what its text says."""
    assert isinstance(error, kind)
    assert error.code == code
    for word in words:
        assert word in str(error)


def appended_until_full(run: Session, size: int) -> int:
    """How many rows the log took until it said that the disk is full."""
    for accepted in range(20):
        try:
            run.append(A, size=size)
        except SystemFailedError as error:
            failed(error, SystemFailedError, 8, "disk is full")
            return accepted
    raise AssertionError("the log never said so")


def after_kill(files: FakeFiles, **options: Any) -> tuple[list[int], list[int]]:
    """What replay and reader have when the process was killed and the log opened again."""
    return _reopened(files.disk.snapshot(), **options)


def after_power_loss(files: FakeFiles) -> tuple[list[int], list[int]]:
    least = _reopened(files.disk.after_power_loss(nothing_kept), boot_id=lambda: "run 1")
    assert least == _reopened(files.disk.after_power_loss(everything_kept), boot_id=lambda: "run 1")
    return least


def _reopened(disk: Disk, **options: Any) -> tuple[list[int], list[int]]:
    log = open_log(FakeFiles(disk), **options)
    reading = read_folder(raw_files(disk))
    assert reading.unfinished == []
    return replayed(log, Position(0, 0)), reading.numbers


def test_fsync_failure_kills_the_log(files: FakeFiles, run: Session) -> None:
    files.faults.append(Fault("fdatasync", errno.EIO, ending=".log"))
    run.append(A)
    with pytest.raises(SystemFailedError) as caught:
        run.sync()
    failed(caught.value, SystemFailedError, 8, "an fsync failed", "Input/output error", "open it again", ".log")
    assert run.acknowledged == 2
    ticket = run.commits[2].ticket
    assert ticket is not None
    with pytest.raises(SystemFailedError, match="an fsync failed"):
        ticket.wait()  # type: ignore[attr-defined]
    with pytest.raises(RefusedError, match="dead") as refused:
        run.append(A)
    failed(refused.value, RefusedError, 6, "open it again")
    run.close()


def test_a_failed_fsync_is_remembered_in_the_machines_run(files: FakeFiles, run: Session) -> None:
    end = run.log.end
    files.faults.append(Fault("fdatasync", errno.EIO, ending=".log"))
    run.append(A)
    with pytest.raises(SystemFailedError):
        run.sync()
    marker = files.disk.tree()[FOLDER / "commitlog" / "FAILED"].decode()
    assert marker.split() == ["run", "0", str(end)] or marker.splitlines() == ["run 0", str(end)]
    # The cache still shows the third row, and it may never reach the disk.
    assert after_kill(files) == ([1, 2], [1, 2])
    assert after_power_loss(files) == ([1, 2], [1, 2])


def test_failed_is_gone_after_recovery(files: FakeFiles, run: Session) -> None:
    files.faults.append(Fault("fdatasync", errno.EIO, ending=".log"))
    run.append(A)
    with pytest.raises(SystemFailedError):
        run.sync()
    disk = files.disk.snapshot()
    session = Session(lambda: open_log(FakeFiles(disk)), run.commits[:2])
    assert FOLDER / "commitlog" / "FAILED" not in disk.tree()
    session.append(A)
    session.sync()
    assert _reopened(disk.snapshot()) == ([1, 2, 3], [1, 2, 3])
    assert _reopened(disk.after_power_loss(nothing_kept), boot_id=lambda: "run 1") == ([1, 2, 3], [1, 2, 3])


def test_an_untracked_segments_rows_survive_a_later_failed_fsync(files: FakeFiles) -> None:
    """A segment without sidecar has no published end: FAILED alone says how far to believe the cache."""
    run = Session(lambda: open_log(files))
    for _ in range(3):
        run.append(PLAIN)
        run.sync()
    files.faults.append(Fault("fdatasync", errno.EIO, ending=".log"))
    run.append(PLAIN)
    with pytest.raises(SystemFailedError):
        run.sync()
    assert after_kill(files) == ([1, 2, 3], [])


def test_fsync_failure_without_room_for_failed(files: FakeFiles, run: Session) -> None:
    files.faults.append(Fault("fdatasync", errno.EIO, ending=".log"))
    files.faults.append(Fault("open", errno.ENOSPC, ending="FAILED.tmp", times=100))
    run.append(A)
    with pytest.raises(SystemFailedError):
        run.sync()
    disk = files.disk.snapshot()
    replayed_rows, read = _reopened(disk)
    assert replayed_rows == read
    assert read[:2] == [1, 2]
    # What a reader was told is on the disk by then, though the failed fsync had marked it clean.
    assert _reopened(disk.after_power_loss(nothing_kept), boot_id=lambda: "run 1") == (read, read)


@pytest.mark.parametrize("ending", ["cdc_raw", "_cdc.idx.tmp"])
def test_failed_fsync_at_close_is_told(files: FakeFiles, run: Session, ending: str) -> None:
    name = "fsync_folder" if ending == "cdc_raw" else "fsync"
    files.faults.append(Fault(name, errno.EIO, ending=ending, times=100))
    with pytest.raises(SystemFailedError) as caught:
        run.close()
    failed(caught.value, SystemFailedError, 8, "Input/output error")
    assert after_kill(files) == ([1, 2], [1, 2])


def test_disk_full_before_the_write_leaves_a_usable_log(files: FakeFiles, run: Session) -> None:
    files.faults.append(Fault("pwrite", errno.ENOSPC, ending=".log"))
    run.append(A)
    with pytest.raises(SystemFailedError) as caught:
        run.sync()
    failed(caught.value, SystemFailedError, 8, "disk is full", "free space")
    assert run.acknowledged == 2
    run.append(A)
    run.sync()
    assert run.acknowledged == 4
    assert after_kill(files) == ([1, 2, 3, 4], [1, 2, 3, 4])
    assert after_power_loss(files) == ([1, 2, 3, 4], [1, 2, 3, 4])


def test_disk_full_at_roll_over_leaves_a_usable_log(files: FakeFiles, run: Session) -> None:
    full = Fault("pwrite", errno.ENOSPC, ending=".log", times=10**6)
    files.faults.append(full)
    accepted = appended_until_full(run, 1000)
    files.faults.remove(full)
    run.append(A, size=1000)
    run.sync()
    numbers = [row for commit in run.commits for row in commit.rows]
    assert run.acknowledged == len(run.commits) == accepted + 3
    assert after_kill(files) == (numbers, numbers)


def test_a_definition_refused_with_its_row_is_written_later(files: FakeFiles) -> None:
    """The segment's flag for a definition is taken back when the row did not get in."""
    run = Session(lambda: open_log(files))
    run.append(PLAIN, size=1700)
    full = Fault("pwrite", errno.ENOSPC, times=10**6)
    files.faults.append(full)
    appended_until_full(run, 1700)
    files.faults.remove(full)
    run.append(A)
    run.sync()
    numbers = [row for commit in run.commits for row in commit.rows]
    assert after_kill(files)[0] == numbers


def test_a_full_disk_for_the_sidecar_fails_no_ticket(files: FakeFiles, run: Session) -> None:
    full = Fault("open", errno.ENOSPC, ending="_cdc.idx.tmp", times=10**6)
    files.faults.append(full)
    run.append(A)
    run.sync()
    assert run.acknowledged == 3
    files.faults.remove(full)
    run.append(A)
    run.sync()
    assert read_folder(raw_files(files.disk)).numbers == [1, 2, 3, 4]


def test_read_error_in_recovery_changes_nothing(files: FakeFiles, run: Session) -> None:
    again = FakeFiles(files.disk.snapshot())
    again.faults.append(Fault("pread", errno.EIO, ending=".log", times=10**6))
    before = {path: data for path, data in again.disk.tree().items() if path.suffix == ".log"}
    with pytest.raises(SystemFailedError) as caught:
        open_log(again)
    failed(caught.value, SystemFailedError, 8, "Input/output error", ".log")
    assert {path: data for path, data in again.disk.tree().items() if path in before} == before
    assert again.open_descriptors == []
    again.faults.clear()
    assert _reopened(again.disk) == ([1, 2], [1, 2])


@pytest.mark.parametrize("nth", range(1, 6))
def test_read_error_at_any_read_of_recovery(files: FakeFiles, run: Session, nth: int) -> None:
    again = FakeFiles(files.disk.snapshot())
    again.faults.append(Fault("pread", errno.EIO, nth=nth))
    try:
        open_log(again)
    except CdcError as error:
        failed(error, SystemFailedError, 8, "Input/output error")
    again.faults.clear()
    assert _reopened(again.disk.snapshot()) == ([1, 2], [1, 2])


def test_permission(files: FakeFiles) -> None:
    files.faults.append(Fault("open", errno.EACCES))
    with pytest.raises(UsageError) as caught:
        open_log(files)
    failed(caught.value, UsageError, 2, "no permission for user", "Mend it with: ")


def test_permission_of_a_segment(files: FakeFiles, run: Session) -> None:
    again = FakeFiles(files.disk.snapshot())
    again.faults.append(Fault("open", errno.EACCES, ending=".log", times=10**6))
    with pytest.raises(UsageError) as caught:
        open_log(again)
    failed(caught.value, UsageError, 2, "no permission", ".log")


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        SegmentLog.open(tmp_path / "none", tables=list(TABLES))
    failed(caught.value, UsageError, 2, "no such folder", str(tmp_path / "none"))
    assert list(tmp_path.iterdir()) == []


def test_second_writer(tmp_path: Path) -> None:
    # Without threads, as one of them makes the next segment meanwhile.
    with SegmentLog.open(tmp_path, tables=list(TABLES), threads=False) as log:
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(RefusedError) as caught:
            SegmentLog.open(tmp_path, tables=list(TABLES))
        failed(caught.value, RefusedError, 6, str(os.getpid()), str(tmp_path))
        assert sorted(tmp_path.rglob("*")) == before
        log.append(PlainChange(A, (1,))).wait()
    SegmentLog.open(tmp_path, tables=list(TABLES)).close()


FORK = """
import os, sys, time
from pathlib import Path
from tailer.errors import RefusedError
from tests.writer.crash.tables import A, TABLES, PlainChange
from writer_hooks import SegmentLog

log = SegmentLog.open(Path(sys.argv[1]), tables=list(TABLES))
log.append(PlainChange(A, (1,))).wait()
if os.fork() == 0:
    try:
        log.append(PlainChange(A, (2,)))
    except RefusedError as error:
        print(error, flush=True)
    log.close()
    os.close(1)
    sys.stdin.read()
    os._exit(0)
time.sleep(60)
"""


def test_fork(tmp_path: Path) -> None:
    """A forked child cannot write, and does not keep the lock when its parent is killed."""
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", FORK, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        assert "forked" in parent.stdout.readline()
        parent.kill()
        parent.wait()
        with SegmentLog.open(tmp_path, tables=list(TABLES)) as log:
            assert replayed(log, Position(0, 0)) == [1]


def test_a_change_that_is_too_large(files: FakeFiles, run: Session) -> None:
    calls = len(files.calls)
    with pytest.raises(UsageError) as caught:
        run.append(A, size=2100)
    failed(caught.value, UsageError, 2, "too large", "half a segment", "transaction")
    assert len(files.calls) == calls
    run.append(A)
    run.sync()
    assert run.acknowledged == 3


def test_a_closed_log_takes_nothing(files: FakeFiles, run: Session) -> None:
    transaction = run.log.begin()
    run.close()
    run.close()
    for write in (lambda: run.append(A), lambda: run.log.begin(), lambda: transaction.append(PlainChange(A, (9,)))):
        with pytest.raises(RefusedError, match="closed") as caught:
            write()
        failed(caught.value, RefusedError, 6)


def test_short_writes_are_gone_on_with(files: FakeFiles) -> None:
    files.write_limit = 100
    run = Session(lambda: open_log(files))
    for _ in range(10):
        run.append(A, size=600)
        run.sync()
    numbers = [row for commit in run.commits for row in commit.rows]
    assert after_kill(files) == (numbers, numbers)
    assert after_power_loss(files) == (numbers, numbers)


def test_an_error_in_opening_leaves_nothing_open_or_locked(files: FakeFiles, run: Session) -> None:
    """At whatever call opening fails, another try finds the folder free and everything there."""
    count = _calls_of_opening(files.disk.snapshot())
    for name in ("open", "pwrite", "fsync", "fdatasync", "fsync_folder", "rename", "link", "truncate", "unlink"):
        for nth in range(1, count.get(name, 0) + 1):
            again = FakeFiles(files.disk.snapshot())
            again.faults.append(Fault(name, errno.EIO, nth=nth))
            try:
                open_log(again)
            except CdcError:
                assert again.open_descriptors == [], f"{name} {nth}"
            assert _reopened(again.disk.snapshot()) == ([1, 2], [1, 2]), f"{name} {nth}"


def _calls_of_opening(disk: Disk) -> dict[str, int]:
    files = FakeFiles(disk)
    open_log(files)
    names = [call.name for call in files.calls]
    return {name: names.count(name) for name in names}
