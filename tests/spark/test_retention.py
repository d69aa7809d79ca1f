"""A query and `clean`: nothing is deleted that its checkpoint still needs, and what was deleted after all is a loss."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tailer.errors import LossError
from tailer.position import Position
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.move_consumer import drop_consumer, seek_consumer
from tailer.retention.needed import Ages
from tailer.state.lock import state_lock
from tailer.state.log_folder import state_folder
from tests.conftest import FreshFolder
from tests.helpers.log_writer import (
    LogFolder,
    SegmentWriter,
    completed,
    live,
    one_row_segment,
    simple_table,
)
from tests.spark.engine import Engine

ONE = 1_700_000_000_001
TABLE = simple_table("ks", "t")


def free(folder: Path, *, no_consumers: bool = False) -> list[int]:
    """What `clean` takes away, an hour from now."""
    options = CleanOptions(no_consumers=no_consumers)
    made = clean(folder, options, ages=Ages(0, 0), clock=lambda: time.time() + 3600)
    return [held.segment for held in made.logs]


def segment(number: int) -> SegmentWriter:
    return one_row_segment(TABLE, ONE, number)


def values(lines: list[str]) -> list[int]:
    return [json.loads(line)["columns"]["v"] for line in lines]


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    made = LogFolder(tmp_path / "cdc_raw")
    made.put(segment(0), completed(segment(0)))
    return made


def grow(folder: LogFolder) -> None:
    """Two more that are done, and one that is written."""
    for number in (1, 2):
        folder.put(segment(number), completed(segment(number)))
    folder.put(segment(3), live(segment(3)))


def test_two_runs_and_clean_free_all_that_was_read_but_the_last_segment(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    before = sorted(int(log.stem.split("-")[2]) for log in folder.glob("*.log"))
    engine = Engine(folder)
    engine.available_now()
    assert engine.available_now() == []
    position = engine.offsets[-1]["nodes"]["local"]["s"]
    freed = free(folder)
    assert freed == [number for number in before if number < position]
    assert len(freed) >= 4


def test_what_a_query_has_not_committed_stays(folder: LogFolder) -> None:
    engine = Engine(folder.path)
    assert values(engine.available_now()) == [0]
    grow(folder)
    assert free(folder.path) == []
    with engine.running() as planner:
        assert engine.log_next(planner)
        assert free(folder.path) == [], "planned, and not taken by the sink"
    assert values(engine.available_now()) == [1, 2, 3]


def test_a_checkpoint_whose_consumer_was_dropped_is_told_what_went(folder: LogFolder) -> None:
    engine = Engine(folder.path)
    assert values(engine.available_now()) == [0]
    drop_consumer(state_folder(folder.path), "spark")
    grow(folder)
    assert free(folder.path, no_consumers=True) == [ONE, ONE + 1, ONE + 2]
    with pytest.raises(LossError) as told:
        engine.available_now()
    assert told.value.at == Position(ONE + 1, 0)
    assert values(engine.available_now(failOnDataLoss="false")) == [3]


def test_a_query_registers_under_the_lock(folder: LogFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of registering: a new checkpoint, and one whose consumer was dropped."""
    engine = Engine(folder.path)
    engine.available_now()
    drop_consumer(state_folder(folder.path), "spark")
    monkeypatch.setattr("tailer.state.lock.WAIT_SECONDS", 0.05)
    for query in (engine, Engine(folder.path)):
        with state_lock(state_folder(folder.path)), pytest.raises(Exception, match="state folder is locked"):
            query.available_now()
    assert Engine(folder.path).available_now()


def test_a_consumer_that_was_moved_back_keeps_more_for_its_query(folder: LogFolder) -> None:
    grow(folder)
    engine = Engine(folder.path)
    assert values(engine.available_now()) == [0, 1, 2, 3]
    engine.available_now()
    seek_consumer(folder.path, "spark", f"{ONE + 1}:0")
    assert free(folder.path) == [ONE]
    folder.put(segment(3), completed(segment(3)))
    folder.put(segment(4), live(segment(4)))
    assert values(engine.available_now()) == [4], "the checkpoint says where the query stands"
