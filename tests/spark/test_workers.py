"""What a Python worker loads: nothing compiled for a small task, and for a backlog only what is there already."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tailer.spark import executor
from tailer.spark.source import generic_schema
from tests.conftest import FreshFolder
from tests.house.source_tree import ROOT
from tests.spark.engine import Engine
from tests.unit.scan.compiled.twins import compiled_only


@pytest.fixture
def jobs(fresh_folder: FreshFolder) -> list[bytes]:
    """Tasks that have rows."""
    engine = Engine(fresh_folder("50-cases"), {"maxBytesPerTrigger": "64k"})
    with engine.running(once=True) as planner:
        made: list[bytes] = []
        while engine.log_next(planner):
            made += planner.partitions(engine.end(len(engine.offsets) - 2), engine.offsets[-1])
            engine.committed = len(engine.offsets)
    return made[-3:]


def work(jobs: list[bytes], folder: Path, *arguments: str) -> list[list[str]]:
    """Rows of each task, and whether the worker has compiled code behind it."""
    file = folder / "jobs"
    file.write_bytes(pickle.dumps((generic_schema(), jobs)))
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.worker", str(file), *arguments],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        check=True,
        capture_output=True,
        text=True,
    )
    return [line.split() for line in ran.stdout.splitlines()]


def test_a_worker_with_small_tasks_loads_nothing_compiled(jobs: list[bytes], tmp_path: Path) -> None:
    told = work(jobs, tmp_path)
    assert len(told) == len(jobs)
    assert sum(int(rows) for rows, _ in told) > 0
    assert {loaded for _, loaded in told} == {"False"}


@compiled_only
@pytest.mark.slow
def test_a_worker_with_a_backlog_loads_what_is_compiled(jobs: list[bytes], tmp_path: Path, compiled_code: Path) -> None:
    small, large = work(jobs, tmp_path), work(jobs, tmp_path, "1")
    assert [rows for rows, _ in large] == [rows for rows, _ in small]
    assert large[0][1] == "True"


@pytest.mark.spark
@pytest.mark.oldest
def test_a_worker_has_pyspark_from_the_environment_and_not_from_a_zip(spark: SparkSession) -> None:
    """From there each process would compile it anew."""
    found = spark.sparkContext.parallelize([0], 1).map(lambda _: __import__("pyspark").__file__).collect()
    assert found == [pyspark.__file__]


def test_what_a_worker_has_to_say_ends_in_its_log(
    jobs: list[bytes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(executor, "take_notices", lambda: ["compiled code is kept elsewhere"])
    assert list(executor.read_job(jobs[0]))
    assert capsys.readouterr().err == "cdc_tail: compiled code is kept elsewhere\n"
