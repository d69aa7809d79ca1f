"""Real queries in a real session: streams, batch reads, restarts, losses, and what a user sees of errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tailer.errors import SinkError
from tailer.rows.batch import ChangeBatch
from tailer.spark.errors import find_error
from tailer.spark.run import SinkRun
from tests.conftest import FreshFolder
from tests.helpers.cli import run_cli
from tests.helpers.compare import same_rows, without_truncates
from tests.helpers.replay import Reading, Stage, replayed, unread_position
from tests.helpers.sets import Place, stages
from tests.oracle import expected
from tests.oracle.stages import Replay, every_row
from tests.spark.engine import lines_of
from tests.spark.test_typed import typed_rows
from tests.spark.versions import ONE_BATCH
from tests.unit.rows.typed.reading import rows_of_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.spark


class Lines:
    """A sink that keeps rows as `--output json` has them."""

    def __init__(self, *, fails: bool = False) -> None:
        self.told: list[str] = []
        self._fails = fails

    def write(self, batch: ChangeBatch) -> None:
        self.told += batch.json_lines().decode().removesuffix("\n").split("\n")
        if self._fails:
            raise SinkError("the rows are there, but nobody knows")


class Query:
    """A query over a folder that is started again and again, all that is there each time."""

    def __init__(self, session: SparkSession, folder: Path, **options: str) -> None:
        self.options = {"path": str(folder), **options}
        self.checkpoint = folder.with_name("checkpoint")
        self._session = session

    def run(self, **more: str) -> list[str]:
        """All that is there; on Spark before 4.2 that takes as many runs as there are batches."""
        told, before = self._run_once(**more), -1
        while ONE_BATCH and before != (before := committed(self.checkpoint)):
            told += self._run_once(**more)
        return told

    def _run_once(self, **more: str) -> list[str]:
        lines = Lines()
        self._start(lines, **more)[1].awaitTermination()
        return lines.told

    def run_into_a_failure(self) -> list[str]:
        """The first batch is taken, and the query ends before it is committed."""
        lines = Lines(fails=True)
        with pytest.raises(SinkError):
            SinkRun.wait(*self._start(lines))
        return lines.told

    def _start(self, lines: Lines, **more: str) -> tuple[SinkRun, StreamingQuery]:
        run = SinkRun(self._session, {**self.options, **more}, lines)
        return run, run.start(str(self.checkpoint), once=True)


def committed(checkpoint: Path) -> int:
    """How many batches are in the commit log."""
    return len(list((checkpoint / "commits").glob("[0-9]*")))


def collected(frame: DataFrame) -> list[str]:
    return [line for batch in frame.toArrow().to_batches() for line in lines_of(batch)]


@pytest.mark.oldest
def test_a_batch_read_is_found_without_registration_and_gives_the_rows_of_follow(
    spark: SparkSession, sets_root: Path, fresh_folder: FreshFolder
) -> None:
    folder = fresh_folder("50-cases")
    lines = collected(spark.read.format("cdc_tail").load(str(folder)))
    assert not folder.with_name("cdc_raw.cdc_tail").exists()
    assert lines == run_cli(["follow", folder, "--once", "--output", "json"]).lines
    same_rows(expected(sets_root / "50-cases", folder).rows, without_truncates(lines))


def test_a_batch_read_between_two_offsets(spark: SparkSession, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    lines = run_cli(["follow", folder, "--once", "--output", "json"]).lines
    places = [(row["segment"], row["offset"]) for row in map(json.loads, lines)]
    start, end = places[len(places) // 4], places[3 * len(places) // 4]
    as_json = {"v": 1, "t": 0, "nodes": {"local": {"j": 0, "s": start[0], "o": start[1], "done": False, "p": []}}}
    reader = spark.read.format("cdc_tail").option("startingOffsets", json.dumps(as_json))
    between = collected(reader.option("endingOffsets", f"{end[0]}:{end[1]}").load(str(folder)))
    assert between == [line for line, at in zip(lines, places, strict=True) if start <= at < end]
    assert len(between) > 50


@pytest.mark.parametrize("table", ["coll_types", "udt_map", "vectors", "counters_static"])
def test_a_typed_table_in_its_own_columns(table: str, spark: SparkSession, fresh_folder: FreshFolder) -> None:
    """The rows are compared with the server's in test_typed.py; here Spark takes their columns, of every type."""
    folder = fresh_folder("50-cases")
    reader = spark.read.format("cdc_tail").option("table", f"cdc.{table}").option("decimals", "string")
    frame = reader.option("onError", "quarantine").load(str(folder))
    want = typed_rows(folder, f"cdc.{table}", decimals="string", onError="quarantine")
    # Not-a-number is not equal to itself, but has one spelling.
    assert repr(rows_of_arrow(frame.toArrow().to_batches())) == repr(want)
    key, column = frame.columns[0], next(name for name in reversed(frame.columns) if not name.startswith("_"))
    chosen = frame.select(column, "_event_id", key)
    few = reader.schema(chosen.schema).load(str(folder))
    assert repr(rows_of_arrow(few.toArrow().to_batches())) == repr(rows_of_arrow(chosen.toArrow().to_batches()))


def test_a_column_that_there_is_not_cannot_be_chosen(spark: SparkSession, fresh_folder: FreshFolder) -> None:
    reader = spark.read.format("cdc_tail").option("table", "cdc.coll_types").schema("id int, nothing string")
    with pytest.raises(Exception, match=r"\[CDC-2\] column nothing of \.schema.*expected id, "):
        reader.load(str(fresh_folder("50-cases"))).collect()


