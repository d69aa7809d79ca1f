"""A planned segment that is deleted before its rows are read, and that nothing holds open any more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailer.errors import LossError, SystemFailedError
from tailer.options.tail import TailOptions
from tailer.planning import open_segments
from tailer.planning.plan import SEGMENTS_MAX
from tailer.position import Position
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import LossRecord
from tailer.state.log_folder import state_folder
from tailer.tail.tail import Tail
from tests.helpers.cleaned_log import ONE, log
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import LogFolder
from tests.helpers.tails import open_tail

GONE = ONE + 1


@pytest.fixture(autouse=True)
def few_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with many late segments: none of those that were planned first is open any more."""
    monkeypatch.setattr(open_segments, "OPEN_MAX", 2)
    # More than stay open: else a plan has no segment that goes before it is read.
    monkeypatch.setattr(open_segments.OpenSegments, "planned_most", SEGMENTS_MAX)


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    return log(tmp_path)


def take_away(folder: LogFolder, segment: int) -> None:
    for file in folder.path.glob(f"*{segment}*"):
        file.unlink()


def values(tail: Tail, folder: LogFolder) -> list[int]:
    """What one step gives, where a segment goes between its plan and its reading."""
    step = tail.step()
    take_away(folder, GONE)
    found = []
    for task in step.tasks:
        for batch in tail.read(task):
            found += [json.loads(text)["v"] for text in batch.to_arrow().column("columns").to_pylist()]
        tail.took(step, task)
    tail.advance(step)
    tail.save()
    return found


def test_it_is_a_loss_that_names_the_segment(folder: LogFolder) -> None:
    with open_tail(folder.path, TailOptions(consumer="c")) as tail:
        with pytest.raises(LossError, match=f"segment {GONE} was deleted before it was read") as told:
            values(tail, folder)
        assert told.value.at is not None
        assert told.value.at.segment == GONE
        tail.save_taken()
    ran = run_cli(["follow", folder.path, "--consumer", "c", "--once", "--output", "json"])
    assert (ran.code, ran.out) == (5, ""), "what was taken is not given again, and the loss is told again"
    assert str(GONE) in ran.err


def test_one_that_was_accepted_is_journalled_and_told(folder: LogFolder) -> None:
    with open_tail(folder.path, TailOptions(consumer="c", accept_loss=True)) as tail:
        assert values(tail, folder) == [0, 2, 2, 3, 3, 4, 4]
        (notice,) = (each for each in tail.last_notices() if "lost" in each)
    assert notice.startswith(f"warning: Changes are lost: segment {GONE} was deleted before it was read; ")
    assert notice.endswith("Accepted: reading goes on behind it.")
    (loss,) = (each for each in FolderJournal(state_folder(folder.path)).read() if isinstance(each, LossRecord))
    assert loss.start.segment == loss.end.segment == GONE
    assert loss.start < loss.end
    assert run_cli(["follow", folder.path, "--consumer", "c", "--once"]).code == 0


def test_an_empty_folder_is_no_evidence(folder: LogFolder) -> None:
    """As at a file system that is unmounted while it is read: nothing is written off."""
    with open_tail(folder.path, TailOptions(consumer="c", accept_loss=True)) as tail:
        step = tail.step()
        for number in range(5):
            take_away(folder, ONE + number)
        with pytest.raises(SystemFailedError, match=f"the folder is empty, and segment {ONE} is to be read"):
            list(tail.read(step.tasks[0]))
        assert tail.taken.position <= Position(ONE, 0)
    assert not [each for each in FolderJournal(state_folder(folder.path)).read() if isinstance(each, LossRecord)]
