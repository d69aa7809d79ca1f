"""Files of a log are made for their owner and group alone, and nothing of it is read or written through a link."""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import CdcError, SystemFailedError, UsageError
from tests.writer.small_log import note, numbers, order, own, small
from writer_hooks import SegmentLog

SECRET = b"somebody else's\n"


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=["umask 0", "umask 022", "umask 077"])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of another user of the machine, in a folder beside the log's."""
    made = tmp_path / "victim"
    made.write_bytes(SECRET)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    return made


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}


def written(folder: Path, **options: Any) -> SegmentLog:
    """An open log of several segments, of rows for readers and of others."""
    log = small(folder, **options)
    for number in range(20):
        log.append(order(number, 100))
        log.append(note(number, 300)).wait()
    return log


@pytest.mark.usefixtures("umask")
def test_owner_and_group_alone_whatever_the_umask(folder: Path) -> None:
    with written(folder):
        found = modes(folder)
    kinds = {name.rpartition("-")[0] or name: mode for name, mode in {**found, **modes(folder)}.items()}
    assert kinds == {
        "commitlog": 0o2770,
        "cdc_raw": 0o2770,
        "commitlog/CommitLog-7": 0o660,
        "cdc_raw/CommitLog-7": 0o660,
        "commitlog/LOCK": 0o660,
        "commitlog/HIGH": 0o660,
        "cdc_raw/NEWEST": 0o660,
    }


def test_what_is_there_keeps_its_rights(folder: Path) -> None:
    written(folder).close()
    for name in modes(folder):
        (folder / name).chmod(0o750 if (folder / name).is_dir() else 0o640)
    before = modes(folder)
    with small(folder) as log:
        assert len(numbers(log.replay())) == 40
    after = modes(folder)
    rewritten = {"commitlog/HIGH", "cdc_raw/NEWEST"}
    assert {name: after[name] for name in before if name not in rewritten} == {
        name: mode for name, mode in before.items() if name not in rewritten
    }


@pytest.mark.parametrize("threads", [True, False], ids=["threads", "no threads"])
def test_a_readers_folder_that_becomes_a_link_ends_the_log(folder: Path, tmp_path: Path, threads: bool) -> None:
    log = small(folder, threads=threads, segment_bytes=1 << 20)
    (folder / "cdc_raw").rename(tmp_path / "elsewhere")
    (folder / "cdc_raw").symlink_to(tmp_path / "elsewhere")
    # Its first entry is to be noted there.
    with pytest.raises(SystemFailedError, match=r"the log's folder is a link.* Move the folder itself here") as got:
        log.append(order(1)).wait()
    assert "Close this log and open it again" in str(got.value)
    log.close()
    assert not (tmp_path / "elsewhere" / "NEWEST").exists()


LINKS: dict[str, Callable[[Path, Path], None]] = {
    "symbolic": lambda path, victim: path.symlink_to(victim),
    "hard": lambda path, victim: path.hardlink_to(victim),
}


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_the_lock_is_not_written_through_a_link(folder: Path, victim: Path, link: Callable[[Path, Path], None]) -> None:
    (folder / "commitlog").mkdir()
    link(folder / "commitlog" / "LOCK", victim)
    with pytest.raises(UsageError, match=str(folder / "commitlog" / "LOCK")) as got:
        small(folder)
    assert got.value.remedy
    assert victim.read_bytes() == SECRET


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_nothing_that_is_replaced_is_written_through_a_link(
    folder: Path, victim: Path, link: Callable[[Path, Path], None]
) -> None:
    """Each file that is written under another name first: that name is a link to somebody's file."""
    written(folder).close()
    newest = own(folder)[-1]
    names = ["commitlog/HIGH", "commitlog/FAILED", "cdc_raw/NEWEST", "cdc_raw/DROPPED"]
    names += [f"cdc_raw/CommitLog-7-{number}_cdc.idx" for number in range(newest, newest + 20)]
    rights = victim.stat().st_mode
    log = small(folder)
    for name in names:
        link(folder / f"{name}.tmp", victim)
    for number in range(200):
        log.append(order(number, 1000))
    log.close()
    assert victim.read_bytes() == SECRET
    assert victim.stat().st_mode == rights


@pytest.mark.parametrize("name", ["commitlog/HIGH", "commitlog/FAILED", "cdc_raw/NEWEST", "cdc_raw/DROPPED", "a log"])
@pytest.mark.parametrize("kind", ["symbolic link", "FIFO"])
def test_nothing_is_read_through_a_link_or_waited_for(folder: Path, victim: Path, name: str, kind: str) -> None:
    written(folder).close()
    path = folder / (f"commitlog/CommitLog-7-{own(folder)[-1]}.log" if name == "a log" else name)
    path.unlink(missing_ok=True)
    if kind == "FIFO":
        os.mkfifo(path)
    else:
        path.symlink_to(victim)
    with pytest.raises(UsageError, match="this is no file of the log's folder") as got:
        small(folder)
    assert str(path) in str(got.value)
    assert victim.read_bytes() == SECRET


@pytest.mark.parametrize("name", ["commitlog", "cdc_raw"])
def test_a_folder_that_is_a_link_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / name).symlink_to(elsewhere)
    with pytest.raises(UsageError, match="the log's folder is a link"):
        small(folder)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["commitlog", "cdc_raw"])
def test_a_folder_that_everybody_may_write_is_refused(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    (folder / name).chmod(0o777)
    with pytest.raises(UsageError, match="everybody may write in the log's folder") as got:
        small(folder)
    assert f"chmod o-w {folder / name}" in str(got.value)
    (folder / name).chmod(0o775)
    small(folder).close()


def test_the_folder_of_the_log_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    with small(tmp_path / "link") as log:
        log.append(note(1)).wait()
        assert numbers(log.replay()) == [1]


def exchange(one: Path, other: Path) -> None:
    """Two paths change places in one step (renameat2(2); the constants are those of its page and of openat(2))."""
    at_fdcwd, rename_exchange = -100, 2
    renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    if renameat2(at_fdcwd, bytes(one), at_fdcwd, bytes(other), rename_exchange) != 0:
        raise OSError(ctypes.get_errno(), "renameat2", str(one))


@pytest.mark.parametrize("threads", [True, False], ids=["threads", "no threads"])
def test_a_folder_that_becomes_a_link_takes_no_new_segment(folder: Path, tmp_path: Path, threads: bool) -> None:
    log = small(folder, threads=threads)
    log.append(note(1)).wait()
    # In one step: a thread that makes the next file ahead must not find no folder at all.
    (tmp_path / "elsewhere").symlink_to(tmp_path / "elsewhere")
    exchange(folder / "commitlog", tmp_path / "elsewhere")
    before = set((tmp_path / "elsewhere").iterdir())
    with pytest.raises(CdcError, match="the log's folder is a link"):
        log.append_many(note(number, 1000) for number in range(100))
    log.close()
    # One that was made ahead is gone by then.
    assert {path for path in (tmp_path / "elsewhere").iterdir() if path.suffix == ".log"} <= before
