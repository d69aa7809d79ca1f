"""Data files are the owner's and the group's, whatever the umask, and nothing is written through a link.

The same of every other file with rows that is made outside the state folder: archives, copies, restored segments, the
spool of a snapshot.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tailer.errors import UsageError
from tailer.shipping.to_folder import FolderTarget
from tailer.sinks.files.series import Series
from tailer.snapshot.spool import Spool
from tailer.stores.folder_store import FolderStore
from tests.helpers.data_files import write_files
from tests.unit.snapshot.test_spool import TABLE, row

FILE, FOLDER = 0o660, 0o2770


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def files(out: Path) -> None:
    write_files(out, [1], [2])


def copies(out: Path) -> None:
    source = out.with_name("source")
    write_files(source, [1], [2])
    target = FolderTarget(out)
    series = Series(source / "n1")
    for number in series.numbers():
        file = series.file(number)
        assert file is not None
        target.standing(file)
        target.send(file)
    target.close()


def archive(out: Path) -> None:
    FolderStore(out).put("n1/CommitLog-7-7.log", [b"rows"])
    FolderStore(out).put("n1/CommitLog-7-7.log", [b"more rows"])


def spool(out: Path) -> None:
    made = Spool(out / "snapshots" / "c")
    made.begin("")
    made.add([row(1)], TABLE)


MAKERS = [files, copies, archive, spool]


def rights(folder: Path) -> set[tuple[str, int]]:
    found = {
        (stat.S_IFMT(path.stat().st_mode), stat.S_IMODE(path.stat().st_mode)) for path in [folder, *folder.rglob("*")]
    }
    return {("folder" if stat.S_ISDIR(kind) else "file", mode) for kind, mode in found}


@pytest.mark.parametrize("make", MAKERS)
def test_files_and_folders_are_open_to_owner_and_group_alone(
    umask: int, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "out")
    assert rights(tmp_path / "out") == {("folder", FOLDER), ("file", FILE)}


@pytest.mark.parametrize("make", MAKERS)
def test_a_folder_that_is_there_keeps_its_rights(tmp_path: Path, make: Callable[[Path], None]) -> None:
    (tmp_path / "out").mkdir(0o755)
    make(tmp_path / "out")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o755


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (files, "n1/lock"),
        (copies, "n1/lock"),
    ],
)
@pytest.mark.parametrize("hard", [False, True])
def test_a_lock_that_is_another_file_is_refused(
    tmp_path: Path, make: Callable[[Path], None], name: str, hard: bool
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("content")
    link = tmp_path / "out" / name
    link.parent.mkdir(parents=True)
    if hard:
        link.hardlink_to(victim)
    else:
        link.symlink_to(victim)
    with pytest.raises(UsageError, match="has another name elsewhere" if hard else "found a link") as told:
        make(tmp_path / "out")
    assert told.value.file == str(link)
    assert victim.read_text() == "content"


def test_a_link_to_nothing_makes_no_file(tmp_path: Path) -> None:
    (tmp_path / "out" / "n1").mkdir(parents=True)
    (tmp_path / "out" / "n1" / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="found a link"):
        files(tmp_path / "out")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (files, "n1/data-000000000001.rows.new"),
        (files, "n1/data-000000000001.idx.json.new"),
        (copies, "n1/data-000000000001.jsonl.zst.new"),
        (copies, "n1/data-000000000002.idx.json.new"),
        (archive, "n1/CommitLog-7-7.log.new"),
        (spool, "snapshots/c/spool.json.new"),
        (spool, "snapshots/c/piece-1.arrow.new"),
    ],
)
def test_nothing_is_written_through_a_link(tmp_path: Path, make: Callable[[Path], None], name: str) -> None:
    """A name under which a file is begun: what stands there goes, and what it leads to stays as it is."""
    victim = tmp_path / "victim"
    victim.write_text("content")
    link = tmp_path / "out" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    make(tmp_path / "out")
    assert victim.read_text() == "content"
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))


@pytest.mark.parametrize(("make", "name"), [(files, "n1"), (copies, "n1"), (archive, "n1"), (spool, "snapshots/c")])
def test_a_folder_that_is_a_link_is_refused(tmp_path: Path, make: Callable[[Path], None], name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = tmp_path / "out" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    with pytest.raises(UsageError, match=r"the (state )?folder.* is a link"):
        make(tmp_path / "out")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("make", MAKERS)
def test_a_folder_that_everybody_may_write_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    for name in ("n1", "snapshots/c"):
        (tmp_path / "out" / name).mkdir(parents=True)
        (tmp_path / "out" / name).chmod(0o777)
    with pytest.raises(UsageError, match=r"everybody may write.*chmod o-w"):
        make(tmp_path / "out")
