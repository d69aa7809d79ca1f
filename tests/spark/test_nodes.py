"""Several nodes in one query, ticks, and the end of a source whose JVM is gone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailer.errors import LossError, RefusedError, UsageError
from tailer.options.to_spark import parse_options
from tailer.spark.planner import Planner
from tests.conftest import FreshFolder
from tests.helpers.compare import same_rows, without_truncates
from tests.oracle import expected
from tests.spark.engine import Engine, read_lines, travelled


def of_node(name: str, lines: list[str]) -> list[str]:
    """A node's rows, named as the oracle names them."""
    head = f'{{"node":"{name}",'
    mine = [line for line in without_truncates(lines) if line.startswith(head)]
    return [
        line.replace(f'"{name}', '"local', 1).replace(f'"event_id":"{name}:', '"event_id":"local:') for line in mine
    ]


def test_two_nodes_have_their_rows_each_in_order(sets_root: Path, fresh_folder: FreshFolder) -> None:
    a, b = fresh_folder("50-cases"), fresh_folder("41-cases")
    engine = Engine(f"b={b},a={a}", {"maxBytesPerTrigger": "20k"})
    lines = engine.available_now()
    same_rows(expected(sets_root / "50-cases", a).rows, of_node("a", lines))
    same_rows(expected(sets_root / "41-cases", b).rows, of_node("b", lines))
    assert len(engine.offsets) > 10


def test_a_node_that_joins_begins_at_its_start_and_one_that_leaves_is_refused(
    sets_root: Path, fresh_folder: FreshFolder
) -> None:
    a, b = fresh_folder("50-cases"), fresh_folder("41-cases")
    engine = Engine(f"a={a}", {"stateDir": str(a.with_name("private"))})
    same_rows(expected(sets_root / "50-cases", a).rows, of_node("a", engine.available_now()))
    engine.options = {}
    engine.folder = f"a={a},b={b}"
    with pytest.raises(RefusedError, match="another state folder"):
        engine.available_now()
    engine = Engine(f"a={a}")
    engine.available_now()
    engine.folder = f"a={a},b={b}"
    same_rows(expected(sets_root / "41-cases", b).rows, of_node("b", engine.available_now()))
    assert engine.available_now() == []
    engine.folder = f"b={b}"
    with pytest.raises(RefusedError, match="'a'"):
        engine.available_now()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_tick_after_a_quiet_time_gives_one_empty_partition(fresh_folder: FreshFolder) -> None:
    clock = Clock()
    options = parse_options({"path": str(fresh_folder("50-cases")), "waitMillis": "0", "tickSeconds": "40"})
    planner = Planner(options, clock=clock)
    end = travelled(planner.latest(travelled(planner.initial()), None))
    clock.now = 39
    assert planner.latest(end, None) is end
    clock.now = 41
    tick = travelled(planner.latest(end, None))
    assert (tick["t"], tick["nodes"]) == (end["t"] + 1, end["nodes"])
    assert [read_lines(job) for job in planner.partitions(end, tick)] == [[]]
    assert planner.latest(tick, None) is tick
    planner.close()


@pytest.mark.oldest
def test_before_4_2_the_start_is_the_end_of_the_last_batch(fresh_folder: FreshFolder) -> None:
    options = parse_options({"path": str(fresh_folder("50-cases")), "waitMillis": "0", "maxBytesPerTrigger": "20k"})
    planner = Planner(options)
    lines: list[str] = []
    last = travelled(planner.latest(None, options.max_bytes))
    start = travelled(planner.initial())
    while last != start:
        lines += [line for job in planner.partitions(start, last) for line in read_lines(job)]
        planner.commit(start)
        start, last = last, travelled(planner.latest(None, options.max_bytes))
    planner.close()
    again = Planner(options)
    assert again.partitions(start, start) == []
    assert again.latest(None, None) == start
    again.close()
    assert lines == Engine(fresh_folder("50-cases")).available_now()


def test_a_source_ends_with_its_jvm(fresh_folder: FreshFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    options = parse_options({"path": str(fresh_folder("50-cases")), "waitMillis": "60000"})
    planner = Planner(options)
    end = planner.latest(planner.initial(), None)
    monkeypatch.setattr(os, "getppid", lambda: 1)
    with pytest.raises(SystemExit):
        planner.latest(end, None)
    planner.close()


def test_an_executor_that_does_not_see_the_folder_says_so(fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    engine = Engine(folder)
    with engine.running() as planner:
        assert engine.log_next(planner)
        job = planner.partitions(engine.end(-1), engine.end(0))[0]
    for log in folder.glob("*.log"):
        log.unlink()
    with pytest.raises(LossError, match="deleted before it was read"):
        read_lines(job)
    folder.rename(folder.with_name("elsewhere"))
    with pytest.raises(UsageError, match="does not see the log folder"):
        read_lines(job)


def test_a_partition_is_small_and_holds_no_secret(fresh_folder: FreshFolder) -> None:
    engine = Engine(fresh_folder("50-cases"), {"maxBytesPerTrigger": "4k"})
    with engine.running() as planner:
        for _ in engine.batches(planner):
            pass
    with engine.running(consumer="again") as planner:
        start = planner.initial()
        jobs = planner.partitions(start, planner.latest(start, 4096))
    assert max(map(len, jobs)) < 100_000
