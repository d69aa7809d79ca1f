"""A log whose newest segment, or all of whose own segments, are gone: an error at open and in replay, never a gap."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tailer.errors import LossError, RefusedError
from tests.helpers.amount import examples
from tests.helpers.cli import ROOT
from tests.writer.crash.crashes import Crash, Recorder, Recovery, crashes, log_name
from tests.writer.crash.disk import Disk, everything_kept, nothing_kept
from tests.writer.crash.files import FakeFiles
from tests.writer.crash.session import FOLDER, Session, open_log
from tests.writer.crash.tables import PLAIN, A
from tests.writer.crash.workloads import random_script
from tests.writer.small_log import note, numbers, order, own, small


def written(folder: Path) -> list[int]:
    """The ids of a closed log's segments, each with changes, whose numbers go up from 0."""
    with small(folder) as log:
        log.append_many(order(number, 100) for number in range(100)).wait()
    return own(folder)


def path_of(folder: Path, segment: int, of: str = "commitlog") -> Path:
    return folder / of / f"CommitLog-7-{segment}.log"


def command_in(error: LossError) -> str:
    """The command of its remedy."""
    return error.sentence().partition("Restore what is missing: ")[2].partition(" where readers")[0]


def test_the_newest_segment_is_written_down(tmp_path: Path) -> None:
    segments = written(tmp_path)
    assert (tmp_path / "cdc_raw" / "NEWEST").read_text() == f"{segments[-1]}\n"


def test_a_missing_newest_segment_is_a_loss_at_open(tmp_path: Path) -> None:
    *_, before, newest = written(tmp_path)
    path_of(tmp_path, newest).unlink()
    with pytest.raises(LossError, match=rf"newest segment of the log is gone at {newest}:0.*found {before} as") as got:
        small(tmp_path)
    # Again, as nothing was accepted, and then as the error says.
    with pytest.raises(LossError):
        small(tmp_path)
    subprocess.run(command_in(got.value), shell=True, check=True)
    with small(tmp_path) as log:
        assert numbers(log.replay()) == list(range(100))


def test_a_missing_folder_is_a_loss_at_open(tmp_path: Path) -> None:
    segments = written(tmp_path)
    shutil.rmtree(tmp_path / "commitlog")
    with pytest.raises(LossError, match=rf"at {segments[-1]}:0.*found no segment with changes") as got:
        small(tmp_path)
    subprocess.run(command_in(got.value), shell=True, check=True)
    with small(tmp_path) as log:
        assert numbers(log.replay()) == list(range(100))


KILLED = """
import os, signal, sys, time
from tests.writer.small_log import note, small

log = small(sys.argv[1], threads=True)
for number in range(int(sys.argv[2])):
    log.append(note(number, 100)).wait()
while log.appender.spares.ready is None:
    time.sleep(0.001)
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(folder: Path, count: int) -> int:
    """The newest segment of a log that had the next one ready, and acknowledged so many rows that no reader gets."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(count)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    newest = int((folder / "cdc_raw" / "NEWEST").read_text())
    assert max(int(path.name.split("-")[2][:-4]) for path in (folder / "commitlog").glob("*.log")) > newest
    return newest


@pytest.mark.parametrize("count", [1, 100])
def test_a_missing_newest_segment_is_a_loss_beside_a_segment_made_ahead(tmp_path: Path, count: int) -> None:
    newest = killed(tmp_path, count)
    path_of(tmp_path, newest).unlink()
    for _ in range(2):
        with pytest.raises(LossError, match=rf"newest segment of the log is gone at {newest}:0") as got:
            small(tmp_path)
    assert ("found no segment with changes" in str(got.value)) is (count == 1)
    # Its rows are in no other file than the one that the remedy restores.
    subprocess.run(command_in(got.value), shell=True, check=True)
    with small(tmp_path) as log:
        assert numbers(log.replay()) == list(range(count))


def test_a_loss_beside_a_segment_made_ahead_may_be_accepted(tmp_path: Path) -> None:
    newest = killed(tmp_path, 100)
    path_of(tmp_path, newest).unlink()
    (tmp_path / "cdc_raw" / "NEWEST").unlink()
    with small(tmp_path) as log:
        log.append(note(1000)).wait()
        *found, last = numbers(log.replay())
        assert found == list(range(len(found)))
        assert last == 1000


def test_a_loss_may_be_accepted(tmp_path: Path) -> None:
    newest = written(tmp_path)[-1]
    with small(tmp_path) as log:
        end = log.end
    path_of(tmp_path, newest).unlink()
    with pytest.raises(LossError, match=f"delete {tmp_path}/cdc_raw/NEWEST to go on without it"):
        small(tmp_path)
    (tmp_path / "cdc_raw" / "NEWEST").unlink()
    with small(tmp_path) as log:
        log.append(order(1000)).wait()
        found = numbers(log.replay())
        assert found[:-1] == list(range(len(found) - 1))
        assert found[-1] == 1000
        # A store that stands in what is lost is told.
        with pytest.raises(LossError, match="a replay begins in a segment that is gone"):
            list(log.replay(end))


