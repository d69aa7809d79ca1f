"""Folders that change: a consumer stopped and resumed at every stage gets every row once, in order, none too early."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.cli import Result, run_cli
from tests.helpers.compare import same_rows, without_truncates
from tests.helpers.replay import Reading, Stage, replayed, unread_position
from tests.helpers.sets import STAGES, Place, stages
from tests.oracle import Expected, expected
from tests.oracle.segments import plan, segments
from tests.oracle.stages import Replay, every_row

CONSUMER = ("--consumer", "c")


def follow(folder: Path, *more: str) -> Result:
    result = run_cli(["follow", folder, "--once", "--output", "json", *CONSUMER, *more])
    assert "Traceback" not in result.err
    return result


def follower(folder: Path) -> Reading:
    def read(want: Expected) -> list[str]:
        result = follow(folder)
        assert result.code == want.exit_code, result.err
        return result.lines

    return read


@pytest.mark.parametrize("name", ["50-live", "41-lz4-live"])
def test_live_logs(name: str, sets_root: Path, tmp_path: Path) -> None:
    told = replayed(stages(name), sets_root, tmp_path, follower, links=False)
    everything = expected(sets_root / name, stages(name)[-1].folder(sets_root))
    same_rows(everything.rows, told)


@pytest.mark.parametrize("links", [False, True], ids=["as-unpacked", "links"])
@pytest.mark.parametrize("name", ["50-nonblocking", "50-cap"])
def test_logs_at_the_space_limit(name: str, links: bool, sets_root: Path, tmp_path: Path) -> None:
    """Nobody lost anything who read at every stage: all rows of all segments, those long gone too."""
    told = replayed(stages(name), sets_root, tmp_path, follower, links=links)
    assert told == every_row(sets_root / name)


@pytest.mark.parametrize("name", ["50-crash", "40-crash", "50-lz4-crash", "50-crash-gap"])
def test_crashed_logs(name: str, sets_root: Path, tmp_path: Path) -> None:
    """Nothing durable is lost, nothing comes twice, and nothing waits for a segment that will never be completed."""
    told = replayed(stages(name), sets_root, tmp_path, follower, links=True)
    last = stages(name)[-1].folder(sets_root)
    assert told == expected(sets_root / name, last, stopped=True).texts
    assert len(told) == len(set(told))


def test_the_gap_is_waited_for_where_links_do_not_tell(sets_root: Path, tmp_path: Path) -> None:
    told = replayed(stages("50-crash-gap"), sets_root, tmp_path, follower, links=False)
    assert len(told) == 120


def test_the_gap_ends_with_stopped(sets_root: Path, tmp_path: Path) -> None:
    stage = Stage(tmp_path, sets_root)
    last = stages("50-crash-gap")[-1]
    stage.show(last)
    told = []
    for more, code in ([], 9), (["--stopped"], 0), (["--stopped"], 0):
        result = follow(stage.folder, *more)
        assert result.code == code, result.err
        told += result.lines
    same_rows(expected(sets_root / last.set, stage.folder, stopped=True).rows, told)


def test_killed_and_restarted(sets_root: Path, tmp_path: Path) -> None:
    places = [Place("50-killed-lz4", "killed"), Place("50-killed-lz4", "cdc_raw")]
    told = replayed(places, sets_root, tmp_path, follower, links=False)
    assert told == expected(sets_root / "50-killed-lz4", places[-1].folder(sets_root)).texts


def test_torn_and_stopped(sets_root: Path, tmp_path: Path) -> None:
    """The consumer stops at the sidecar; once nobody writes any more it goes on to the torn marker, once."""
    stage = Stage(tmp_path, sets_root)
    stage.show(Place("50-torn"))
    last = 1795258981170
    told = [without_truncates(follow(stage.folder, *more).lines) for more in ([], [], ["--stopped"], ["--stopped"])]
    before = expected(sets_root / "50-torn", stage.folder).texts
    both = expected(sets_root / "50-torn", stage.folder, stopped=True).texts
    assert told[1] == told[3] == []
    assert told[2] == both[len(before) :]
    assert [line for line in told[0] if f'"segment":{last},' in line] == [
        line for line in before if f'"segment":{last},' in line
    ]


@pytest.mark.parametrize(("read", "then"), [(1, 7), (4, 9)])
@pytest.mark.parametrize("links", [False, True], ids=["as-unpacked", "links"])
def test_segments_that_vanished_unread_are_one_loss(
    read: int, then: int, links: bool, sets_root: Path, tmp_path: Path
) -> None:
    name = "50-nonblocking"
    stage = Stage(tmp_path, sets_root)
    stage.show(Place(name, read), links=links)
    replay = Replay(sets_root / name)
    before = replay.stage(stage.folder)
    assert follow(stage.folder).lines == before.texts
    segment, offset = unread_position(before)

    stage.show(Place(name, then), links=links)
    for _ in range(2):
        lost = follow(stage.folder)
        assert (lost.code, lost.lines) == (5, [])
        assert f"{segment}:{offset}" in lost.err
        assert "--accept-loss" in lost.err

    rest = replay.stage(stage.folder)
    accepted = follow(stage.folder, "--accept-loss")
    assert accepted.code == 0, accepted.err
    same_rows(rest.rows, accepted.lines)
    again = follow(stage.folder)
    assert (again.code, again.lines) == (0, [])


@pytest.mark.parametrize("name", list(STAGES))
def test_a_second_consumer_starts_from_the_oldest_segment(name: str, sets_root: Path, tmp_path: Path) -> None:
    """Consumers do not see each other: one that comes late gets what the folder still has."""
    stage = Stage(tmp_path, sets_root)
    middle, last = stages(name)[STAGES[name] // 3], stages(name)[-1]
    stage.show(middle, links=True)
    result = follow(stage.folder)
    assert result.code in (0, 9), result.err
    stage.show(last, links=True)
    late = run_cli(["follow", stage.folder, "--once", "--output", "json", "--consumer", "late"])
    assert late.code == 0, late.err
    reached = {reach.segment: reach.limit for reach in plan(segments(stage.folder), stopped=False).reaches}
    same_count = sum(1 for line in every_row(sets_root / name) if _covered(line, reached))
    assert len(late.lines) == same_count


def _covered(line: str, reached: dict[int, int]) -> bool:
    row = json.loads(line)
    return bool(row["offset"] < reached.get(row["segment"], 0))
