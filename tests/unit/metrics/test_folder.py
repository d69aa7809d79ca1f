"""What a look at a folder tells of what waits there: bytes, segments and since when, also where nobody else looks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailer.metrics.folder import FolderLook, Waiting
from tailer.retention.status import default_cap
from tailer.segments.source import FolderSource
from tailer.state.offset import NodeOffset
from tests.helpers.log_writer import LogFolder, completed, live, one_row_log, one_row_segment, simple_table

FIRST = 1_700_000_000_001
TABLE = simple_table("ks", "t")
NOW = 1_000_000.0


class Watched:
    """A folder of one-row segments whose sidecars were written at times that the test says."""

    def __init__(self, path: Path, count: int) -> None:
        self.now = NOW
        self.folder = one_row_log(path, TABLE, FIRST, count)
        self.writers = [one_row_segment(TABLE, FIRST, number) for number in range(count)]
        self.look = FolderLook(FolderSource(path), 1000, lambda: self.now)
        for number in range(count):
            self.published(number, NOW - 100 + number)

    def published(self, number: int, when: float) -> None:
        os.utime(self.folder.path / self.writers[number].sidecar_name, (when, when))

    def waiting(self, behind: NodeOffset, oldest: float | None = None) -> Waiting:
        found = self.look.look(behind, oldest)
        assert found is not None
        return found.waiting

    def end(self, number: int) -> int:
        return int(self.writers[number].end)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "cdc_raw", 4)


def test_what_is_not_delivered_waits_since_it_was_published(watched: Watched) -> None:
    everything = sum(map(watched.end, range(4)))
    assert watched.waiting(NodeOffset(s=FIRST, o=0, done=False)) == Waiting(everything, 4, 100.0)
    assert watched.waiting(NodeOffset(s=FIRST + 1)) == Waiting(watched.end(2) + watched.end(3), 2, 98.0)
    late = NodeOffset(s=FIRST + 3, o=watched.end(3), done=False, p=((FIRST, watched.end(0) - 7), (FIRST + 1, 10**6)))
    assert watched.waiting(late) == Waiting(7, 1, 100.0)
    assert watched.waiting(NodeOffset(s=FIRST + 3, o=watched.end(3), done=False)) == Waiting()


def test_a_sidecar_that_is_written_over_does_not_make_it_younger(watched: Watched) -> None:
    stands = NodeOffset(s=FIRST + 3, o=20, done=False)
    assert watched.waiting(stands).seconds == 97.0
    watched.published(3, NOW + 50)
    watched.now = NOW + 60
    assert watched.waiting(stands).seconds == 157.0
    # What was seen waiting is delivered; what came behind it waits since it was published.
    watched.folder.sidecar(watched.writers[3], str(watched.end(3) + 500))
    watched.published(3, NOW + 55)
    assert watched.waiting(NodeOffset(s=FIRST + 3, o=watched.end(3), done=False)) == Waiting(500, 1, 5.0)


def test_who_has_heard_more_is_believed(watched: Watched) -> None:
    stands = NodeOffset(s=FIRST + 3, o=20, done=False)
    assert watched.waiting(stands, oldest=NOW - 500).seconds == 500.0
    assert watched.waiting(stands, oldest=NOW - 1).seconds == 97.0


def test_how_full_it_is(watched: Watched, tmp_path: Path) -> None:
    found = watched.look.look(None)
    assert found is not None
    assert (found.segments, found.cap) == (4, 1000)
    assert found.bytes == sum(file.stat().st_size for file in tmp_path.glob("cdc_raw/*.log"))
    guessed = FolderLook(FolderSource(watched.folder.path)).look(None)
    assert guessed is not None
    volume = os.statvfs(tmp_path)
    assert guessed.cap == default_cap(volume.f_blocks * volume.f_frsize)


def test_a_service_says_its_cap_itself(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "cdc_raw")
    writer = one_row_segment(TABLE, FIRST, 1)
    folder.put(writer, f"48 {writer.end} {FIRST}:{writer.end}")
    found = FolderLook(FolderSource(folder.path)).look(None)
    assert found is not None
    assert found.cap is None


def test_a_folder_that_goes_and_comes_back(watched: Watched, tmp_path: Path) -> None:
    away = tmp_path / "away"
    watched.folder.path.rename(away)
    assert watched.look.look(NodeOffset(s=FIRST)) is None
    away.rename(watched.folder.path)
    assert watched.waiting(NodeOffset(s=FIRST + 2)).segments == 1


def test_a_log_without_its_sidecar_and_a_sidecar_without_its_log_wait_for_nobody(watched: Watched) -> None:
    watched.folder.sidecar(watched.writers[2], None)
    (watched.folder.path / watched.writers[1].name).unlink()
    assert watched.waiting(NodeOffset(s=FIRST)).segments == 1
    watched.folder.sidecar(watched.writers[3], "")
    assert watched.waiting(NodeOffset(s=FIRST)) == Waiting()
    watched.folder.sidecar(watched.writers[3], live(watched.writers[3]))
    watched.folder.sidecar(watched.writers[2], completed(watched.writers[2]))
    assert watched.waiting(NodeOffset(s=FIRST)).segments == 2