@pytest.mark.oldest
def test_a_typed_stream_that_the_driver_reads(spark: SparkSession, fresh_folder: FreshFolder, tmp_path: Path) -> None:
    folder = fresh_folder("50-cases")
    options = {"table": "cdc.statics", "readOn": "driver", "minPartitions": "4", "consumer": "driver"}
    stream = spark.readStream.format("cdc_tail").options(**options).load(str(folder))
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
    rows = spark.read.parquet(str(tmp_path / "out")).orderBy("_segment", "_offset", "_row")
    assert rows_of_arrow(rows.toArrow().to_batches()) == typed_rows(folder, "cdc.statics")


def test_a_stream_into_parquet_has_each_row_once(spark: SparkSession, sets_root: Path, tmp_path: Path) -> None:
    """Restarted in the middle of a segment, in micro-batches of a few sections."""
    stage, out = Stage(tmp_path, sets_root), tmp_path / "out"
    for number in (3, 9, 25):
        stage.show(Place("50-live", number))
        stream = spark.readStream.format("cdc_tail").option("maxBytesPerTrigger", "200k").load(str(stage.folder))
        writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        before = -1
        while before != (before := committed(tmp_path / "checkpoint")):
            writer.trigger(availableNow=True).start(str(out)).awaitTermination()
            if not ONE_BATCH:
                break
    rows = spark.read.parquet(str(out)).orderBy("segment", "offset", "row")
    same_rows(expected(sets_root / "50-live", stage.folder).rows, collected(rows))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["41-lz4-live"])
def test_live_logs_stopped_and_resumed_at_every_stage(
    name: str, spark: SparkSession, sets_root: Path, tmp_path: Path
) -> None:
    told = replayed_by_query(name, spark, sets_root, tmp_path)
    same_rows(expected(sets_root / name, stages(name)[-1].folder(sets_root)).rows, told)


@pytest.mark.slow
def test_logs_at_the_space_limit(spark: SparkSession, sets_root: Path, tmp_path: Path) -> None:
    """The others, and without a JVM these too: in test_planner.py."""
    assert replayed_by_query("50-nonblocking", spark, sets_root, tmp_path) == every_row(sets_root / "50-nonblocking")


def replayed_by_query(name: str, spark: SparkSession, sets_root: Path, tmp_path: Path) -> list[str]:
    """One query, started anew at every stage."""

    def reader(folder: Path) -> Reading:
        query = Query(spark, folder)
        return lambda want: query.run()

    return replayed(stages(name), sets_root, tmp_path, reader, links=True)


@pytest.mark.parametrize(("read", "then"), [(1, 7), (4, 9)])
def test_segments_that_vanished_unread_are_one_loss(
    read: int, then: int, spark: SparkSession, sets_root: Path, tmp_path: Path
) -> None:
    from pyspark.errors import StreamingQueryException

    stage, replay = Stage(tmp_path, sets_root), Replay(sets_root / "50-nonblocking")
    query = Query(spark, stage.folder)
    stage.show(Place("50-nonblocking", read))
    before = replay.stage(stage.folder)
    assert query.run() == before.texts
    segment, offset = unread_position(before)

    stage.show(Place("50-nonblocking", then))
    with pytest.raises(StreamingQueryException) as failed:
        query.run()
    assert "[CDC-5] Changes are lost" in str(failed.value)
    assert f"the first position not read is {segment}:{offset}" in str(failed.value)
    rest = replay.stage(stage.folder)
    same_rows(rest.rows, query.run(failOnDataLoss="false"))
    assert query.run() == []


@pytest.mark.oldest
@pytest.mark.parametrize("earlier", [(), (3,)], ids=["first-batch", "second-batch"])
def test_a_batch_that_was_not_committed_comes_again_with_the_same_rows(
    earlier: tuple[int, ...], spark: SparkSession, sets_root: Path, tmp_path: Path
) -> None:
    stage = Stage(tmp_path, sets_root)
    query = Query(spark, stage.folder)
    told: list[str] = []
    for number in earlier:
        stage.show(Place("50-live", number))
        told += query.run()
    stage.show(Place("50-live", 9))
    lost = query.run_into_a_failure()
    assert lost
    stage.show(Place("50-live", 15))
    again = query.run()
    assert again[: len(lost)] == lost
    same_rows(expected(sets_root / "50-live", stage.folder).rows, told + again)


@pytest.mark.oldest
def test_a_consumer_name_is_held_by_one_query(spark: SparkSession, fresh_folder: FreshFolder, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    folder = fresh_folder("50-cases")
    first = SinkRun(spark, {"path": str(folder)}, Lines()).start(str(tmp_path / "a"), once=False)
    try:
        consumer = folder.with_name("cdc_raw.cdc_tail") / "consumers" / "spark.json"
        while not consumer.exists() and first.isActive:
            first.awaitTermination(1)
        second = SinkRun(spark, {"path": str(folder)}, Lines()).start(str(tmp_path / "b"), once=True)
        with pytest.raises(StreamingQueryException, match=r"\[CDC-6\] consumer 'spark' is in use by process \d+"):
            second.awaitTermination()
    finally:
        first.stop()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"foo": "1"}, "[CDC-2] unknown option 'foo'. There are: path, node, tables"),
        ({"onError": "x"}, "stop or quarantine"),
    ],
)
def test_a_wrong_option_is_told_at_load(spark: SparkSession, options: dict[str, str], words: str) -> None:
    with pytest.raises(Exception, match="PYTHON_DATA_SOURCE_ERROR") as failed:
        spark.readStream.format("cdc_tail").options(**options).load("/nowhere")
    assert words in str(failed.value)
    error = find_error(str(failed.value))
    assert error is not None
    assert error.code == 2
