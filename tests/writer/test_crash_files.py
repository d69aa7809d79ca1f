"""The disk in memory forgets what a real one may forget, and nothing else."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tests.writer.crash.disk import SECTOR, Disk, Pick, everything_kept, nothing_kept, some_kept
from tests.writer.crash.files import FakeFiles, Fault

FOLDER = Path("/log")


@pytest.fixture
def files() -> FakeFiles:
    disk = Disk()
    disk.make_folders(FOLDER)
    return FakeFiles(disk)


def made(files: FakeFiles, name: str, data: bytes, *, durable: bool = True) -> int:
    fd = files.open(FOLDER / name, create=True)
    files.pwrite(fd, data, 0)
    if durable:
        files.fsync(fd)
        files.fsync_folder(FOLDER)
    return fd


def after(files: FakeFiles, pick: Pick) -> dict[str, bytes]:
    return {path.name: data for path, data in files.disk.after_power_loss(pick).tree().items()}


def test_a_kill_keeps_every_call(files: FakeFiles) -> None:
    made(files, "a", b"one", durable=False)
    assert files.disk.snapshot().tree() == {FOLDER / "a": b"one"}


def test_what_a_kill_leaves_is_still_unsynced(files: FakeFiles) -> None:
    made(files, "a", b"one", durable=False)
    assert files.disk.snapshot().after_power_loss(nothing_kept).tree() == {}


def test_a_snapshot_does_not_follow(files: FakeFiles) -> None:
    fd = made(files, "a", b"one")
    before = files.disk.snapshot()
    files.pwrite(fd, b"two", 0)
    files.unlink(FOLDER / "a")
    assert before.tree() == {FOLDER / "a": b"one"}


def test_bytes_without_sync_are_lost_or_kept(files: FakeFiles) -> None:
    fd = made(files, "a", b"one")
    files.pwrite(fd, b"two", 0)
    assert after(files, nothing_kept) == {"a": b"one"}
    assert after(files, everything_kept) == {"a": b"two"}
    files.fdatasync(fd)
    assert after(files, nothing_kept) == {"a": b"two"}


def test_a_file_synced_without_its_folder_has_no_name(files: FakeFiles) -> None:
    fd = made(files, "a", b"one", durable=False)
    files.fsync(fd)
    assert after(files, nothing_kept) == {}
    files.fsync_folder(FOLDER)
    assert after(files, nothing_kept) == {"a": b"one"}


def test_a_folder_synced_without_its_file_has_an_empty_one(files: FakeFiles) -> None:
    made(files, "a", b"one", durable=False)
    files.fsync_folder(FOLDER)
    assert after(files, nothing_kept) == {"a": b""}


def test_a_write_tears_by_sector(files: FakeFiles) -> None:
    fd = made(files, "a", b"a" * 4 * SECTOR)
    files.pwrite(fd, b"b" * 2 * SECTOR, SECTOR)
    found = {after(files, some_kept(seed))["a"] for seed in range(60)}
    sectors = {tuple(data[at : at + SECTOR] for at in range(0, len(data), SECTOR)) for data in found}
    old, new = b"a" * SECTOR, b"b" * SECTOR
    assert sectors == {(old, one, other, old) for one in (old, new) for other in (old, new)}


def test_the_last_write_may_come_without_the_first(files: FakeFiles) -> None:
    fd = made(files, "a", bytes(2 * SECTOR))
    files.pwrite(fd, b"1", 0)
    files.pwrite(fd, b"2", SECTOR)
    found = {after(files, some_kept(seed))["a"][::SECTOR] for seed in range(60)}
    assert found == {b"\0\0", b"1\0", b"\x002", b"12"}


def test_a_sector_written_twice_may_keep_the_first(files: FakeFiles) -> None:
    fd = made(files, "a", b"0")
    files.pwrite(fd, b"1", 0)
    files.pwrite(fd, b"2", 0)
    assert {after(files, some_kept(seed))["a"] for seed in range(200)} == {b"0", b"1", b"2"}


def test_a_length_comes_without_its_bytes_and_goes_with_them(files: FakeFiles) -> None:
    fd = made(files, "a", b"")
    files.pwrite(fd, b"x" * SECTOR, 0)
    found = {after(files, some_kept(seed))["a"] for seed in range(60)}
    assert found == {b"", bytes(SECTOR), b"x" * SECTOR}


def test_a_cut_may_be_lost(files: FakeFiles) -> None:
    fd = made(files, "a", b"x" * 2 * SECTOR)
    files.truncate(fd, 10)
    found = {after(files, some_kept(seed))["a"] for seed in range(60)}
    assert b"x" * 10 in found
    assert b"x" * 2 * SECTOR in found
    assert {len(data) for data in found} == {10, 2 * SECTOR}


def test_what_was_cut_does_not_come_back(files: FakeFiles) -> None:
    fd = made(files, "a", b"x" * 2 * SECTOR)
    files.truncate(fd, 10)
    files.truncate(fd, 2 * SECTOR)
    assert files.pread(fd, 2 * SECTOR, 0) == b"x" * 10 + bytes(2 * SECTOR - 10)
    files.fsync(fd)
    assert after(files, nothing_kept) == {"a": b"x" * 10 + bytes(2 * SECTOR - 10)}


def test_both_halves_of_a_rename_are_lost_apart(files: FakeFiles) -> None:
    made(files, "old", b"1")
    made(files, "new", b"2")
    files.rename(FOLDER / "old", FOLDER / "new")
    found = {tuple(sorted(after(files, some_kept(seed)).items())) for seed in range(60)}
    assert found == {
        (("new", b"2"), ("old", b"1")),
        (("new", b"1"),),
        (("new", b"1"), ("old", b"1")),
        (("new", b"2"),),
    }


def test_names_are_lost_in_any_order(files: FakeFiles) -> None:
    for name in "abc":
        made(files, name, b"", durable=False)
    assert len({frozenset(after(files, some_kept(seed))) for seed in range(200)}) == 8


def test_a_hard_link_is_one_file(files: FakeFiles) -> None:
    fd = made(files, "a", b"1")
    files.link(FOLDER / "a", FOLDER / "b")
    files.unlink(FOLDER / "a")
    files.pwrite(fd, b"2", 0)
    assert files.disk.tree() == {FOLDER / "b": b"2"}


def test_a_new_folder_is_lost_with_all_in_it(files: FakeFiles) -> None:
    files.mkdir(FOLDER / "sub")
    fd = files.open(FOLDER / "sub" / "a", create=True)
    files.fsync(fd)
    files.fsync_folder(FOLDER / "sub")
    assert after(files, nothing_kept) == {}
    files.fsync_folder(FOLDER)
    assert after(files, nothing_kept) == {"a": b""}


def test_a_failed_fsync_marks_the_pages_clean(files: FakeFiles) -> None:
    fd = made(files, "a", b"one")
    files.faults.append(Fault("fdatasync", errno.EIO))
    files.pwrite(fd, b"two", 0)
    with pytest.raises(OSError, match="Input/output error"):
        files.fdatasync(fd)
    files.fdatasync(fd)
    assert files.pread(fd, 3, 0) == b"two"
    assert after(files, everything_kept) == {"a": b"one"}


def test_faults_strike_when_told(files: FakeFiles) -> None:
    fd = made(files, "a", b"")
    other = made(files, "b", b"")
    files.faults.append(Fault("pwrite", errno.ENOSPC, nth=2, times=2, ending="a"))
    files.pwrite(fd, b"1", 0)
    files.pwrite(other, b"1", 0)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            files.pwrite(fd, b"2", 0)
    files.pwrite(fd, b"3", 0)
    assert files.disk.tree() == {FOLDER / "a": b"3", FOLDER / "b": b"1"}


def test_errors_are_those_of_the_system(files: FakeFiles) -> None:
    fd = made(files, "a", b"")
    with pytest.raises(FileNotFoundError):
        files.open(FOLDER / "b")
    with pytest.raises(FileNotFoundError):
        files.names(FOLDER / "sub")
    with pytest.raises(FileExistsError):
        files.open(FOLDER / "a", create=True, exclusive=True)
    with pytest.raises(FileExistsError):
        files.link(FOLDER / "a", FOLDER / "a")
    with pytest.raises(IsADirectoryError):
        files.open(FOLDER)
    files.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        files.pwrite(fd, b"", 0)


def test_a_lock_ends_with_its_descriptor_and_its_process(files: FakeFiles) -> None:
    fd = made(files, "LOCK", b"")
    other = files.another()
    theirs = other.open(FOLDER / "LOCK")
    assert files.lock(fd)
    assert not other.lock(theirs)
    later = FakeFiles(files.disk.snapshot())
    assert later.lock(later.open(FOLDER / "LOCK"))
    files.close(fd)
    assert other.lock(theirs)


def test_short_writes(files: FakeFiles) -> None:
    files.write_limit = 2
    fd = files.open(FOLDER / "a", create=True)
    assert files.pwrite(fd, b"abc", 0) == 2
    assert files.disk.tree() == {FOLDER / "a": b"ab"}


def test_written_out_with_links(files: FakeFiles, tmp_path: Path) -> None:
    made(files, "a", b"1")
    files.link(FOLDER / "a", FOLDER / "b")
    files.disk.write_out(FOLDER, tmp_path)
    assert (tmp_path / "a").samefile(tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"1"
