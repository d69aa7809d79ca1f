"""A folder that is empty and was not before, as at boot while its file system is not mounted: evidence of nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailer.errors import LossError
from tailer.options.tail import TailOptions
from tailer.retention import clean as cleaning
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.needed import Ages, Limits
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import LossRecord
from tailer.state.log_folder import state_folder
from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import (
    LogFolder,
    SegmentWriter,
    completed,
    live,
    one_row_log,
    one_row_segment,
    simple_table,
)
from tests.helpers.tails import open_tail

ONE = 1_700_000_000_001
TABLE = simple_table("ks", "t")
NOTICE = "the folder is empty, and segment {} was there before: it is waited for. Is its file system mounted?"


def segment(number: int) -> SegmentWriter:
    return one_row_segment(TABLE, ONE, number)


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    """Three segments; a consumer stands in the first."""
    made = one_row_log(tmp_path / "cdc_raw", TABLE, ONE, 3)
    with open_tail(made.path, TailOptions(consumer="a")) as tail:
        tail.advance(tail.step(1))
        tail.save()
    return made


def unmount(folder: LogFolder) -> Path:
    away = folder.path.with_name("disk")
    folder.path.rename(away)
    folder.path.mkdir()
    return away


def mount(folder: LogFolder, away: Path) -> None:
    folder.path.rmdir()
    away.rename(folder.path)


def follow(folder: LogFolder, *more: str) -> Result:
    return run_cli(["follow", folder.path, "--once", "--output", "json", "--consumer", "a", *more])


def rows(found: Result) -> list[int]:
    return [json.loads(line)["segment"] - ONE for line in found.lines]


@pytest.mark.parametrize("options", [[], ["--accept-loss"]], ids=["", "accepting losses"])
def test_nothing_is_lost_and_nothing_is_written_off(folder: LogFolder, options: list[str]) -> None:
    away = unmount(folder)
    for _ in range(2):
        found = follow(folder, *options)
        assert (found.code, found.out) == (9, ""), found.err
        assert found.err.count("the folder is empty") == 2, "the notice, and the error"
        assert NOTICE.format(ONE + 2) in found.err
    assert [each for each in FolderJournal(state_folder(folder.path)).read() if isinstance(each, LossRecord)] == []
    mount(folder, away)
    found = follow(folder, *options)
    assert found.code == 0
    assert rows(found)[-2:] == [1, 2]


def test_other_segments_are_evidence(folder: LogFolder) -> None:
    """They are those of a server that was set up anew: what was not read is not coming back by itself."""
    unmount(folder)
    folder.put(segment(7), live(segment(7)))
    assert follow(folder).code == 5
    assert rows(follow(folder, "--accept-loss")) == [7]


def test_who_follows_waits_and_says_so_once(folder: LogFolder) -> None:
    away = unmount(folder)
    with open_tail(folder.path, TailOptions(consumer="a")) as tail:
        steps = [tail.step() for _ in range(3)]
        assert [step.error for step in steps] == [None] * 3
        assert [step.moved or bool(step.tasks) for step in steps] == [False] * 3
        assert sum(NOTICE.format(ONE + 2) in notice for step in steps for notice in step.notices) == 1
        mount(folder, away)
        assert [task.span.segment - ONE for task in tail.step().tasks][-2:] == [1, 2]


def test_a_late_segment_is_not_forgotten(tmp_path: Path) -> None:
    """Passed over without a sidecar, it is in the position; an empty folder does not say that it went."""
    folder = LogFolder(tmp_path / "cdc_raw")
    folder.put(segment(0))
    folder.put(segment(1), live(segment(1)))
    assert rows(follow(folder)) == [1]
    away = unmount(folder)
    assert follow(folder).code == 9
    mount(folder, away)
    folder.put(segment(0), completed(segment(0)))
    assert rows(follow(folder)) == [0]


def test_what_is_read_and_cleaned_is_no_news(folder: LogFolder) -> None:
    """The folder of a service that ended is empty for good."""
    assert follow(folder, "--stopped").code == 0
    everything = CleanOptions(Limits(max_bytes=0, force=True), stopped=True)
    clean(folder.path, everything, ages=Ages(0, 0), clock=lambda: 1e11)
    assert list(folder.path.iterdir()) == []
    assert follow(folder) == Result(0, "", "")


def test_what_was_read_whole_is_waited_for_with_a_word(folder: LogFolder) -> None:
    assert follow(folder, "--stopped").code == 0
    unmount(folder)
    found = follow(folder, "--stopped")
    assert (found.code, found.out) == (0, "")
    assert NOTICE.format(ONE + 2) in found.err


def test_clean_forgets_nothing_for_it(folder: LogFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read and is not cleaned yet comes back with its file system, and may be read from the beginning."""
    monkeypatch.setattr(cleaning, "FORGOTTEN_AT_LEAST", 1)
    assert follow(folder).code == 0
    state = state_folder(folder.path)
    known = FolderJournal(state).segment_ends(None)
    assert len(known) == 2
    away = unmount(folder)
    clean(folder.path, ages=Ages(0, 0), clock=lambda: 1e11)
    assert (FolderJournal(state).segment_ends(None), FolderJournal(state).base.segment) == (known, 0)
    mount(folder, away)
    clean(folder.path, ages=Ages(0, 0), clock=lambda: 1e11)
    assert FolderJournal(state).base.segment == ONE + 2


def test_a_segment_that_is_held_open_is_read_to_its_end(folder: LogFolder) -> None:
    """Its names are gone while it is being read: that is no matter of a mount."""
    with open_tail(folder.path, TailOptions()) as tail:
        for _ in range(2):
            tail.advance(tail.step(1))
        for file in folder.path.iterdir():
            file.unlink()
        for _ in range(5):
            step = tail.step()
            assert step.error is None or isinstance(step.error, LossError)
            tail.advance(step)
        assert tail.offset.done
