"""The planner as Spark calls it, over the recorded folders as they change: every row once, in order, none too early."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import pytest

from tailer.errors import LossError, RefusedError, UsageError
from tests.conftest import FreshFolder
from tests.helpers.compare import same_rows, without_truncates
from tests.helpers.replay import Reading, Stage, replayed, unread_position
from tests.helpers.sets import Place, key_options, stages
from tests.oracle import expected
from tests.oracle.stages import Replay, every_row
from tests.spark.engine import Engine, planned_anew, read_lines


@pytest.mark.parametrize("limit", [None, "20k"], ids=["unlimited", "20k"])
@pytest.mark.parametrize("name", ["50-live", "41-lz4-live"])
def test_live_logs_stopped_and_resumed_at_every_stage(
    name: str, limit: str | None, sets_root: Path, tmp_path: Path
) -> None:
    told = replayed_by_engine(name, sets_root, tmp_path, links=False, limit=limit)
    same_rows(expected(sets_root / name, stages(name)[-1].folder(sets_root)).rows, told)


@pytest.mark.parametrize("links", [False, True], ids=["as-unpacked", "links"])
@pytest.mark.parametrize("name", ["50-nonblocking", "50-cap"])
def test_logs_at_the_space_limit(name: str, links: bool, sets_root: Path, tmp_path: Path) -> None:
    assert replayed_by_engine(name, sets_root, tmp_path, links=links) == every_row(sets_root / name)


@pytest.mark.parametrize("name", ["50-crash", "50-lz4-crash", "50-crash-gap"])
def test_crashed_logs(name: str, sets_root: Path, tmp_path: Path) -> None:
    told = replayed_by_engine(name, sets_root, tmp_path, links=True)
    assert told == expected(sets_root / name, stages(name)[-1].folder(sets_root), stopped=True).texts


@pytest.mark.parametrize(
    "name", ["50-lz4", "50-snappy", "50-deflate", "50-zstd", "50-aes", "40-aes", "50-cases-v8", "40-cases"]
)
def test_every_framing(name: str, sets_root: Path, fresh_folder: FreshFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fresh_folder(name)
    options, env = key_options(sets_root / name)
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    engine = Engine(folder, {"maxBytesPerTrigger": "50k", **({"keystore": options[1]} if options else {})})
    lines = engine.available_now()
    same_rows(expected(sets_root / name, folder).rows, without_truncates(lines))


@pytest.mark.parametrize("name", ["50-cases", "41-cases", "40-cases"])
def test_partitions_with_no_more_definitions_than_they_need(
    name: str, sets_root: Path, fresh_folder: FreshFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: dict[bool, int] = {}
    for narrowed in (False, True):
        monkeypatch.setattr("tailer.definitions.met.FEW_TABLES", -1 if narrowed else 1 << 40)
        folder = fresh_folder(name)
        engine = Engine(folder, {"maxBytesPerTrigger": "20k", "consumer": f"narrowed-{narrowed}"})
        with engine.running(once=True) as planner:
            rows, lengths[narrowed] = [], 0
            while engine.log_next(planner):
                jobs = planner.partitions(engine.end(engine.committed - 1), engine.offsets[-1])
                lengths[narrowed] += sum(map(len, jobs))
                rows += [line for job in jobs for line in read_lines(job)]
                engine.committed += 1
        same_rows(expected(sets_root / name, folder).rows, without_truncates(rows))
    # Not by more: these sets are full of truncations and batches, and an entry of those may be of any table.
    assert lengths[True] < 0.9 * lengths[False]


def test_passwords_from_a_file_reach_the_executor(sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path) -> None:
    folder = fresh_folder("50-aes")
    options, env = key_options(sets_root / "50-aes")
    (tmp_path / "passwords").write_text("\n".join(env.values()))
    engine = Engine(folder, {"keystore": options[1], "keystorePasswordFile": str(tmp_path / "passwords")})
    same_rows(expected(sets_root / "50-aes", folder).rows, without_truncates(engine.available_now()))
    with pytest.raises(UsageError, match="no password for the keystore"):
        Engine(folder, {"keystore": options[1], "consumer": "other"}).available_now()


def replayed_by_engine(
    name: str, sets_root: Path, tmp_path: Path, *, links: bool, limit: str | None = None
) -> list[str]:
    """One query, started anew at every stage."""

    def reader(folder: Path) -> Reading:
        engine = Engine(folder, {} if limit is None else {"maxBytesPerTrigger": limit})
        return lambda want: engine.available_now()

    return replayed(stages(name), sets_root, tmp_path, reader, links=links)


def test_a_batch_has_the_same_rows_whenever_it_is_planned(sets_root: Path, tmp_path: Path) -> None:
    """Each batch is planned again at every later stage, as long as its segments are there."""
    name = "50-live"
    stage = Stage(tmp_path, sets_root)
    engine = Engine(stage.folder, {"maxBytesPerTrigger": "30k"})
    read: list[tuple[int, list[str]]] = []
    again = 0
    for place in stages(name):
        stage.show(place)
        with engine.running(once=True) as planner:
            for rows in engine.batches(planner):
                read.append((engine.committed, rows))
        for number, rows in read[-12:]:
            assert planned_anew(stage.folder, engine.end(number - 1), engine.end(number)) == rows
            again += 1
    assert again > 100
    assert len(read) > 40


def test_a_limit_cuts_batches_and_leaves_the_rows(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    whole, cut = Engine(folder, {"consumer": "a"}), Engine(folder, {"consumer": "b", "maxBytesPerTrigger": "4k"})
    assert whole.available_now() == cut.available_now()
    assert len(whole.offsets) == 1
    assert len(cut.offsets) > 50


def test_a_new_run_without_news_gives_no_batch(fresh_folder: FreshFolder) -> None:
    engine = Engine(fresh_folder("50-cases"))
    assert engine.available_now()
    assert engine.available_now() == []
    with engine.running() as planner:
        assert not engine.log_next(planner)
    assert len(engine.offsets) == 1


def test_killed_at_any_point_of_a_batch(sets_root: Path, tmp_path: Path) -> None:
    """The runner dies before the offset is logged, after, or after the batch: nothing is lost, nothing comes twice."""
    name = "50-nonblocking"
    stage = Stage(tmp_path, sets_root)
    engine = Engine(stage.folder, {"maxBytesPerTrigger": "50k"})
    told: list[str] = []
    deaths = itertools.cycle(("planned", "logged", "read", "none"))
    for place in stages(name):
        stage.show(place, links=True)
        for _ in range(100):
            with engine.running() as planner:
                death = next(deaths)
                if engine.committed < len(engine.offsets):
                    told += engine.read(planner, engine.end(engine.committed - 1), engine.offsets[-1])
                    engine.committed = len(engine.offsets)
                if not engine.log_next(planner):
                    break
                if death == "planned":
                    engine.offsets.pop()
                elif death == "read":
                    engine.read(planner, engine.end(engine.committed - 1), engine.offsets[-1])
    assert without_truncates(told) == every_row(sets_root / name)


@pytest.mark.parametrize(("read", "then"), [(1, 7), (4, 9)])
@pytest.mark.parametrize("links", [False, True], ids=["as-unpacked", "links"])
def test_segments_that_vanished_unread_are_one_loss(
    read: int, then: int, links: bool, sets_root: Path, tmp_path: Path
) -> None:
    name = "50-nonblocking"
    stage = Stage(tmp_path, sets_root)
    engine = Engine(stage.folder)
    stage.show(Place(name, read), links=links)
    replay = Replay(sets_root / name)
    before = replay.stage(stage.folder)
    assert engine.available_now() == before.texts
    segment, offset = unread_position(before)

    stage.show(Place(name, then), links=links)
    for _ in range(2):
        with pytest.raises(LossError, match=f"{segment}:{offset}"):
            engine.available_now()
    rest = replay.stage(stage.folder)
    same_rows(rest.rows, engine.available_now(failOnDataLoss="false"))
    assert engine.available_now() == []
    last = planned_anew(stage.folder, engine.end(engine.committed - 2), engine.end(engine.committed - 1))
    same_rows(rest.rows[-len(last) :], last)


def test_a_segment_that_goes_between_planning_and_reading_is_a_loss(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    engine = Engine(folder)
    with engine.running() as planner:
        assert engine.log_next(planner)
    first = min(folder.glob("*.log"))
    first.unlink()
    with engine.running() as planner, pytest.raises(LossError, match=first.stem.split("-")[2]):
        engine.read(planner, engine.end(-1), engine.end(0))
    with engine.running(failOnDataLoss="false") as planner:
        rest = engine.read(planner, engine.end(-1), engine.end(0))
    assert rest
    with engine.running() as planner:
        assert engine.read(planner, engine.end(-1), engine.end(0)) == rest


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_the_first_offset_is_kept_until_the_consumer_has_moved(start: str, sets_root: Path, tmp_path: Path) -> None:
    """Spark stores it nowhere: after a crash in batch 0 it asks again, and the folder has moved on."""
    stage = Stage(tmp_path, sets_root)
    stage.show(Place("50-live", 4))
    engine = Engine(stage.folder, {"startingOffsets": start})
    with engine.running() as planner:
        first = planner.initial()
        assert planner.initial() == first
    stage.show(Place("50-live", 9))
    with engine.running() as planner:
        assert json.dumps(planner.initial()) == json.dumps(first)
        assert engine.log_next(planner)
    with engine.running() as planner:
        assert json.dumps(planner.initial()) == json.dumps(first)
    assert engine.available_now()
    assert engine.available_now() == []
    with engine.running() as planner:
        anew = planner.initial()
    assert (json.dumps(anew["nodes"]["local"]["o"]) == json.dumps(first["nodes"]["local"]["o"])) == (
        start == "earliest"
    )


def test_two_checkpoints_under_one_name(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    old, new = Engine(folder, {"maxBytesPerTrigger": "8k"}), Engine(folder)
    with old.running() as planner:
        next(old.batches(planner))
    assert new.available_now()
    assert new.available_now() == []
    with pytest.raises(RefusedError, match="another checkpoint"):
        old.available_now()
    assert old.available_now(consumer="other")


def test_a_state_folder_that_was_deleted_is_refused(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    engine = Engine(folder, {"maxBytesPerTrigger": "8k"})
    with engine.running() as planner:
        next(engine.batches(planner))
    shutil.rmtree(folder.with_name("cdc_raw.cdc_tail"))
    with pytest.raises(RefusedError, match="of another state folder"):
        engine.available_now()


def test_the_same_offset_twice_touches_no_file(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    engine = Engine(folder)
    assert engine.available_now()
    with Engine(folder.with_name("nowhere")).running() as planner:
        assert planner.partitions(engine.end(0), engine.end(0)) == []
    with engine.running() as planner, pytest.raises(RefusedError, match="before it starts"):
        planner.partitions(engine.end(0), engine.end(-1))


def test_rows_held_back_behind_an_unfinished_segment_are_a_warning(
    sets_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = Stage(tmp_path, sets_root)
    stage.show(stages("50-crash-gap")[-1])
    engine = Engine(stage.folder)
    told = engine.available_now()
    assert len(told) == 120
    assert "held back behind segment" in capsys.readouterr().err
    rest = engine.available_now(stopped="true")
    same_rows(expected(sets_root / "50-crash-gap", stage.folder, stopped=True).rows, told + rest)


def test_log_without_rows_of_interest_wakes_nobody(sets_root: Path, tmp_path: Path) -> None:
    """No batch but for a segment that was passed: offsets without rows are not handed out otherwise."""
    stage = Stage(tmp_path, sets_root)
    engine = Engine(stage.folder, {"tables": "app.users", "maxBytesPerTrigger": "1g"})
    empty = 0
    for place in stages("50-live"):
        stage.show(place, links=True)
        with engine.running() as planner:
            for number, rows in enumerate(engine.batches(planner), engine.committed):
                before, after = (engine.end(n)["nodes"]["local"] for n in (number - 1, number))
                if not rows:
                    empty += 1
                    assert (before["s"], before["done"], before["p"]) != (after["s"], after["done"], after["p"])
    assert empty < len(engine.offsets)


def test_a_late_segment_keeps_its_own_definitions(sets_root: Path, tmp_path: Path) -> None:
    """Its bytes are met when the planner is past it, by a reader whose journal is all that a batch knows."""
    stage = Stage(tmp_path, sets_root)
    stage.show(Place("50-cases"))
    late = sorted(stage.folder.glob("*.log"))[1]
    aside = tmp_path / "aside"
    aside.mkdir()
    for file in stage.folder.glob(f"{late.stem}*"):
        file.rename(aside / file.name)
    engine = Engine(stage.folder, {"onError": "quarantine"})
    assert engine.available_now()
    first = len(engine.offsets)
    for file in sorted(aside.iterdir(), reverse=True):
        file.rename(stage.folder / file.name)
    told = engine.available_now()
    id = int(late.stem.split("-")[2])
    want = [row for row in expected(sets_root / "50-cases", stage.folder).rows if row.data["segment"] == id]
    same_rows(want, without_truncates(told))
    ends = range(first, len(engine.offsets))
    again = [line for n in ends for line in planned_anew(stage.folder, engine.end(n - 1), engine.end(n))]
    assert again == told
