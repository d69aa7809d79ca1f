"""Segments that appeared below others, and consumers that are moved by hand or begin at a position: each reads what
comes from there on in the order in which the state first saw it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.cli.test_appeared import FIRST, HIGH, LOW, TABLE, cleaned, follow, put, segment, settle, values
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import LogFolder, completed, create_payload
from tests.helpers.logs.frame import SegmentWriter

ORDER = [HIGH, HIGH + 1, 1, 2, HIGH + 2]
"""The values of the rows: 1 and 2 stand in segment LOW, which appeared behind HIGH + 1."""


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """Read to its end by consumer c. Consumer `lags` has not run since before LOW appeared."""
    folder = LogFolder(tmp_path / "cdc_raw")
    put(folder, HIGH, first=[create_payload(TABLE)])
    put(folder, HIGH + 1)
    assert values(folder) == values(folder, name="lags") == ORDER[:2]
    writer = low()
    folder.put(writer, completed(writer))
    assert follow(folder).code == 5
    settle(folder, "deliver", LOW)
    assert values(folder) == [1, 2]
    put(folder, HIGH + 2)
    assert values(folder) == [HIGH + 2]
    return folder


def low() -> SegmentWriter:
    return segment(LOW, [1, 2])


def at(number: int, offset: int = 0) -> str:
    return f"{FIRST + number}:{offset}"


def json_at(number: int) -> str:
    return json.dumps({"j": 0, "s": FIRST + number, "o": 0, "done": False, "p": []})


PLACES = [
    pytest.param("earliest", 0, id="earliest"),
    pytest.param(at(HIGH), 0, id="at the first"),
    pytest.param(json_at(HIGH), 0, id="at the first, by JSON"),
    pytest.param(at(HIGH + 1), 1, id="where it appeared"),
    pytest.param(at(LOW), 2, id="at its begin"),
    pytest.param(at(LOW, low().sections[0].end), 3, id="within it"),
    pytest.param(at(HIGH + 2), 4, id="behind it"),
    pytest.param("latest", 5, id="latest"),
]


@pytest.mark.parametrize(("place", "first"), PLACES)
def test_a_moved_consumer_reads_what_comes_from_there_on(log: LogFolder, place: str, first: int) -> None:
    for name in ("c", "lags"):
        ran = run_cli(["consumers", log.path, "seek", name, place])
        assert ran.code == 0, ran.err
        if place == at(LOW):
            assert f"to {place}" in ran.err
        if first < 2:
            assert LOW not in cleaned(log), "it is to be read once more"
        assert values(log, name=name) == ORDER[first:]
        assert values(log, name=name) == []


@pytest.mark.parametrize(("place", "first"), PLACES)
def test_so_does_one_that_begins_there(log: LogFolder, place: str, first: int) -> None:
    assert values(log, "--from", place, name="new") == ORDER[first:]
    assert values(log, name="new") == []


def test_a_place_behind_the_end_of_such_a_segment_is_refused(log: LogFolder) -> None:
    ran = run_cli(["consumers", log.path, "seek", "c", at(LOW, 100_000)])
    assert ran.code == 2
    assert "the position lies behind the end of its segment" in ran.err


def test_what_was_read_before_and_is_gone_by_now_is_no_loss(log: LogFolder) -> None:
    for file in log.path.glob(f"*-{FIRST + LOW}*"):
        file.unlink()
    assert run_cli(["consumers", log.path, "seek", "c", at(HIGH + 2)]).code == 0
    assert values(log) == [HIGH + 2]


def test_a_target_that_was_put_back_gets_it_again(tmp_path: Path) -> None:
    """Where the target stands is further back than anything that the state remembers."""
    folder = LogFolder(tmp_path / "cdc_raw")
    put(folder, HIGH, first=[create_payload(TABLE)])
    put(folder, HIGH + 1)
    base = tmp_path / "rows.db"

    def run() -> list[int]:
        ran = run_cli(
            ["follow", folder.path, "--once", "--consumer", "c", "--to", f"sqlite:{base}", "--into", "changes"]
        )
        assert ran.code in (0, 5), ran.err
        with sqlite3.connect(base) as rows:
            return sorted(json.loads(columns)["v"] for (columns,) in rows.execute("SELECT columns FROM changes"))

    assert run() == [HIGH, HIGH + 1]
    shutil.copy(base, tmp_path / "kept.db")
    writer = low()
    folder.put(writer, completed(writer))
    run()
    settle(folder, "deliver", LOW)
    put(folder, HIGH + 2)
    run()
    assert run() == sorted(ORDER)
    shutil.copy(tmp_path / "kept.db", base)
    assert run() == sorted(ORDER)


def test_what_clean_took_of_it_meanwhile_is_a_loss(tmp_path: Path) -> None:
    folder, base = LogFolder(tmp_path / "cdc_raw"), tmp_path / "rows.db"
    put(folder, HIGH, first=[create_payload(TABLE)])
    put(folder, HIGH + 1)
    words = ["follow", folder.path, "--once", "--consumer", "c", "--to", f"sqlite:{base}", "--into", "changes"]
    assert run_cli([*words]).code == 0
    shutil.copy(base, tmp_path / "kept.db")
    writer = low()
    folder.put(writer, completed(writer))
    assert run_cli([*words]).code == 5
    settle(folder, "deliver", LOW)
    put(folder, HIGH + 2)
    for _ in range(2):
        assert run_cli([*words]).code == 0
    assert LOW in cleaned(folder)
    shutil.copy(tmp_path / "kept.db", base)
    ran = run_cli([*words])
    assert ran.code == 5, ran.err
    assert f"{FIRST + LOW}:0" in ran.err
