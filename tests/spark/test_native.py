"""Native logs in Spark: transactions over batches, on executors and carried by the driver, replayed, lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tailer
from tailer.errors import LossError, RefusedError
from tailer.spark import carry
from tailer.spark.executor import read_job
from tests.helpers.logs.folder import LogFolder
from tests.helpers.logs.native import NativeWriter, commit
from tests.native.logs import ORDERS, as_rows, folder_of, put
from tests.native.test_following import EXPECTED, mixed_log
from tests.spark.engine import Engine, planned_anew

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = {"maxBytesPerTrigger": "200"}


def told(lines: list[str]) -> list[tuple[Any, ...]]:
    rows = [json.loads(line) for line in lines]
    return [(row["partition_key"]["id"], row["columns"]["v"], row["txn"]) for row in rows]


@pytest.mark.parametrize("read_on", ["executors", "driver"])
@pytest.mark.parametrize("size", [{}, SMALL], ids=["at once", "in small batches"])
def test_rows_are_those_of_a_follower(tmp_path: Path, read_on: str, size: dict[str, str]) -> None:
    folder = folder_of(tmp_path, *mixed_log())
    lines = Engine(folder, {"readOn": read_on, **size}).available_now()
    assert told(lines) == EXPECTED
    followed = [json.loads(json.dumps(row)) for row in as_rows(tailer.open(folder).read())]
    assert [json.loads(line) for line in lines] == followed


@pytest.mark.parametrize("restarts", [False, True])
def test_every_batch_is_replayed_with_the_same_rows(tmp_path: Path, restarts: bool) -> None:
    folder = folder_of(tmp_path, *mixed_log())
    engine = Engine(folder, SMALL)
    batches: list[list[str]] = []
    while True:
        with engine.running(once=True) as planner:
            found = []
            for batch in engine.batches(planner):
                found.append(batch)
                if restarts:
                    engine.committed = len(engine.offsets)
                    break
        batches += found
        if not found or not restarts:
            break
    assert told([line for batch in batches for line in batch]) == EXPECTED
    for number, batch in enumerate(batches):
        assert planned_anew(folder, engine.end(number - 1), engine.offsets[number]) == batch


def test_the_consumer_holds_where_an_open_transaction_began(tmp_path: Path) -> None:
    logs = mixed_log()
    folder = folder_of(tmp_path, *logs)
    engine = Engine(folder, SMALL)
    with engine.running(once=True) as planner:
        while not engine.offsets or engine.offsets[-1]["nodes"]["local"]["s"] < 9:
            assert engine.log_next(planner)
        assert engine.log_next(planner)
    consumer = json.loads((folder.with_name("cdc_raw.cdc_tail") / "consumers" / "spark.json").read_text())
    assert consumer["nodes"]["local"]["offset"]["s"] >= 8
    assert consumer["nodes"]["local"]["restart"] == [7, logs[0].frame.sections[0].start]


def test_what_began_before_the_start_is_pinned_as_unknown(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *mixed_log()[1:])
    engine = Engine(folder)
    assert told(engine.available_now()) == [EXPECTED[2], EXPECTED[5], EXPECTED[6]]
    journal = (folder.with_name("cdc_raw.cdc_tail") / "journal").read_text()
    assert '"kind":"start","consumer":"spark","segment":8' in journal
    assert told(planned_anew(folder, engine.end(-1), engine.offsets[-1])) == [EXPECTED[2], EXPECTED[5], EXPECTED[6]]


def half_lost(tmp_path: Path) -> tuple[LogFolder, Engine]:
    """A query that has read the beginning of a transaction, whose segment went before the commit came."""
    one, two = NativeWriter(7), NativeWriter(8)
    first = (7, one.frame.end)
    one.section([ORDERS.definition, put(1, "a", txn=1), put(9, "alone")], restart=first)
    two.section([ORDERS.definition, put(2, "b", txn=1)], restart=first)
    folder = LogFolder(tmp_path / "cdc_raw")
    folder.put(one.frame, one.sidecar())
    folder.put(two.frame, two.sidecar(done=False))
    engine = Engine(folder.path)
    assert told(engine.available_now()) == [(9, "alone", None)]
    two.section([commit(1, first, 2), put(3, "after")])
    folder.put(two.frame, two.sidecar())
    folder.remove(one.frame)
    (folder.path / "DROPPED").write_text("7\n")
    return folder, engine


def test_a_transaction_that_lost_its_beginning_stops_the_query_and_is_left_out_by_choice(tmp_path: Path) -> None:
    _, engine = half_lost(tmp_path)
    with pytest.raises(LossError, match="and segment 7 is gone"):
        engine.available_now()
    assert told(engine.available_now(failOnDataLoss="false")) == [(3, "after", None)]
    assert engine.available_now() == []


def test_a_transaction_is_left_out_at_once_where_that_was_chosen_before(tmp_path: Path) -> None:
    folder, engine = half_lost(tmp_path)
    assert told(engine.available_now(failOnDataLoss="false")) == [(3, "after", None)]
    assert told(planned_anew(folder.path, engine.end(len(engine.offsets) - 2), engine.offsets[-1])) == [
        (3, "after", None)
    ]


def test_a_transaction_too_large_for_a_partition_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carry, "TRANSACTIONS_BYTES_MAX", 10)
    with pytest.raises(RefusedError, match="too large to be carried"):
        Engine(folder_of(tmp_path, *mixed_log()), {"readOn": "driver", **SMALL}).available_now()


def test_the_typed_form_of_a_native_log(tmp_path: Path) -> None:
    engine = Engine(folder_of(tmp_path, *mixed_log()), {"table": "shop.orders", **SMALL})
    rows: list[tuple[Any, ...]] = []
    with engine.running(once=True) as planner:
        while engine.log_next(planner):
            jobs = planner.partitions(engine.end(len(engine.offsets) - 2), engine.offsets[-1])
            for batch in (batch for job in jobs if job for batch in read_job(job)):
                rows += [(row["id"], row["v"], row["_txn"]) for row in batch.to_pylist()]
            engine.committed = len(engine.offsets)
    assert rows == EXPECTED


def test_jobs_need_nothing_but_the_folder(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *mixed_log())
    engine = Engine(folder, {"readOn": "driver"})
    with engine.running(once=True) as planner:
        assert engine.log_next(planner)
        jobs = planner.partitions(engine.end(-1), engine.offsets[-1])
    for file in folder.iterdir():
        file.unlink()
    rows = as_rows(batch for job in jobs for batch in read_job(job))
    assert [row["columns"]["v"] for row in rows] == [value for _, value, _ in EXPECTED]


@pytest.mark.spark
@pytest.mark.slow
def test_a_query_and_a_batch_read_in_a_session(tmp_path: Path, spark: SparkSession) -> None:
    folder = folder_of(tmp_path, *mixed_log())
    read = spark.read.format("cdc_tail").option("path", str(folder)).load()
    rows = sorted(read.collect(), key=lambda row: (row["segment"], row["offset"], row["row"]))
    assert [(json.loads(row["columns"])["v"], row["txn"]) for row in rows] == [each[1:] for each in EXPECTED]
    stream = spark.readStream.format("cdc_tail").option("path", str(folder)).option("table", "shop.orders").load()
    out = tmp_path / "out"
    query = (
        stream.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(out))
    )
    query.awaitTermination()
    landed = spark.read.parquet(str(out)).select("id", "v", "_txn").collect()
    assert sorted(tuple(row) for row in landed) == sorted(EXPECTED)
