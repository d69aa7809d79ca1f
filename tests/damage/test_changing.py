"""Folders that change under a reader in odd ways: sidecars that are stuck or go back, files cut, gone, grown again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailer.errors import CdcError
from tailer.options.tail import TailOptions
from tailer.tail.tail import Tail
from tests.damage.deliver import deliver
from tests.damage.sample import SECTIONS, SEGMENT, TABLE, make
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import LogFolder, SegmentWriter, completed, insert_payload, live, restarted, segment_of
from tests.helpers.tails import tail_parts

pytestmark = pytest.mark.damage

ALL = [value for section in SECTIONS for value in section]


def later(number: int = 1) -> SegmentWriter:
    """A segment behind the sample, with one row."""
    return segment_of(SEGMENT + number, [[insert_payload(TABLE, 100, "later", 100 + number)]])


class Following:
    """A reader that is asked for what is new, with clocks of its own."""

    def __init__(self, folder: Path, **options: object) -> None:
        self.now = 1000.0
        self.said: list[str] = []
        given = TailOptions(**{"settle_seconds": 60.0, **options})  # type: ignore[arg-type]
        parts = tail_parts(folder, given, writes="consumer" in options, clock=self.clock, wall=self.clock)
        self.tail = Tail(parts)
        self.tail.open()

    def clock(self) -> float:
        return self.now

    def new(self) -> list[int]:
        """The values of the rows that came since; raises what stands in the way."""
        found: list[int] = []
        for _ in range(20):
            step = self.tail.step()
            self.said += step.notices
            for task in step.tasks:
                for batch in self.tail.read(task):
                    found += [json.loads(line)["columns"]["v"] for line in batch.json_lines().splitlines()]
            self.tail.advance(step)
            self.tail.save()
            if not (step.tasks or step.moved):
                if step.error is not None and not found:
                    raise step.error
                return found
        raise AssertionError("no end")


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    return LogFolder(tmp_path / "cdc_raw")


@pytest.fixture
def made() -> SegmentWriter:
    return make("plain")


@pytest.fixture
def follower(folder: LogFolder) -> Iterator[Following]:
    following = Following(folder.path)
    yield following
    following.tail.close()


def test_a_sidecar_that_goes_back_is_stuck_or_vanishes_gives_nothing_twice(
    folder: LogFolder, made: SegmentWriter, follower: Following
) -> None:
    ends = [section.end for section in made.sections]
    folder.put(made, "")
    assert follower.new() == []
    folder.sidecar(made, str(ends[1]))
    assert follower.new() == [0, 1, 2]
    for text in (str(ends[0]), str(ends[1]), "3", "", "x", None, str(ends[1])[:2], f"{ends[1]}\nCOMP"):
        folder.sidecar(made, text)
        assert follower.new() == []
    folder.sidecar(made, str(ends[3]))
    assert follower.new() == [3, 4, 5]
    folder.sidecar(made, str(ends[2]))
    assert follower.new() == []
    folder.sidecar(made, completed(made))
    assert follower.new() == [6, 7, 8]
    folder.sidecar(made, str(ends[0]))
    assert follower.new() == []


def test_a_restart_rewrites_the_number(folder: LogFolder, made: SegmentWriter, follower: Following) -> None:
    folder.put(made, str(made.sections[1].end))
    assert follower.new() == [0, 1, 2]
    folder.sidecar(made, restarted(made))
    assert follower.new() == [3, 4, 5, 6, 7, 8]


def test_a_restart_between_two_runs(folder: LogFolder, made: SegmentWriter) -> None:
    folder.put(made, str(made.sections[1].end))
    command: list[str | Path] = ["follow", folder.path, "--once", "--output", "json", "--consumer", "c"]
    assert len(run_cli(command).lines) == 3
    folder.sidecar(made, restarted(made))
    again = run_cli(command)
    assert (again.code, len(again.lines)) == (0, 6)
    assert run_cli(command).lines == []


def test_an_empty_sidecar_holds_back_what_is_promised_behind_it(folder: LogFolder, made: SegmentWriter) -> None:
    folder.put(made, "")
    folder.put(later(), completed(later()))
    outcome = deliver(folder.path)
    assert (outcome.code, outcome.rows) == (9, [])
    assert outcome.error is not None
    sentence = outcome.error.sentence()
    assert "--stopped" in sentence
    assert "--assume-finished-after" in sentence
    assert str(SEGMENT) in sentence


def test_a_file_that_is_cut_under_the_reader(folder: LogFolder, made: SegmentWriter, follower: Following) -> None:
    path = folder.put(made, str(made.sections[3].end))
    assert follower.new() == [0, 1, 2, 3, 4, 5]
    os.truncate(path, 300)
    assert follower.new() == [], "what it lost was read"
    folder.sidecar(made, live(made))
    assert follower.new() == [], "not yet"
    follower.now += 61
    with pytest.raises(CdcError, match=f"{SEGMENT}:") as caught:
        follower.new()
    assert caught.value.code == 4


def test_a_segment_deleted_while_it_is_read_is_read_to_its_end(
    folder: LogFolder, made: SegmentWriter, follower: Following
) -> None:
    folder.put(made, str(made.sections[1].end))
    folder.put(later(), live(later()))
    assert follower.new() == [0, 1, 2]
    folder.remove(made)
    assert follower.new() == [3, 4, 5, 6, 7, 8, 101]


def test_a_segment_deleted_between_two_runs_is_a_loss(folder: LogFolder, made: SegmentWriter) -> None:
    folder.put(made, str(made.sections[1].end))
    command: list[str | Path] = ["follow", folder.path, "--once", "--output", "json", "--consumer", "c"]
    assert len(run_cli(command).lines) == 3
    folder.remove(made)
    folder.put(later(), live(later()))
    lost = run_cli(command)
    assert (lost.code, lost.lines) == (5, [])
    assert f"{SEGMENT}:{made.sections[1].end}" in lost.err
    assert "--accept-loss" in lost.err
    assert run_cli(command).code == 5, "it stays lost until that is accepted"
    accepted = run_cli([*command, "--accept-loss"])
    assert accepted.code == 0, accepted.err
    assert [json.loads(line)["columns"]["v"] for line in accepted.lines] == [101]
    assert run_cli(command).code == 0


def test_a_sidecar_whose_log_is_not_there_is_a_loss(folder: LogFolder, made: SegmentWriter) -> None:
    folder.put(made, completed(made))
    folder.put(later(1), live(later(1))).unlink()
    folder.put(later(2), completed(later(2)))
    outcome = deliver(folder.path)
    assert (outcome.code, len(outcome.rows)) == (5, len(ALL))
    assert f"{SEGMENT + 1}:0" in str(outcome.error)
    outcome = deliver(folder.path, accept_loss=True)
    assert outcome.error is None, outcome.error
    assert len(outcome.rows) == len(ALL) + 1


def test_what_was_taken_for_finished_and_grows_is_a_loss(folder: LogFolder, made: SegmentWriter) -> None:
    whole = bytes(made.data)
    made.data[made.sections[3].at :] = bytes(len(whole) - made.sections[3].at)
    folder.put(made, str(made.sections[1].end))
    command: list[str | Path] = ["follow", folder.path, "--once", "--output", "json", "--consumer", "c"]
    assert len(run_cli([*command, "--stopped"]).lines) == 3
    made.data[:] = whole
    folder.put(made, str(made.sections[3].end))
    grown = run_cli(command)
    assert (grown.code, grown.lines) == (5, [])
    assert f"{SEGMENT}:" in grown.err


def test_promised_bytes_come_late(folder: LogFolder, made: SegmentWriter, follower: Following) -> None:
    """The sidecar was copied first, or the network is slow: no error, no gap, nothing twice."""
    whole = bytes(made.data)
    path = folder.put(made, live(made))
    for length in (0, 10, 20, 300, 400, 580, 600, 780, 900, len(whole)):
        path.write_bytes(whole[:length])
        follower.now += 15
        follower.said += [f"{value}" for value in follower.new()]
    assert [line for line in follower.said if line.isdecimal()] == [str(value) for value in ALL]


@pytest.mark.parametrize("kind", ["folder as log", "folder as sidecar", "link to nowhere", "no permission"])
def test_names_that_are_no_files(kind: str, folder: LogFolder, made: SegmentWriter) -> None:
    log, sidecar = folder.path / made.name, folder.path / made.sidecar_name
    match kind:
        case "folder as log":
            log.mkdir()
            sidecar.write_text(live(made))
        case "folder as sidecar":
            folder.put(made)
            sidecar.mkdir()
        case "link to nowhere":
            log.symlink_to("nowhere")
            sidecar.write_text(live(made))
        case "no permission":
            if os.geteuid() == 0:
                pytest.skip("root may read everything")
            folder.put(made, live(made)).chmod(0)
    result = run_cli(["follow", folder.path, "--once", "--output", "json", "--settle", "0"])
    if kind == "folder as sidecar":
        # As where there is none: nobody vouches for the log, and nothing of it is given out.
        assert (result.code, result.lines) == (0, [])
        assert f"{made.sidecar_name} is a folder" in result.err
    else:
        assert result.code in (2, 4, 5, 8), result.err
    assert "Traceback" not in result.err
    assert "bug" not in result.err
