"""Images of real queries: what they add up to behind `kill -9`, what time alone ends, and what a user sees of errors.

CDC_TAIL_SOAK says how often the query is killed (`make soak SOAK=images`: 50); without it twice.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tailer.errors import DefinitionError, UsageError
from tailer.images import Image
from tailer.spark.images import SETTINGS, images
from tailer.spark.images.operator import check_spark
from tailer.spark.images.typed import images_of
from tests.conftest import FreshFolder
from tests.helpers.cli import run_cli
from tests.helpers.imaged import Imaged
from tests.helpers.log_writer import (
    TS,
    Liveness,
    Row,
    Update,
    create_payload,
    encode_mutation,
    i32,
    simple_table,
)
from tests.helpers.logs.growing import GrowingLog
from tests.helpers.rebuilt import gather, recorded, tables_of
from tests.spark.soak.killed import Stream, events
from tests.spark.versions import SPARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
makes_images = pytest.mark.skipif(SPARK < (4, 1), reason="images need Spark 4.1")

KILLS = int(os.environ.get("CDC_TAIL_SOAK", "2"))
MAX_BYTES = "20m" if KILLS <= 6 else "2m"
"""Every third kill leaves a batch committed, and there must be more."""
SET = "50-crash"
TABLE = simple_table("ks", "t")
NODES = ("n1", "n2", "n3")
SIDES = ("before", "after")
WATCHED = ("offsets", "data", "commits")
"""Behind a file that appears there: a batch is planned, or written and not committed, or committed."""


def collected(frame: DataFrame) -> list[Image]:
    """In the order in which they came about."""
    return sorted(
        images_of(frame.toArrow()),
        key=lambda image: (image.table_id, image.token or 0, image.partition_key or "", image.seq),
    )


@contextmanager
def fitting(spark: SparkSession) -> Iterator[None]:
    """The session of all tests with the settings of images."""
    before = {name: spark.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


@pytest.mark.slow
@makes_images
def test_each_image_comes_once_behind_kills_and_they_add_up_to_what_select_shows(
    spark: SparkSession, in_session: None, sets_root: Path, tmp_path: Path
) -> None:
    """Of three nodes that logged the same. The last run is one of this session's."""
    out, log = tmp_path / "out", tmp_path / "stream.log"
    folders = {node: tmp_path / node / "cdc_raw" for node in NODES}
    for folder in folders.values():
        gather(SET, sets_root, folder)
    places = ",".join(f"{node}={folder}" for node, folder in folders.items())
    more = ("--stopped", "--schema", str(sets_root / SET / "schema.cql"), "--max-bytes", MAX_BYTES)
    arguments = [places, "--image", "both", "--to", "parquet", "--path", str(out), "--consumer", "images", *more]
    watched = {"offsets": out / "_checkpoint" / "offsets", "data": out, "commits": out / "_checkpoint" / "commits"}
    for number in range(KILLS):
        with (
            Stream(arguments, log) as stream,
            events(watched[WATCHED[number % 3]], lambda: not stream.ended) as any_more,
        ):
            any_more()
    with fitting(spark):
        ended = run_cli(["stream", *arguments, "--once"])
    assert ended.code == 0, ended.err
    recording = recorded(SET, sets_root)
    tables = tables_of(recording)
    told = Imaged(tables.values(), nodes=NODES)
    told.take(collected(spark.read.parquet(str(out))))
    assert {name: told.rows(table) for name, table in tables.items()} == {
        name: sorted(rows) for name, rows in recording.shown.items()
    }
    assert len(told.images) > 3000


@makes_images
def test_they_are_those_of_follow(spark: SparkSession, in_session: None, fresh_folder: FreshFolder) -> None:
    folder = fresh_folder("50-cases")
    what = ["--image", "after", "--once", "--output", "json"]
    what += [word for table in ("statics", "counters", "range1", "deletes") for word in ("--table", f"cdc.{table}")]
    with fitting(spark):
        streamed = run_cli(["stream", folder, *what, "--consumer", "c"])
    assert streamed.code == 0, streamed.err
    followed = run_cli(["follow", folder, *what])
    assert len(followed.lines) > 30
    assert by_partition(streamed.lines) == by_partition(followed.lines)


@makes_images
def test_typed_ones_are_those_of_follow(
    spark: SparkSession, in_session: None, fresh_folder: FreshFolder, tmp_path: Path
) -> None:
    """On the console, and as a frame whose rows are structs."""
    folder = fresh_folder("50-cases")
    what = ["--image", "both", "--once", "--typed", "cdc.coll"]
    followed = run_cli(["follow", folder, *what, "--output", "json"])
    out = tmp_path / "out"
    with fitting(spark):
        shown = run_cli(["stream", folder, *what, "--output", "json", "--consumer", "c"])
        written = run_cli(["stream", folder, *what, "--to", "parquet", "--path", str(out), "--consumer", "p"])
    assert (shown.code, written.code) == (0, 0), shown.err + written.err
    assert len(followed.lines) > 2
    assert by_partition(shown.lines) == by_partition(followed.lines)
    rows = spark.read.parquet(str(out))
    assert rows.schema["after"].dataType.fieldNames()[-1] == "_known"
    wanted = [(image["event_id"], side, image[side]) for image in map(json.loads, followed.lines) for side in SIDES]
    found = [(row["event_id"], side, row[side]) for row in map(plain, rows.collect()) for side in SIDES]
    assert sorted(found, key=str) == sorted(wanted, key=str)


