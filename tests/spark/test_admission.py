"""How much a batch takes and who reads it: pieces, the driver's reading, AvailableNow's end, nodes that come."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tailer.errors import UsageError
from tailer.spark import nodes
from tests.conftest import FreshFolder
from tests.helpers.compare import same_rows, without_truncates
from tests.helpers.replay import Stage
from tests.helpers.sets import Place, key_options
from tests.oracle import expected
from tests.spark.engine import Engine, read_lines


def jobs_of(engine: Engine) -> list[bytes]:
    """The partitions of a batch that takes everything."""
    with engine.running() as planner:
        assert engine.log_next(planner)
        return planner.partitions(engine.end(len(engine.offsets) - 2), engine.end(len(engine.offsets) - 1))


@pytest.mark.parametrize("name", ["50-cases", "50-lz4"])
def test_a_batch_is_cut_at_section_edges_and_keeps_its_rows_and_their_order(
    name: str, sets_root: Path, fresh_folder: FreshFolder
) -> None:
    folder = fresh_folder(name)
    whole = [line for job in jobs_of(Engine(folder, {"consumer": "whole"})) for line in read_lines(job)]
    pieces = jobs_of(Engine(folder, {"consumer": "cut", "minPartitions": "12"}))
    each = [read_lines(job) for job in pieces]
    assert len(pieces) >= 12
    assert sum(map(bool, each)) > 8
    assert [line for lines in each for line in lines] == whole
    same_rows(expected(sets_root / name, folder).rows, without_truncates(whole))


def test_a_tick_has_as_many_partitions_as_a_batch_at_least(fresh_folder: FreshFolder) -> None:
    engine = Engine(fresh_folder("50-cases"), {"minPartitions": "3"})
    with engine.running() as planner:
        assert engine.log_next(planner)
        tick = {**engine.end(0), "t": 1}
        assert planner.partitions(engine.end(0), tick) == [b"", b"", b""]


@pytest.mark.parametrize("name", ["50-cases", "50-lz4", "50-zstd", "40-aes"])
def test_what_the_driver_reads_needs_no_folder(
    name: str, sets_root: Path, fresh_folder: FreshFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fresh_folder(name)
    want = expected(sets_root / name, folder).rows
    keystore, env = key_options(sets_root / name)
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    options = {"keystore": keystore[1]} if keystore else {}
    jobs = jobs_of(Engine(folder, {"readOn": "driver", "minPartitions": "5", **options}))
    shutil.rmtree(folder)
    same_rows(want, without_truncates([line for job in jobs for line in read_lines(job)]))


def test_a_segment_that_goes_before_the_driver_has_read_it_is_no_loss(
    sets_root: Path, fresh_folder: FreshFolder
) -> None:
    folder = fresh_folder("50-cases")
    want = expected(sets_root / "50-cases", folder).rows
    engine = Engine(folder, {"readOn": "driver"})
    with engine.running() as planner:
        assert engine.log_next(planner)
        for file in folder.iterdir():
            file.unlink()
        jobs = planner.partitions(engine.end(-1), engine.end(0))
    same_rows(want, without_truncates([line for job in jobs for line in read_lines(job)]))


@pytest.mark.parametrize("limit", ["1g", "20k"])
def test_available_now_ends_with_what_was_there_at_its_start(limit: str, sets_root: Path, tmp_path: Path) -> None:
    stage = Stage(tmp_path, sets_root)
    engine = Engine(stage.folder, {"maxBytesPerTrigger": limit})
    stage.show(Place("50-live", 5))
    first = expected(sets_root / "50-live", stage.folder)
    told: list[str] = []
    with engine.running(once=True) as planner:
        for number, rows in enumerate(engine.batches(planner)):
            if not number:
                stage.show(Place("50-live", 12))
            told += rows
    same_rows(first.rows, without_truncates(told))
    told += engine.available_now()
    same_rows(expected(sets_root / "50-live", stage.folder).rows, without_truncates(told))


def test_a_node_whose_folder_comes_later_joins_the_query(
    sets_root: Path, fresh_folder: FreshFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "RETRY_SECONDS", 0.0)
    first, second = fresh_folder("50-cases"), fresh_folder("41-cases")
    hidden = second.rename(second.with_name("hidden"))
    engine = Engine(f"a={first},b={second}", {"maxBytesPerTrigger": "100k", "waitMillis": "1000"})
    told: list[str] = []
    with engine.running() as planner:
        for rows in engine.batches(planner):
            told += rows
        assert list(engine.end(len(engine.offsets) - 1)["nodes"]) == ["a"]
        hidden.rename(second)
        for rows in engine.batches(planner):
            told += rows
    by_node = {node: [line for line in told if json.loads(line)["node"] == node] for node in "ab"}
    assert len(by_node["a"]) + len(by_node["b"]) == len(told)
    assert len(without_truncates(by_node["a"])) == len(expected(sets_root / "50-cases", first).rows)
    assert len(without_truncates(by_node["b"])) == len(expected(sets_root / "41-cases", second).rows)

    # Gone again, a node that the checkpoint knows is missed, or waited for.
    shutil.rmtree(second)
    end = engine.end(len(engine.offsets) - 1)
    with engine.running(onNodeLost="fail") as planner, pytest.raises(UsageError) as told_of:
        planner.latest(end, None)
    assert told_of.value.sentence().startswith(f"node b: no such folder ({second})")
    with engine.running() as planner:
        assert planner.latest(end, None) is end


def test_a_query_without_any_folder_is_told_at_once(tmp_path: Path) -> None:
    for path in (str(tmp_path / "no"), f"a={tmp_path / 'no'},b={tmp_path / 'none'}"):
        with Engine(path).running() as planner, pytest.raises(UsageError, match="no such folder"):
            planner.initial()


def test_nodes_get_equal_shares(fresh_folder: FreshFolder) -> None:
    first, second = fresh_folder("50-cases"), fresh_folder("41-cases")
    engine = Engine(f"a={first},b={second}", {"maxBytesPerTrigger": "40k"})
    with engine.running() as planner:
        for _ in range(3):
            assert engine.log_next(planner)
        assert planner.partitions(engine.end(-1), engine.end(2))
    start, end = engine.end(-1)["nodes"], engine.end(2)["nodes"]
    assert all((start[node]["s"], start[node]["o"]) < (end[node]["s"], end[node]["o"]) for node in "ab")
