"""Rights in the state folder: the owner's and the group's, whatever the umask of whoever made it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailer.errors import CorruptError, UsageError
from tailer.position import Position
from tailer.state.cleaned import CleanedFile, read_cleaned, write_cleaned
from tailer.state.consumer import Consumer
from tailer.state.consumers import NodeState
from tailer.state.folder_journal import FolderJournal
from tailer.state.ids import Ids
from tailer.state.journal_records import SegmentEndRecord
from tailer.state.lock import state_lock
from tailer.state.modes import make_folder, open_file
from tailer.state.offset import NodeOffset
from tailer.state.quarantine import Quarantine

END = SegmentEndRecord(segment=7, published=90, end=100, finished="completed")
OTHER_GROUP = 54321 if os.geteuid() == 0 else os.getegid()


@pytest.fixture(params=[0o000, 0o022, 0o027, 0o077, 0o177])
def umask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[int]:
    """For what is made inside the test's folder, not for that."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def write_everything(state: Path) -> None:
    """Each kind of file there is, twice: made and replaced, made and opened again."""
    for _ in range(2):
        consumer = Consumer(state, "billing")
        consumer.save("local", NodeState(NodeOffset(1, 7, 100)), moved=1.0, program="test")
        consumer.close()
        FolderJournal(state).append([END])
        with state_lock(state):
            write_cleaned(state, CleanedFile(segments=Ids([(1, 2)])))
        at = Position(7, 100)
        Quarantine(state, "billing", "local").keep(at, "CommitLog-7-7.log", CorruptError("bad", at=at), b"bytes")


def rights(state: Path) -> dict[str, int]:
    return {
        str(path.relative_to(state.parent)): stat.S_IMODE(path.stat().st_mode) for path in (state, *state.rglob("*"))
    }


@pytest.mark.usefixtures("umask")
def test_files_and_folders_are_open_to_owner_and_group_alone(tmp_path: Path) -> None:
    write_everything(tmp_path / "state")
    assert rights(tmp_path / "state") == {
        "state": 0o2770,
        "state/consumers": 0o2770,
        "state/quarantine": 0o2770,
        "state/journal": 0o660,
        "state/lock": 0o660,
        "state/cleaned.json": 0o660,
        "state/consumers/billing.json": 0o660,
        "state/consumers/billing.lock": 0o660,
        "state/quarantine/billing.jsonl": 0o660,
    }


@pytest.mark.usefixtures("umask")
def test_the_group_is_the_one_of_the_folder_above(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    os.chown(shared, -1, OTHER_GROUP)
    shared.chmod(0o2770)
    write_everything(shared / "state")
    assert {path.stat().st_gid for path in shared.rglob("*")} == {OTHER_GROUP}


def test_a_folder_that_is_there_keeps_its_rights(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(0o700)
    make_folder(state / "consumers")
    assert rights(state) == {"state": 0o700, "state/consumers": 0o2770}


def test_a_file_that_is_there_keeps_its_rights(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("content")
    (tmp_path / "journal").chmod(0o640)
    descriptor = open_file(tmp_path / "journal", os.O_RDWR)
    assert os.read(descriptor, 10) == b"content"
    os.close(descriptor)
    assert stat.S_IMODE((tmp_path / "journal").stat().st_mode) == 0o640


def test_what_stands_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match="Move away what stands there"):
            make_folder(path)


def test_what_a_killed_writer_left_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "cleaned.json.new").write_text("half a fi")
    write_cleaned(tmp_path, CleanedFile(segments=Ids([(1, 2)])))
    assert read_cleaned(tmp_path).segments == Ids([(1, 2)])
    assert [each.name for each in tmp_path.iterdir()] == ["cleaned.json"]
