"""A real query over three nodes of which one goes away and comes back: the others go on, and every row comes once."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.versions import SPARK
from tests.unit.spark.test_nodes_away import Log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.spark]

PATIENCE_SECONDS = 60.0


def test_one_of_three_nodes_goes_away_and_comes_back(spark: SparkSession, tmp_path: Path) -> None:
    logs = {name: Log(tmp_path / name / "cdc_raw") for name in ("n1", "n2", "n3")}
    for name, log in logs.items():
        log.write(f"{name}-a")
    # By batch: one that the query was stopped in, behind this and before its commit, comes again as it was.
    batches: dict[int, list[str]] = {}

    def keep(frame: object, number: int) -> None:
        rows = [f"{row.node}:{json.loads(row.clustering)['ck']}" for row in frame.collect()]  # type: ignore[attr-defined]
        assert batches.setdefault(number, rows) == rows

    def until(*rows: str) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while sorted(told := [row for batch in list(batches.values()) for row in batch]) != sorted(rows):
            assert query.isActive, query.exception()
            assert time.monotonic() < end, told
            time.sleep(0.1)

    path = ",".join(f"{name}={log.path}" for name, log in logs.items())
    stream = spark.readStream.format("cdc_tail").load(path)
    writer = stream.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.start()
    try:
        rows = ["n1:n1-a", "n2:n2-a", "n3:n3-a"]
        until(*rows)
        back = logs["n2"].go_away(state=True)
        logs["n1"].write("n1-b")
        until(*(rows := [*rows, "n1:n1-b"]))
        # By now it is known to be away; the next batch's progress says so.
        time.sleep(2)
        logs["n1"].write("n1-c")
        until(*(rows := [*rows, "n1:n1-c"]))
        if SPARK >= (4, 2):
            end = time.monotonic() + PATIENCE_SECONDS
            while not any("lost" in each.json for each in query.recentProgress):
                assert time.monotonic() < end
                time.sleep(0.1)
        query.stop()
        query = writer.start()
        logs["n3"].write("n3-b")
        until(*(rows := [*rows, "n3:n3-b"]))
        back()
        logs["n2"].write("n2-b")
        until(*rows, "n2:n2-b")
    finally:
        query.stop()
