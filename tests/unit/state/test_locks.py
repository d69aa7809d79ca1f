"""A step that fails behind a lock that was taken, or a file that was opened, leaves neither behind."""

from __future__ import annotations

import errno
import fcntl
import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import SystemFailedError
from tailer.framing.name import SegmentName
from tailer.image_state.folder import lock_folder
from tailer.serve.asked import ByteRange
from tailer.serve.files import Files
from tailer.serve.leases import Leases
from tailer.serve.problems import ProblemError
from tailer.serve.rate import Bucket
from tailer.serve.threads import Disk
from tailer.sinks.files.held import hold_folder
from tailer.state.consumers import consumer_path, take_consumer
from tailer.state.folder_journal import FolderJournal
from tailer.state.lease_file import lease_path
from tailer.state.modes import make_folder, open_file, open_to_read, replacing_file
from tests.helpers.small_disk import SmallDisk, small_disk
from writer_hooks.disk import RealFiles
from writer_hooks.own_sections import Reader

LOCKS: dict[str, Callable[[Path], int]] = {
    "consumer": lambda folder: take_consumer(folder, "c", 0),
    "images": lock_folder,
    "data files": hold_folder,
}
STEPS = ((os, "ftruncate", errno.EIO), (os, "pwrite", errno.ENOSPC), (fcntl, "flock", errno.ENOLCK))
FILES: dict[str, Callable[[Path], int]] = {
    "read": open_to_read,
    "write": lambda path: open_file(path, os.O_RDWR),
    "make": lambda path: open_file(path.with_name("new"), os.O_RDWR),
    "replace": replacing_file,
}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", 1) as made:
        yield made


def descriptors() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def fails(monkeypatch: pytest.MonkeyPatch, place: Any, name: str, number: int) -> None:
    def fail(*args: object, **named: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(place, name, fail)


@pytest.mark.parametrize("kind", LOCKS)
def test_a_full_disk_leaves_no_lock(disk: SmallDisk, kind: str) -> None:
    (folder := disk.folder / "held").mkdir(0o700)
    os.close(LOCKS[kind](folder))
    next(path for path in folder.rglob("*") if path.is_file()).write_bytes(b"")
    disk.fill()
    with pytest.raises(SystemFailedError, match=r"No space left on device.*Free space"):
        LOCKS[kind](folder)
    disk.make_room()
    os.close(LOCKS[kind](folder))


@pytest.mark.parametrize("kind", LOCKS)
@pytest.mark.parametrize(("place", "name", "number"), STEPS, ids=[name for _, name, _ in STEPS])
def test_a_step_that_fails_leaves_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, place: Any, name: str, number: int
) -> None:
    os.close(LOCKS[kind](tmp_path))
    before = descriptors()
    fails(monkeypatch, place, name, number)
    with pytest.raises(SystemFailedError, match=os.strerror(number)):
        LOCKS[kind](tmp_path)
    monkeypatch.undo()
    assert descriptors() == before
    os.close(LOCKS[kind](tmp_path))


@pytest.mark.parametrize(
    ("kind", "name"), [*((kind, "fstat") for kind in FILES), ("make", "fchmod"), ("replace", "fchmod")]
)
def test_a_file_whose_rights_cannot_be_had_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, name: str
) -> None:
    (tmp_path / "file").touch(0o660)
    before = descriptors()
    fails(monkeypatch, os, name, errno.EIO)
    with pytest.raises(SystemFailedError, match="Input/output error"):
        FILES[kind](tmp_path / "file")
    monkeypatch.undo()
    assert descriptors() == before


def test_a_folder_whose_rights_cannot_be_had_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = descriptors()
    fails(monkeypatch, os, "fchmod", errno.EIO)
    with pytest.raises(SystemFailedError):
        make_folder(tmp_path / "state")
    assert descriptors() == before


class FailsBehind:
    """Once `first` has been called and has returned, a step of `os` fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, place: str, step: str) -> None:
        module, _, name = place.rpartition(".")
        first: Callable[..., Any] = getattr(importlib.import_module(module), name)

        def called(*args: object, **named: object) -> Any:
            found = first(*args, **named)
            fails(monkeypatch, os, step, errno.EIO)
            return found

        monkeypatch.setattr(place, called)


def test_a_consumers_lock_that_cannot_be_looked_at_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a network file system does that is gone behind the lock."""
    before = descriptors()
    FailsBehind(monkeypatch, "tailer.state.consumers.lock_file", "fstat")
    with pytest.raises(SystemFailedError, match="Input/output error"):
        take_consumer(tmp_path, "c", 0)
    monkeypatch.undo()
    assert descriptors() == before
    os.close(take_consumer(tmp_path, "c", 0))


def test_a_journal_whose_name_is_not_durable_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, before = FolderJournal(tmp_path / "state"), descriptors()
    fails(monkeypatch, importlib.import_module("tailer.state.journal_file"), "sync_folder", errno.EIO)
    with pytest.raises(SystemFailedError, match="Input/output error"):
        journal.identify()
    monkeypatch.undo()
    assert descriptors() == before
    journal.identify()
    assert journal.id


def test_a_segment_that_is_served_and_cannot_be_looked_at_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = SegmentName(7, 1)
    (tmp_path / name.log).write_bytes(b"bytes")
    disk = Disk()
    files = Files(tmp_path, disk, Bucket(None), lambda segment: False, lambda count: None)
    before = descriptors()
    FailsBehind(monkeypatch, "tailer.serve.files.open_below", "fstat")
    with pytest.raises(ProblemError, match="cannot read the segment: Input/output error"):
        files._open(name, ByteRange(0, 4))
    monkeypatch.undo()
    assert descriptors() == before
    disk.close()


def test_a_name_that_cannot_be_forgotten_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leases = Leases(tmp_path, lambda: 100.0)
    leases.take("c", "anna", "reader", "")
    leases.close()
    os.utime(lease_path(tmp_path, "c"), (1.0, 1.0))
    before = descriptors()
    with monkeypatch.context() as patch:
        fails(patch, Path, "unlink", errno.EIO)
        with pytest.raises(OSError, match="Input/output error"):
            leases.forget_old("c")
    assert descriptors() == before
    os.close(take_consumer(tmp_path, "c", 0))
    assert not consumer_path(tmp_path, "c").exists()


def test_a_segment_of_its_own_that_cannot_be_looked_at_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "segment").write_bytes(b"bytes")
    before = descriptors()
    fails(monkeypatch, os, "fstat", errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        Reader(RealFiles(), tmp_path / "segment")
    monkeypatch.undo()
    assert descriptors() == before
