"""Looks at a folder: what is asked of the file system each time, and what a settled segment spares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailer.framing.sidecar import Sidecar
from tailer.segments.folder import DROPPED
from tailer.segments.looks import AGAIN, Looks, Pace, look

LOG = "CommitLog-7-1795258311984.log"
SIDECAR = "CommitLog-7-1795258311984_cdc.idx"
SEGMENT = 1795258311984


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "cdc_raw"
    made.mkdir()
    (made / LOG).write_bytes(bytes(1000))
    return made


def write(folder: Path, text: str, segment: int = SEGMENT) -> None:
    (folder / f"CommitLog-7-{segment}_cdc.idx").write_text(text)


def first_look(folder: Path) -> Looks:
    looks = Looks(folder)
    looks.look(whole=True)
    return looks


def settled(folder: Path, count: int) -> None:
    for segment in range(SEGMENT, SEGMENT + count):
        (folder / f"CommitLog-7-{segment}.log").write_bytes(bytes(1000))
        write(folder, "400\nCOMPLETED", segment)


@pytest.mark.parametrize("whole", [True, False])
def test_a_growing_sidecar_is_read_at_each_look(folder: Path, whole: bool) -> None:
    """Heard of or not."""
    write(folder, "400")
    looks = first_look(folder)
    write(folder, "500")
    assert looks.look(whole=whole) == {SEGMENT}
    assert looks.sidecars[SEGMENT].content == Sidecar(500, False)


def test_the_first_sidecar_of_a_segment_is_found_unheard(folder: Path) -> None:
    looks = first_look(folder)
    write(folder, "400")
    looks.look(whole=False)
    assert looks.sidecars[SEGMENT].content == Sidecar(400, False)


@pytest.mark.parametrize("whole", [True, False])
def test_a_completed_segment_is_taken_as_it_was(folder: Path, whole: bool) -> None:
    write(folder, "400\nCOMPLETED")
    looks = first_look(folder)
    sidecar, log = looks.sidecars[SEGMENT], looks.logs[SEGMENT]
    assert looks.look(whole=whole) == set()
    assert looks.sidecars[SEGMENT] is sidecar
    assert looks.logs[SEGMENT] is log


def test_asks_nobody_for_what_is_settled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(folder, 10)
    (folder / f"CommitLog-7-{SEGMENT + 10}.log").write_bytes(bytes(1000))
    looks = first_look(folder)
    asked: list[str] = []
    genuine = os.stat

    def stat(path: str | Path) -> os.stat_result:
        asked.append(Path(path).name)
        return genuine(path)

    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(os, "scandir", lambda path: pytest.fail("the folder was listed"))
    looks.look([SIDECAR], whole=False)
    growing = f"CommitLog-7-{SEGMENT + 10}"
    assert sorted(asked) == sorted([LOG, SIDECAR, f"{growing}.log", f"{growing}_cdc.idx"])


@pytest.mark.parametrize("text", ["900\nCOMPLETED", "", "500"])
def test_a_completed_sidecar_that_is_heard_of_is_read(folder: Path, text: str) -> None:
    """A server that restarts writes the file's length over it."""
    write(folder, "400\nCOMPLETED")
    looks = first_look(folder)
    write(folder, text)
    assert looks.look([SIDECAR], whole=False) == {SEGMENT}
    assert looks.listing == look(folder)


def test_one_that_is_not_heard_of_is_read_in_its_turn(folder: Path) -> None:
    settled(folder, 2 * AGAIN + 1)
    looks = first_look(folder)
    for segment in (SEGMENT, SEGMENT + 2 * AGAIN):
        write(folder, "900\nCOMPLETED", segment)
    for _ in range(3):
        looks.look(whole=True, again=True)
    assert looks.listing == look(folder)


@pytest.mark.parametrize("name", [LOG, SIDECAR])
def test_another_file_of_that_name_is_looked_at_anew(folder: Path, name: str) -> None:
    write(folder, "400\nCOMPLETED")
    looks = first_look(folder)
    other = folder / "other"
    other.write_bytes((folder / name).read_bytes() + b" ")
    other.replace(folder / name)
    assert looks.look(whole=True) == {SEGMENT}
    assert looks.listing == look(folder)


@pytest.mark.parametrize("heard", [True, False])
def test_a_completed_segment_can_vanish_file_by_file(folder: Path, heard: bool) -> None:
    write(folder, "400\nCOMPLETED")
    looks = first_look(folder)
    for name in (SIDECAR, LOG):
        (folder / name).unlink()
        looks.look([name] if heard else [], whole=not heard)
        assert looks.listing == look(folder)
    assert (looks.logs, looks.sidecars, looks.unsettled) == ({}, {}, set())


def test_a_name_that_comes_is_found_by_the_list_or_heard_of(folder: Path) -> None:
    looks = first_look(folder)
    settled(folder, 3)
    assert looks.look(whole=False) == {SEGMENT}
    assert looks.look([f"CommitLog-7-{SEGMENT + 1}.log"], whole=False) == {SEGMENT + 1}
    assert looks.look(whole=True) == {SEGMENT, SEGMENT + 1, SEGMENT + 2}
    assert looks.listing == look(folder)


def test_where_something_is_gone_the_folder_is_listed(folder: Path) -> None:
    """It may be the folder itself that is gone: that is no loss of a segment."""
    looks = first_look(folder)
    folder.rename(folder.with_name("away"))
    with pytest.raises(FileNotFoundError):
        looks.look(whole=False)


def test_what_was_dropped_is_read_at_each_look(folder: Path) -> None:
    looks = first_look(folder)
    (folder / DROPPED).write_text("17")
    looks.look(whole=True)
    assert looks.listing.dropped == 17
    (folder / DROPPED).write_text("18")
    looks.look(whole=False)
    assert looks.listing.dropped == 18


class TestLinked:
    """Whether the folder's logs have second names, as those of a server have."""

    def linked(self, folder: Path, looks: Looks) -> None:
        folder.with_name("commitlog.log").hardlink_to(folder / LOG)
        looks.look([LOG], whole=False)

    @pytest.mark.parametrize("sidecar", ["400", "400\nCOMPLETED"])
    def test_counts_are_those_of_now(self, folder: Path, sidecar: str) -> None:
        write(folder, sidecar)
        looks = first_look(folder)
        assert not looks.linked()
        self.linked(folder, looks)
        assert looks.linked()
        folder.with_name("commitlog.log").unlink()
        looks.look(whole=False)
        assert not looks.linked()
        assert not looks.linked(), "also when asked again"

    def test_what_is_hidden_does_not_count(self, folder: Path) -> None:
        write(folder, "400\nCOMPLETED")
        looks = first_look(folder)
        self.linked(folder, looks)
        assert not looks.linked({SEGMENT})
        assert looks.linked()


def test_a_list_that_costs_much_is_made_less_often() -> None:
    pace = Pace()
    assert pace.due(100.0)
    pace.listed(100.0, 0.0)
    assert [pace.due(at) for at in (100.9, 101.0, 99.0)] == [False, True, True]
    pace.listed(200.0, 0.03)
    assert [pace.due(at) for at in (202.9, 203.1)] == [False, True]
    pace.listed(300.0, 60.0)
    assert [pace.due(at) for at in (309.9, 310.0)] == [False, True]
