"""A state folder in which somebody put what does not belong there: links, FIFOs, folders; or that everybody may write.

Whoever owns the folder can do that, and root may be the one that runs a command in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tailer.errors import CorruptError, RefusedError, UsageError
from tailer.position import Position
from tailer.state.cleaned import CleanedFile, read_cleaned, write_cleaned
from tailer.state.consumer import Consumer
from tailer.state.consumers import NodeState, is_running, read_consumer
from tailer.state.folder_journal import FolderJournal
from tailer.state.ids import Ids
from tailer.state.journal_base import read_base
from tailer.state.journal_records import SegmentEndRecord
from tailer.state.lock import state_lock
from tailer.state.modes import make_folder, replace_file
from tailer.state.offset import NodeOffset
from tailer.state.quarantine import Quarantine

END = SegmentEndRecord(segment=7, published=90, end=100, finished="completed")
AT = Position(7, 100)


def save_consumer(state: Path) -> None:
    consumer = Consumer(state, "billing")
    consumer.save("local", NodeState(NodeOffset(1, 7, 100)), moved=1.0, program="test")
    consumer.close()


def lock(state: Path) -> None:
    with state_lock(state):
        pass


WRITES: dict[str, Callable[[Path], object]] = {
    "journal": lambda state: FolderJournal(state).append([END]),
    "lock": lock,
    "consumers/billing.lock": save_consumer,
    "quarantine/billing.jsonl": lambda state: Quarantine(state, "billing", "local").keep(
        AT, "CommitLog-7-7.log", CorruptError("bad", at=AT), b"bytes"
    ),
}
READS: dict[str, Callable[[Path], object]] = {
    "journal": lambda state: FolderJournal(state, writable=False),
    "journal.base": read_base,
    "cleaned.json": read_cleaned,
    "consumers/billing.json": lambda state: read_consumer(state / "consumers/billing.json", "billing"),
    "consumers/billing.lock": lambda state: is_running(state, "billing"),
    "quarantine/billing.jsonl": lambda state: Quarantine(state, "billing", "local"),
}
REPLACES = ("cleaned.json", "consumers/billing.json")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    made = tmp_path / "cdc_raw.cdc_tail"
    for folder in (made, made / "consumers", made / "quarantine"):
        make_folder(folder)
    return made


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of somebody else's."""
    made = tmp_path / "victim"
    made.write_bytes(b"precious\n")
    made.chmod(0o600)
    return made


def assert_whole(victim: Path) -> None:
    assert victim.read_bytes() == b"precious\n"
    assert victim.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_written_through_a_link(state: Path, victim: Path, name: str) -> None:
    (state / name).symlink_to(victim)
    with pytest.raises(UsageError, match=r"expected a regular file, found a link") as told:
        WRITES[name](state)
    assert str(state / name) in str(told.value)
    assert_whole(victim)


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_made_through_a_link_to_nowhere(state: Path, tmp_path: Path, name: str) -> None:
    (state / name).symlink_to(tmp_path / "made")
    with pytest.raises(UsageError, match="found a link"):
        WRITES[name](state)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_written_in_a_file_that_has_a_second_name(state: Path, victim: Path, name: str) -> None:
    (state / name).hardlink_to(victim)
    # A quarantine is read before it is written, and what is there is none.
    refused = r"has another name elsewhere, and is not written .*found 2 names|the quarantine cannot be read"
    with pytest.raises((UsageError, RefusedError), match=refused) as told:
        WRITES[name](state)
    assert str(state / name) in str(told.value)
    assert_whole(victim)
    victim.unlink()
    (state / name).write_bytes(b"")
    WRITES[name](state)


@pytest.mark.parametrize("name", READS)
def test_nothing_is_read_through_a_link(state: Path, victim: Path, name: str) -> None:
    (state / name).symlink_to(victim)
    with pytest.raises(UsageError, match="found a link"):
        READS[name](state)


@pytest.mark.parametrize("name", REPLACES)
def test_a_new_file_takes_the_place_of_a_link(state: Path, victim: Path, name: str) -> None:
    """And of one under the name that it has while it is written."""
    (state / name).symlink_to(victim)
    (state / f"{name}.new").symlink_to(victim)
    replace_file(state / name, b"new\n")
    assert not (state / name).is_symlink()
    assert (state / name).read_bytes() == b"new\n"
    assert_whole(victim)


@pytest.mark.parametrize("name", sorted({*WRITES, *READS}))
def test_a_fifo_in_place_of_a_file_does_not_hang(state: Path, name: str) -> None:
    os.mkfifo(state / name)
    for door in (WRITES, READS):
        if name in door:
            with pytest.raises(UsageError, match="found a FIFO"):
                door[name](state)


@pytest.mark.parametrize("name", sorted({*WRITES, *READS}))
def test_a_folder_in_place_of_a_file_is_told(state: Path, name: str) -> None:
    (state / name).mkdir()
    for door in (WRITES, READS):
        if name in door:
            with pytest.raises(UsageError, match="found a folder"):
                door[name](state)


@pytest.mark.parametrize("name", WRITES)
def test_a_state_folder_that_is_a_link_is_refused(state: Path, tmp_path: Path, name: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(state)
    with pytest.raises(UsageError, match=rf"the state folder is a link.*found a link to {state}"):
        WRITES[name](link) if "/" not in name else make_folder(link)
    assert [each.name for each in state.rglob("*") if each.is_file()] == []


@pytest.mark.parametrize("name", ["consumers", "quarantine"])
def test_a_link_in_place_of_a_folder_inside_is_refused(state: Path, tmp_path: Path, name: str) -> None:
    (state / name).rmdir()
    (tmp_path / "elsewhere").mkdir()
    (state / name).symlink_to(tmp_path / "elsewhere")
    writer = next(write for place, write in WRITES.items() if place.startswith(name))
    with pytest.raises(UsageError, match="the state folder is a link"):
        writer(state)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", WRITES)
def test_a_folder_that_everybody_may_write_is_refused(state: Path, name: str) -> None:
    folder = (state / name).parent
    folder.chmod(0o2777)
    with pytest.raises(UsageError, match=r"everybody may write in the state folder.*found mode 2777.*chmod o-w"):
        WRITES[name](state)
    with pytest.raises(UsageError, match="everybody"):
        replace_file(folder / "file", b"")
    assert [each.name for each in folder.iterdir() if each.is_file()] == []
    folder.chmod(0o2770)
    WRITES[name](state)


def test_the_list_of_cleaned_segments_is_not_written_where_everybody_may(state: Path) -> None:
    state.chmod(0o2777)
    with pytest.raises(UsageError, match="everybody"):
        write_cleaned(state, CleanedFile(segments=Ids([(1, 2)])))
    assert not (state / "cleaned.json").exists()
