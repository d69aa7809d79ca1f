"""Looks at a folder: what is asked of the file system each time, and what a completed segment spares."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailer.framing.sidecar import Sidecar
from tailer.planning.survey import Survey
from tailer.segments.folder import look
from tailer.state.offset import NodeOffset

LOG = "CommitLog-7-1795258311984.log"
SIDECAR = "CommitLog-7-1795258311984_cdc.idx"
SEGMENT = 1795258311984
OFFSET = NodeOffset(s=SEGMENT + 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "cdc_raw"
    made.mkdir()
    (made / LOG).write_bytes(bytes(1000))
    return made


def write(folder: Path, text: str) -> None:
    (folder / SIDECAR).write_text(text)


def test_a_growing_sidecar_is_read_at_each_look(folder: Path) -> None:
    write(folder, "400")
    first = look(folder)
    write(folder, "500")
    second = look(folder, first)
    assert second.sidecars[SEGMENT].content == Sidecar(500, False)
    assert second.known == frozenset()


def test_a_completed_segment_is_taken_as_it_was(folder: Path) -> None:
    write(folder, "400\nCOMPLETED")
    first = look(folder)
    second = look(folder, first)
    assert second.known == {SEGMENT}
    assert second.sidecars[SEGMENT] is first.sidecars[SEGMENT]
    assert second.logs[SEGMENT] is first.logs[SEGMENT]
    assert look(folder).known == frozenset()


@pytest.mark.parametrize("name", [LOG, SIDECAR])
def test_another_file_of_that_name_is_looked_at_anew(folder: Path, name: str) -> None:
    write(folder, "400\nCOMPLETED")
    first = look(folder)
    other = folder / "other"
    other.write_bytes((folder / name).read_bytes())
    other.replace(folder / name)
    second = look(folder, first)
    assert second.known == frozenset()
    assert second == look(folder)


def test_a_completed_segment_can_vanish_file_by_file(folder: Path) -> None:
    write(folder, "400\nCOMPLETED")
    first = look(folder)
    (folder / SIDECAR).unlink()
    assert look(folder, first) == look(folder)
    assert look(folder, first).sidecars == {}
    (folder / LOG).unlink()
    assert look(folder, first).logs == {}


def test_link_counts_are_those_of_now(folder: Path) -> None:
    """What was taken over says nothing of second names: the growing log's count is fresh, and it decides."""
    write(folder, "400\nCOMPLETED")
    second_name = folder.with_name("commitlog.log")
    second_name.hardlink_to(folder / LOG)
    first = look(folder)
    assert first.linked
    second_name.unlink()
    assert not look(folder, first).linked


def survey(folder: Path, now: list[float]) -> Survey:
    return Survey(folder, clock=lambda: now[0])


def test_a_survey_looks_thoroughly_once_a_second(folder: Path) -> None:
    now = [1000.0]
    looks = survey(folder, now)
    write(folder, "400\nCOMPLETED")
    growing(folder, links=2)
    views = []
    for seconds in (0.0, 0.1, 0.5, 1.1):
        now[0] = 1000 + seconds
        views.append(looks.look(OFFSET)[SEGMENT])
    assert views[0] is views[1] is views[2]
    assert views[3] is not views[0]
    assert views[3] == views[0]
    assert (views[0].log, views[0].sidecar, views[0].finished) == (True, True, "completed")
    (folder / LOG).unlink()
    assert not looks.look(OFFSET)[SEGMENT].log


def test_without_any_second_name_every_look_is_thorough(folder: Path) -> None:
    write(folder, "400\nCOMPLETED")
    growing(folder, links=1)
    looks = survey(folder, [1000.0])
    first = looks.look(OFFSET)[SEGMENT]
    assert looks.look(OFFSET)[SEGMENT] is not first
    assert looks.look(OFFSET)[SEGMENT + 1].finished is None


def growing(folder: Path, links: int) -> None:
    """A segment above, which the server still has or not."""
    name = f"CommitLog-7-{SEGMENT + 1}.log"
    (folder / name).write_bytes(bytes(1000))
    if links == 2:
        folder.with_name(f"{folder.name}-commitlog").hardlink_to(folder / name)
