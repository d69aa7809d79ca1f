"""A step that fails behind a lock that was taken, or a file that was opened, leaves neither behind."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import SystemFailedError
from tailer.image_state.folder import lock_folder
from tailer.sinks.files.held import hold_folder
from tailer.state.consumers import take_consumer
from tailer.state.modes import make_folder, open_file, open_to_read, replacing_file
from tests.helpers.small_disk import SmallDisk, small_disk

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