def plain(row: Any) -> dict[str, Any]:
    """With what is in it, as JSON has it: keys of maps are texts there."""
    made: dict[str, Any] = json.loads(json.dumps(row.asDict(recursive=True)))
    return made


def by_partition(lines: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The images of each partition in their order, but for when they were made."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for image in map(json.loads, lines):
        assert image.pop("seq") > (image.pop("prev_seq") or 0)
        found[json.dumps([image["table"], image["partition_key"]])].append(image)
    return found


@makes_images
def test_the_console_passes_over_a_batch_that_it_wrote(
    spark: SparkSession, in_session: None, fresh_folder: FreshFolder, tmp_path: Path
) -> None:
    """Killed when the batch was written, and Spark did not know yet: what Spark keeps of it is committed all the same,
    or Spark 4.1 refuses the batch (STATE_STORE_COMMIT_VALIDATION_FAILED), again and again."""
    folder, checkpoint = fresh_folder("50-cases"), tmp_path / "checkpoint"
    what = ["--image", "after", "--once", "--output", "json", "--table", "cdc.deletes"]
    run = ["stream", folder, *what, "--consumer", "c", "--checkpoint", str(checkpoint)]
    with fitting(spark):
        first = run_cli(run)
        assert (first.code, len(first.lines) > 3) == (0, True), first.err
        commits = checkpoint / "commits"
        last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
        for name in (f"{last}", f".{last}.crc"):
            (commits / name).unlink(missing_ok=True)
        again = run_cli(run)
    assert (again.code, again.lines) == (0, []), again.err
    assert (commits / f"{last}").exists()


@makes_images
def test_what_a_ttl_ends_is_told_while_nothing_is_written(spark: SparkSession, tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, 1_700_000_000_001)
    log.section([create_payload(TABLE)])
    log.publish()
    given = {"consumer": "c", "includeSchemaChanges": "true", "tickSeconds": "1"}
    changes = spark.readStream.format("cdc_tail").options(**given).load(str(log.folder))
    found: list[Image] = []
    with fitting(spark):
        writer = images(changes).writeStream.foreachBatch(lambda frame, number: found.extend(collected(frame)))
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        give_up, number = time.monotonic() + 180, 0
        # One that was merged too late was never there.
        while not any(image.op == "expire" and image.before is not None for image in found):
            assert query.isActive, query.exception()
            assert time.monotonic() < give_up
            number += 1
            row = Row((b"a",), Liveness(TS, 5, int(time.time()) + 5), None, ())
            log.section([encode_mutation((Update(TABLE, i32(number), (row,)),))])
            log.publish()
            time.sleep(1)
    finally:
        query.stop()
    ended = next(image for image in found if image.op == "expire")
    assert (ended.after, ended.event_id, ended.complete) == (None, None, True)


@pytest.mark.oldest
@pytest.mark.skipif(SPARK >= (4, 1), reason="of Spark 4.0")
def test_spark_4_0_is_refused_before_it_starts(fresh_folder: FreshFolder) -> None:
    result = run_cli(["stream", fresh_folder("50-cases"), "--image", "both"], {"JAVA_HOME": "/nowhere"})
    assert result.code == 2
    assert "transformWithState: expected pyspark 4.1 or newer, found 4.0" in result.err
    assert "follow --image" in result.err


@makes_images
def test_a_session_or_a_stream_that_does_not_fit_is_refused(
    spark: SparkSession, fresh_folder: FreshFolder, tmp_path: Path
) -> None:
    folder = str(fresh_folder("50-cases"))

    def made(expected: str, *, rows: DataFrame | None = None, **options: str) -> None:
        given = {"consumer": "c", "includeSchemaChanges": "true", **options}
        with pytest.raises(UsageError, match=expected):
            images(spark.readStream.format("cdc_tail").options(**given).load(folder) if rows is None else rows)

    made(r"stateStore.providerClass: expected .*RocksDB.*SETTINGS")
    with fitting(spark):
        made(r'\.option\("includeSchemaChanges", "true"\)', includeSchemaChanges="false")
        made("follow --image", failOnDataLoss="false")
        made("follow --image", onError="quarantine")
        made("no change rows of the generic form", table="cdc.statics", includeSchemaChanges="false")
        changes = spark.readStream.format("cdc_tail").option("includeSchemaChanges", "true").load(folder)
        with pytest.raises(UsageError, match=r"table: expected KEYSPACE\.TABLE, found nothing"):
            images(changes, table="nothing")
        with pytest.raises(DefinitionError, match=r"no definition for table cdc\.nothing"):
            images(changes, table="cdc.nothing")
        key = tmp_path / "key"
        key.write_bytes(b"k" * 32)
        key.chmod(0o600)
        made("mask of cdc.range1.ck", mask="cdc.range1.ck=hash", maskKey=str(key))
        landed = spark.readStream.format("rate").load().selectExpr("cast(null as string) node", "value token")
        made("no change rows of the generic form", rows=landed)
        changes = spark.readStream.format("cdc_tail").option("includeSchemaChanges", "true").load(folder)
        with pytest.raises(UsageError, match="forget_after: expected 10800 seconds or more"):
            images(changes, forget_after=60)
        spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "true")
        made("batches without an end")


@makes_images
def test_without_protobuf_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.spark.images.operator.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'cdc-tail\[images\]'"):
        check_spark()
