"""A7: segments that appear below where a consumer began: none is passed over without a word."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pyarrow as pa
import pytest

import tailer
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.forget_dropped import forget_dropped
from tailer.retention.needed import Ages, Limits
from tests.helpers.cli import Result, run_cli
from tests.helpers.log_writer import (
    Column,
    LogFolder,
    alter_payload,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.logs.frame import SegmentWriter

TABLE = simple_table("ks", "t")
FIRST = 1_700_000_000_000
HIGH, LOW = 100, 10
"""Numbers of segments: of a server whose clock was ahead, and of the same one when it was right."""


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """Two segments, read by consumer c."""
    folder = LogFolder(tmp_path / "cdc_raw")
    put(folder, HIGH, first=[create_payload(TABLE)])
    put(folder, HIGH + 1)
    assert values(folder) == [HIGH, HIGH + 1]
    return folder


def segment(number: int, values: list[int] | None = None, first: list[bytes] | None = None) -> SegmentWriter:
    """With a row for each value, each in a section of its own; the number by default."""
    rows = [[insert_payload(TABLE, number, "a", value)] for value in values or [number]]
    return segment_of(FIRST + number, [[*(first or []), *rows[0]], *rows[1:]])


def put(folder: LogFolder, number: int, *, first: list[bytes] | None = None) -> None:
    writer = segment(number, None, first)
    folder.put(writer, completed(writer))


def follow(folder: LogFolder, *more: str, name: str = "c") -> Result:
    return run_cli(["follow", folder.path, "--once", "--output", "json", "--consumer", name, *more])


def values(folder: LogFolder, *more: str, name: str = "c") -> list[int]:
    ran = follow(folder, *more, name=name)
    assert ran.code == 0, ran.err
    return [json.loads(line)["columns"]["v"] for line in ran.lines]


def cleaned(folder: LogFolder) -> list[int]:
    made = clean(folder.path, ages=Ages(0.0, 0.0), clock=lambda: time.time() + 1000)
    return [held.segment - FIRST for held in made.logs]


def settle(folder: LogFolder, action: str, *numbers: int, name: str = "c") -> None:
    ran = run_cli(["consumers", folder.path, action, name, *(str(FIRST + number) for number in numbers)])
    assert ran.code == 0, ran.err


def test_one_that_was_finished_is_named_with_what_is_known_of_it(log: LogFolder) -> None:
    put(log, LOW)
    ran = follow(log)
    assert (ran.code, ran.out) == (5, "")
    for known in (f"segment {FIRST + LOW} has appeared", "COMPLETED", "1 name", "deliver c", "accept c"):
        assert known in ran.err, known
    assert LOW not in cleaned(log), "it is kept until somebody has said what it is"


def test_it_is_delivered_where_that_is_asked_for(log: LogFolder) -> None:
    put(log, LOW)
    put(log, HIGH + 2)
    assert follow(log).code == 5
    settle(log, "deliver", LOW)
    assert sorted(values(log)) == [LOW, HIGH + 2]
    assert values(log) == []
    assert LOW in cleaned(log)


@pytest.mark.parametrize("how", ["accept", "--accept-loss"])
def test_it_is_left_out_where_it_is_old(log: LogFolder, how: str) -> None:
    put(log, LOW)
    put(log, HIGH + 2)
    if how == "accept":
        settle(log, how, LOW)
        assert values(log) == [HIGH + 2]
    else:
        assert values(log, how) == [HIGH + 2]
    assert values(log) == [], "once and for all"
    assert LOW in cleaned(log)


@pytest.mark.parametrize("renewed", [False, True], ids=["times kept", "times renewed"])
def test_no_time_decides(log: LogFolder, renewed: bool) -> None:
    """A copy made with or without times (rsync -t), of long ago or of now."""
    put(log, LOW)
    if not renewed:
        for path in log.path.glob(f"*{FIRST + LOW}*"):
            os.utime(path, (1_500_000_000, 1_500_000_000))
    assert follow(log).code == 5
    assert LOW not in cleaned(log)


def test_one_that_grows_is_new(log: LogFolder) -> None:
    """Seen by two runs: its sidecar said less to the first one."""
    writer = segment(LOW, [1, 2, 3])
    log.put(writer, f"{writer.sections[0].end}\n")
    assert follow(log).code == 5, "nothing tells by now what it is, and this run does not wait"
    log.sidecar(writer, live(writer))
    ran = follow(log)
    assert (ran.code, [json.loads(line)["columns"]["v"] for line in ran.lines]) == (0, [1, 2, 3]), ran.err
    assert "it is read now, behind the others" in ran.err
    log.sidecar(writer, completed(writer))
    assert values(log) == []
    put(log, HIGH + 2)
    assert values(log) == [HIGH + 2]
    assert LOW in cleaned(log)


def test_what_there_was_at_the_start_is_history(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "cdc_raw")
    put(folder, LOW, first=[create_payload(TABLE)])
    put(folder, HIGH)
    assert values(folder, "--from", "latest") == []
    put(folder, HIGH + 1)
    assert values(folder) == [HIGH + 1]
    assert cleaned(folder) == [LOW, HIGH]
    put(folder, LOW)
    put(folder, HIGH + 2)
    assert values(folder) == [HIGH + 2], "a restarted server has linked it again"


def test_a_consumer_that_lags_reads_it_behind_the_others(log: LogFolder) -> None:
    """The order is the one in which the state first saw the segments."""
    assert values(log, name="lags") == [HIGH, HIGH + 1]
    put(log, HIGH + 2)
    put(log, HIGH + 3)
    writer = segment(LOW, [1, 2])
    log.put(writer, f"{writer.sections[0].end}\n")
    ran = follow(log)
    assert (ran.code, [json.loads(line)["columns"]["v"] for line in ran.lines]) == (5, [HIGH + 2, HIGH + 3])
    log.sidecar(writer, completed(writer))
    settle(log, "deliver", LOW)
    assert values(log) == [1, 2]
    put(log, HIGH + 4)
    settle(log, "deliver", LOW, name="lags")
    assert values(log, name="lags") == [HIGH + 2, HIGH + 3, 1, 2, HIGH + 4]
    assert values(log, name="new") == [HIGH, HIGH + 1, HIGH + 2, HIGH + 3, 1, 2, HIGH + 4]


def test_definitions_are_those_of_the_order_too(log: LogFolder) -> None:
    """The CREATE stands in a higher segment, and the later ALTER in the lower one."""
    wide = simple_table("ks", "t")
    writer = segment_of(
        FIRST + LOW,
        [
            [insert_payload(TABLE, 1, "a", 1)],
            [alter_payload(wide, Column("w", "regular", "int")), insert_payload(TABLE, 2, "a", 2)],
        ],
    )
    log.put(writer, completed(writer))
    assert follow(log).code == 5
    settle(log, "deliver", LOW)
    assert values(log) == [1, 2]
    assert values(log, name="new") == [HIGH, HIGH + 1, 1, 2]


@pytest.fixture
def linked_again(tmp_path: Path) -> LogFolder:
    """Three segments, read by consumer all. The links of the first two are removed by hand, consumer c begins, and they
    are linked again. The definitions stand in them."""
    wide = simple_table("ks", "t")
    folder = LogFolder(tmp_path / "cdc_raw")
    put(folder, LOW, first=[create_payload(TABLE)])
    put(folder, LOW + 1, first=[alter_payload(wide, Column("w", "regular", "int"))])
    rows = [insert_payload(wide, HIGH, "a", HIGH)]
    writer = segment_of(FIRST + HIGH, [rows])
    folder.put(writer, completed(writer))
    assert values(folder, name="all") == [LOW, LOW + 1, HIGH]
    removed = {path: path.read_bytes() for number in (LOW, LOW + 1) for path in folder.path.glob(f"*{FIRST + number}*")}
    for path in removed:
        path.unlink()
    assert values(folder, "--from", "latest") == []
    for path, content in removed.items():
        path.write_bytes(content)
    put(folder, HIGH + 1)
    return folder


@pytest.mark.parametrize("word", ["accept", "deliver"])
def test_one_that_the_state_has_met_before_keeps_its_place(linked_again: LogFolder, word: str) -> None:
    """What it says of definitions counts where it stood, for whoever is asked about it."""
    ran = follow(linked_again)
    assert (ran.code, ran.out) == (5, "")
    assert f"segments {FIRST + LOW}, {FIRST + LOW + 1} have appeared" in ran.err
    assert "its changes are old" in ran.err
    settle(linked_again, word, LOW, LOW + 1)
    assert values(linked_again) == ([LOW, LOW + 1] if word == "deliver" else []) + [HIGH + 1]
    assert values(linked_again, name="all") == [HIGH + 1]
    assert values(linked_again, name="new") == [LOW, LOW + 1, HIGH, HIGH + 1], "to the state they did not appear"


@pytest.mark.parametrize("how", ["seek", "drop"])
def test_a_consumer_that_begins_anew_reads_what_keeps_its_place(linked_again: LogFolder, how: str) -> None:
    assert follow(linked_again).code == 5
    words = ["seek", "c", "earliest"] if how == "seek" else ["drop", "c"]
    ran = run_cli(["consumers", linked_again.path, *words])
    assert ran.code == 0, ran.err
    assert values(linked_again) == [LOW, LOW + 1, HIGH, HIGH + 1]


def test_one_that_the_state_has_met_before_and_that_is_gone_again_is_a_loss(linked_again: LogFolder) -> None:
    assert follow(linked_again).code == 5
    settle(linked_again, "deliver", LOW, LOW + 1)
    for path in linked_again.path.glob(f"*{FIRST + LOW}*"):
        path.unlink()
    ran = follow(linked_again)
    assert ran.code == 5
    assert f"segment {FIRST + LOW}, which has appeared" in ran.err


def test_a_state_that_knows_no_order_says_so(log: LogFolder, tmp_path: Path) -> None:
    """Rows before the CREATE of their table: what is wrong is the order, not the definition."""
    put(log, LOW)
    ran = follow(log, "--state", str(tmp_path / "elsewhere"))
    assert (ran.code, ran.out) == (5, "")
    assert f"stands at {FIRST + HIGH}:" in ran.err
    assert "not written in the order of their ids" in ran.err


def test_a_live_run_reads_it_when_it_grows(log: LogFolder) -> None:
    writer = segment(LOW, [1, 2, 3])
    given: list[int] = []

    class Program:
        grown = False

        def start(self, state: object) -> None: ...

        def stop(self) -> None: ...

        def on_definitions(self, changes: object) -> None: ...

        def on_changes(self, batch: pa.RecordBatch) -> bool:
            given.extend(json.loads(row["columns"])["v"] for row in batch.to_pylist())
            return True

    said: list[str] = []

    def say(notice: str) -> None:
        said.append(notice)
        if "is read when its durable end is seen to grow" in notice:
            log.sidecar(writer, live(writer))

    log.put(writer, f"{writer.sections[0].end}\n")
    tailer.run(log.path, Program(), name="c", say=say, stopping=lambda: len(given) == 3)
    assert given == [1, 2, 3]
    assert any("it is read now, behind the others" in line for line in said)


@pytest.mark.parametrize(("number", "why"), [(HIGH, "the consumer's record has it"), (LOW + 5, "not in the folder")])
def test_a_word_about_another_segment_is_refused(log: LogFolder, number: int, why: str) -> None:
    put(log, LOW)
    ran = run_cli(["consumers", log.path, "deliver", "c", str(FIRST + number)])
    assert ran.code == 2
    assert why in ran.err


@pytest.mark.parametrize("idx", [True, False], ids=["its idx file is left", "both files"])
@pytest.mark.parametrize("decided", ["deliver", "grows", ""])
def test_one_that_is_gone_before_it_was_read_is_a_loss(log: LogFolder, idx: bool, decided: str) -> None:
    """What was to be read, or might still have been seen to grow."""
    writer = segment(LOW, [1, 2])
    log.put(writer, f"{writer.sections[0].end}\n")
    assert follow(log).code == 5
    put(log, HIGH + 2)
    if decided == "deliver":
        settle(log, "deliver", LOW)
    if decided == "grows":
        log.sidecar(writer, live(writer))
    (log.path / writer.name).unlink()
    if not idx:
        (log.path / writer.sidecar_name).unlink()
    ran = follow(log)
    assert ran.code == 5
    assert f"segment {FIRST + LOW}, which has appeared" in ran.err
    assert values(log, "--accept-loss") == [HIGH + 2]
    assert values(log) == []


@pytest.mark.parametrize("decided", [False, True])
def test_one_that_clean_was_forced_to_take_is_a_loss(log: LogFolder, decided: bool) -> None:
    """Until that is accepted, however often `clean` runs meanwhile."""
    put(log, LOW)
    if decided:
        settle(log, "deliver", LOW)
    forced = CleanOptions(Limits(max_bytes=0, force=True))
    made = clean(log.path, forced, ages=Ages(0.0, 0.0), clock=lambda: time.time() + 1000)
    assert made.lost[FIRST + LOW] == ["c"]
    cleaned(log)
    for _ in range(2):
        ran = follow(log)
        assert (ran.code, ran.out) == (5, "")
        assert f"`clean --force` deleted segment {FIRST + LOW} before it was read" in ran.err
        cleaned(log)
    put(log, HIGH + 2)
    assert values(log, "--accept-loss") == [HIGH + 2]
    cleaned(log)
    assert values(log) == []


def test_one_that_others_took_away_before_somebody_said_what_it_is_is_a_loss(log: LogFolder) -> None:
    put(log, LOW)
    assert follow(log).code == 5
    for file in log.path.glob(f"*-{FIRST + LOW}*"):
        file.unlink()
    ran = follow(log)
    assert (ran.code, ran.out) == (5, "")
    assert f"segment {FIRST + LOW}, which has appeared below" in ran.err
    put(log, HIGH + 2)
    assert values(log, "--accept-loss") == [HIGH + 2]
    assert values(log) == []


def test_a_link_that_the_server_takes_back_was_no_loss(log: LogFolder) -> None:
    """It held no captured change: there never was an idx file."""
    writer = segment(LOW)
    log.put(writer)
    log.hold(writer)
    ran = follow(log)
    assert (ran.code, ran.out) == (5, "")
    log.remove(writer)
    put(log, HIGH + 2)
    assert values(log) == [HIGH + 2]


def test_the_order_outlives_the_consumer_that_saw_it(log: LogFolder) -> None:
    """What a dropped consumer said is forgotten, but for what others go by that begin later."""
    put(log, LOW)
    assert follow(log).code == 5
    settle(log, "deliver", LOW)
    assert values(log) == [LOW]
    assert run_cli(["consumers", log.path, "drop", "c"]).code == 0
    forget_dropped(log.path.with_name("cdc_raw.cdc_tail"), least=1)
    assert values(log, name="new") == [HIGH, HIGH + 1, LOW]