@pytest.mark.parametrize("what", ["newest", "folder"])
def test_a_replay_of_an_open_log_is_told(tmp_path: Path, what: str) -> None:
    with small(tmp_path) as log:
        log.append_many(order(number, 100) for number in range(100)).wait()
        if what == "newest":
            path_of(tmp_path, log.end.segment).unlink()
        else:
            shutil.rmtree(tmp_path / "commitlog")
        with pytest.raises(LossError, match=f"a segment of the log is gone at {log.end.segment}:0"):
            list(log.replay())


def test_a_log_of_an_earlier_version_opens(tmp_path: Path) -> None:
    segments = written(tmp_path)
    (tmp_path / "cdc_raw" / "NEWEST").unlink()
    small(tmp_path).close()
    assert (tmp_path / "cdc_raw" / "NEWEST").read_text() == f"{segments[-1]}\n"


def test_segments_of_an_earlier_version_behind_it_are_no_loss(tmp_path: Path) -> None:
    """That version wrote on, and discarded what was the newest."""
    segments = written(tmp_path)
    (tmp_path / "cdc_raw" / "NEWEST").write_text(f"{segments[0]}\n")
    path_of(tmp_path, segments[0]).unlink()
    with small(tmp_path) as log:
        assert numbers(log.replay())[-1] == 99
    assert (tmp_path / "cdc_raw" / "NEWEST").read_text() == f"{segments[-1]}\n"


def test_one_that_says_nothing(tmp_path: Path) -> None:
    written(tmp_path)
    newest = tmp_path / "cdc_raw" / "NEWEST"
    newest.write_text("x\n")
    with pytest.raises(RefusedError, match=f"{newest}.*expected a number, found b'x.*delete this file"):
        small(tmp_path)
    newest.unlink()
    small(tmp_path).close()


def test_a_new_log_and_one_without_a_change_open(tmp_path: Path) -> None:
    for _ in range(3):
        small(tmp_path).close()
    assert not (tmp_path / "cdc_raw" / "NEWEST").exists()
    with small(tmp_path) as log:
        log.append(note(1)).wait()
        log.discard_before(log.end)
    for _ in range(3):
        with small(tmp_path) as log:
            log.discard_before(log.end)
            assert numbers(log.replay()) == [1]


def test_no_crash_leaves_a_log_that_counts_as_lost() -> None:
    """Before each call of a run and of a recovery: with all that the disk had, and with nothing that was not synced."""
    disks: list[Disk] = []
    disk = Disk()
    disk.make_folders(FOLDER)
    files = FakeFiles(disk, lambda call: disks.append(disk.snapshot()))
    for _ in range(3):
        run = Session(lambda: open_log(files))
        run.append(A, 1)
        run.append(PLAIN, 1, size=1500)
        run.append(A, 1, size=1500)
        run.close()
    assert len(disks) > 100
    for before in disks:
        for keep in (everything_kept, nothing_kept):
            left = FakeFiles(before.after_power_loss(keep))
            open_log(left).close()
            open_log(FakeFiles(left.disk.snapshot())).close()


def taken_away(crash: Crash) -> tuple[Disk, Disk, int] | None:
    """The disk without the newest segment, with it again as the remedy says, and its id; None where readers have no
    name of it, or no entry was ever written."""
    newest = int(crash.disk.files_in(FOLDER / "cdc_raw").get("NEWEST", b"0"))
    if not newest:
        return None
    own, raw = (FOLDER / folder / log_name(newest) for folder in ("commitlog", "cdc_raw"))
    inode = crash.disk.find(own)
    assert inode is not None, "the segment that NEWEST names is there after every crash"
    if crash.disk.find(raw) is None:
        return None
    lost = crash.disk.snapshot()
    lost.name(own, None)
    restored = lost.snapshot()
    restored.name(own, inode)
    return lost, restored, newest


@pytest.mark.parametrize("seed", range(examples(12)))
def test_every_crash_can_be_told_from_a_missing_newest_segment(seed: int) -> None:
    """Random workloads that make segments ahead, and a segment made ahead alone is never taken for the newest."""
    run = Recorder(ahead=seed)
    random_script(seed)(run)
    recovery = Recovery(run.commits, {})
    rng = random.Random(seed)
    found = 0
    for moment in rng.sample(run.moments, min(30, len(run.moments))):
        for crash in crashes(moment, [rng.randrange(2**32)]):
            recovery.check(crash)
            disks = taken_away(crash)
            if disks is None:
                continue
            lost, restored, newest = disks
            with pytest.raises(LossError, match=f"newest segment of the log is gone at {newest}:0"):
                open_log(FakeFiles(lost), boot_id=lambda machine=crash.machine: machine)
            assert lost.find(FOLDER / "cdc_raw" / log_name(newest)) is not None
            recovery.check(crash._replace(disk=restored))
            found += 1
    assert found
