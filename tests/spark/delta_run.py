"""Merges recorded changes into Delta tables in a session of its own, and prints what is in them as JSON lines.

A program, because a session with Delta's jar needs a JVM of its own:

    python -m tests.spark.delta_run FOLDER-FOR-EVERYTHING FOLDER-OF-THE-SETS
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tailer.errors import CdcError, RefusedError
from tailer.images.image import Image
from tailer.images.image_rows import ImageRows
from tailer.rebuild import Table
from tailer.schema.model import Column
from tailer.spark.delta import DeltaImageMerge, DeltaMerge, live_rows, row_images
from tailer.spark.state import table_definition
from tests.helpers.amount import ALL
from tests.helpers.arrow_rows import spelled_rows
from tests.helpers.cli import run_cli
from tests.helpers.imaged import images_of
from tests.helpers.landed import land, rows_of_set, some_tables
from tests.helpers.rebuilt import SETS, Recorded, recorded, tables_of
from tests.spark.told import tell

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHOSEN = SETS if ALL else SETS[::12]
STEP = 200
"""One table of every set, mostly another one: a merge takes seconds."""
IMAGED = ("cdc.altered", *(("cdc.coll", "cdc.deletes", "cdc.truncated", "cdc.udt_map") if ALL else ()), "cdc.statics")
"""Which images keep."""
CHANGE_FEED = "spark.databricks.delta.properties.defaults.enableChangeDataFeed"
FOLLOWED = {
    "generic": (
        ["--table", "cdc.deletes"],
        ["event_id", "op", "write_ts", "token", "segment", "offset", "partition_key", "clustering", "columns", "range"],
    ),
    "typed": (
        ["--typed", "cdc.scalars", "--decimals", "string"],
        ["_event_id", "_op", "_segment", "id", "c_int", "c_text", "c_boolean", "c_decimal"],
    ),
}
"""By form: which rows are followed into a table, and which of its columns are looked at; the first is the row's id."""


def session() -> SparkSession:
    from delta.pip_utils import configure_spark_with_delta_pip
    from pyspark.sql import SparkSession as Session

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
    }
    builder: Any = Session.builder
    builder = builder.master("local[2]").config(map=settings)
    spark: SparkSession = configure_spark_with_delta_pip(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Merged:
    """A Delta table of one recorded table."""

    def __init__(self, spark: SparkSession, target: Path, recording: Recorded, table: Table) -> None:
        self.spark, self.target, self.table, self.at = spark, str(target), table, recording.at
        self.merge = DeltaMerge(spark, self.target, table, decimals="string", now=lambda: recording.at)

    def rows(self, later: int = 0) -> list[str]:
        frame = live_rows(self.spark, self.target, at=self.at + later)
        return spelled_rows(frame.toArrow(), self.table)

    def version(self) -> int:
        return version_of(self.spark, self.target)


def version_of(spark: SparkSession, target: str) -> int:
    """The number of its last commit."""
    from delta.tables import DeltaTable

    return int(DeltaTable.forPath(spark, target).history(1).collect()[0]["version"])


def every_set(spark: SparkSession, root: Path, work: Path) -> None:
    """The later half of a table's changes first, then all of them."""
    land([recorded(name, root) for name in {*CHOSEN, "50-cases"}], work / "changes.parquet")
    landed = spark.read.parquet(str(work / "changes.parquet"))
    for recording, table in some_tables(CHOSEN, root, STEP):
        changes = rows_of_set(landed, recording)
        merged = Merged(spark, work / recording.name / table.name, recording, table)
        mine = [row for row in recording.rows if row["table_id"].replace("-", "") == table.definition.id]
        middle = sorted((row["segment"], row["offset"]) for row in mine)[len(mine) // 2]
        merged.merge(changes.where(f"struct(segment, offset) >= struct({middle[0]}L, {middle[1]}L)"), 0)
        merged.merge(changes, 1)
        tell("set", merged.rows(), set=recording.name, table=table.name)


def replay(spark: SparkSession, root: Path, work: Path) -> None:
    """A truncated table and one with TTLs; a batch that is given again, by a writer that knows nothing of the first."""
    recording = recorded("50-cases", root)
    changes = rows_of_set(spark.read.parquet(str(work / "changes.parquet")), recording)
    for full in ("cdc.truncated", "cdc.ttl", "cdc.deletes"):
        target = work / "replay" / full
        merged = Merged(spark, target, recording, tables_of(recording)[full])
        # The truncation comes last, when what it voids is stored.
        merged.merge(changes.where("op != 'truncate'"), 0)
        merged.merge(changes, 1)
        before = merged.version()
        again = Merged(spark, target, recording, tables_of(recording)[full])
        again.merge(changes, 1)
        tell("replay", merged.version() - before, table=full)
        tell("table", merged.rows(), table=full)
        tell("later", merged.rows(later=50), table=full)
    expired = Merged(spark, work / "replay" / "cdc.ttl", recording, tables_of(recording)["cdc.ttl"])
    DeltaMerge(spark, expired.target, expired.table, decimals="string", now=lambda: expired.at + 50).refresh()
    plain = spark.read.format("delta").load(expired.target).where("_live")
    tell("refreshed", spelled_rows(plain.select(expired_columns(plain)).toArrow(), expired.table))


def versions(spark: SparkSession, root: Path, work: Path) -> None:
    """What a table knows of itself as an earlier program left it, and as a later one may leave it."""
    from delta.tables import DeltaTable

    recording = recorded("50-cases", root)
    changes = rows_of_set(spark.read.parquet(str(work / "changes.parquet")), recording)
    table = tables_of(recording)["cdc.deletes"]
    target = work / "replay" / table.name

    def keep(known: dict[str, Any]) -> None:
        packed = msgspec.msgpack.encode(known).hex()
        DeltaTable.forPath(spark, str(target)).update("_partition = X''", {"_state": f"X'{packed}'"})

    known = spark.read.format("delta").load(str(target)).where("_partition = X''").select("_state").collect()
    today: dict[str, Any] = msgspec.msgpack.decode(bytes(known[0][0]))
    keep({name: value for name, value in today.items() if name != "v"})
    earlier = Merged(spark, target, recording, table)
    before = earlier.version()
    earlier.merge(changes, 1)
    tell("earlier", earlier.rows(), written=earlier.version() - before, version=today["v"])

    keep({**today, "v": 3, "table": "in another form"})
    more = msgspec.structs.replace(
        table.definition, columns=(*table.definition.columns, Column("of_today", "regular", "int"))
    )
    later = Merged(spark, target, recording, Table.of(more))
    before = later.version()
    for act in (lambda: later.merge(changes, 1), later.merge.refresh, later.rows):
        try:
            act()
        except RefusedError as error:
            tell("refused", [error.sentence()])
    columns = spark.read.format("delta").load(str(target)).columns
    tell("left", later.version() - before, altered="of_today" in columns)


def expired_columns(frame: DataFrame) -> list[str]:
    return [name for name in frame.columns if not name.startswith("_")]


def feed(spark: SparkSession, root: Path, work: Path) -> None:
    """Rows before and after each merge, by Delta's change feed."""
    from pyspark.sql import functions as F

    recording = recorded("50-cases", root)
    changes = rows_of_set(spark.read.parquet(str(work / "changes.parquet")), recording)
    spark.conf.set(CHANGE_FEED, "true")
    table = tables_of(recording)["cdc.coll"]
    merged = Merged(spark, work / "feed", recording, table)
    mine = sorted(row["offset"] for row in recording.rows if row["table_id"].replace("-", "") == table.definition.id)
    for number in range(2):
        merged.merge(changes.where(F.col("offset") <= mine[(number + 1) * len(mine) // 3]), number)
    merged.merge(changes, 2)
    spark.conf.unset(CHANGE_FEED)
    versions = spark.read.option("readChangeFeed", "true").option("startingVersion", 0).format("delta")
    images = row_images(versions.load(merged.target)).persist()
    state: dict[bytes, Any] = {}
    chained = True
    for image in images.orderBy("_commit_version").collect():
        row = bytes(image["_partition"]) + bytes(image["_row"])
        chained = chained and state.get(row) == image["before"]
        state[row] = image["after"]
    newest = images.groupBy("_partition", "_row").agg(F.max_by("after", "_commit_version").alias("row"))
    found = spelled_rows(newest.where("row is not null").select("row.*").toArrow(), table)
    tell("feed", found, chained=chained, updates=images.where("before is not null").count())


def stream(spark: SparkSession, root: Path, work: Path) -> None:
    """The changes of a folder as a stream; then all of it once more, as after a lost checkpoint."""
    folder = work / "cdc_raw"
    shutil.copytree(root / "50-cases" / "cdc_raw", folder)
    table = table_definition(folder, "cdc.altered", stopped="true")
    merge = DeltaMerge(spark, str(work / "streamed"), table, decimals="string")
    source = spark.readStream.format("cdc_tail").options(tables="cdc.altered", stopped="true")
    for run in ("first", "second"):
        started = source.option("consumer", run).load(str(folder)).writeStream.foreachBatch(merge)
        started.option("checkpointLocation", str(work / run)).trigger(availableNow=True).start().awaitTermination()
        tell(run, spelled_rows(live_rows(spark, str(work / "streamed")).toArrow(), table))


def by_images(spark: SparkSession, root: Path, work: Path) -> None:
    """Tables that images keep, the last batch again by a writer that knows nothing of the first; and what is refused.

    The last of the tables is dropped in the end.
    """
    recording = recorded("50-cases", root)
    images = images_of(recording)
    for full in IMAGED:
        imaged = Imaged(spark, str(work / "images" / full), tables_of(recording)[full])
        mine = [image for image in images if f"{image.keyspace}.{image.table}" == full]
        batches = [_landed(spark, some, work) for some in (mine[: len(mine) // 2], mine[len(mine) // 2 :])]
        for number, batch in enumerate(batches):
            imaged.merge(batch, number)
        again = Imaged(spark, imaged.target, imaged.table)
        before = again.version()
        again.merge(batches[1], 1)
        tell("imaged", again.rows(), table=full, written=again.version() - before)
    changes = rows_of_set(spark.read.parquet(str(work / "changes.parquet")), recording)
    by_changes = Merged(spark, work / "changed", recording, imaged.table)
    by_changes.merge(changes, 0)
    _refused(lambda: imaged.merge(changes, 2))
    _refused(lambda: Merged(spark, Path(imaged.target), recording, imaged.table).merge(changes, 0))
    _refused(lambda: Imaged(spark, by_changes.target, imaged.table).merge(batches[0], 0))
    none = dict.fromkeys(("partition_key", "clustering", "token", "after"))
    dropped = msgspec.structs.replace(mine[-1], op="drop", **none)
    for number, batch in enumerate([_landed(spark, [*mine, dropped], work), batches[0]]):
        imaged.merge(batch, 3 + number)
        tell("dropped", imaged.rows())
    _keep_as_version_1(spark, imaged)
    again = Imaged(spark, imaged.target, imaged.table)
    for number, batch in enumerate([_landed(spark, [dropped], work), _landed(spark, mine, work)]):
        again.merge(batch, 5 + number)
        tell("created again", again.rows(), table=imaged.table.name)


def _keep_as_version_1(spark: SparkSession, imaged: Imaged) -> None:
    """What the table knows of itself, as version 1 kept it."""
    from delta.tables import DeltaTable

    known = spark.read.format("delta").load(imaged.target).where("_partition = X''").select("_state").collect()
    kept: dict[str, Any] = msgspec.msgpack.decode(bytes(known[0][0]))
    assert kept["gone"]
    for name in ("former", "gone_seq"):
        del kept[name]
    for name in ("ended", "born", "former"):
        del kept["of_images"][name]
    packed = msgspec.msgpack.encode({**kept, "v": 1}).hex()
    DeltaTable.forPath(spark, imaged.target).update("_partition = X''", {"_state": f"X'{packed}'"})


def _refused(act: Callable[[], None]) -> None:
    try:
        act()
    except CdcError as error:
        tell("refused images", [error.sentence()])


class Imaged:
    """A Delta table of one recorded table that images keep."""

    def __init__(self, spark: SparkSession, target: str, table: Table) -> None:
        self.spark, self.target, self.table = spark, target, table
        self.merge = DeltaImageMerge(spark, target, table, decimals="string")

    def rows(self) -> list[str]:
        frame = self.spark.read.format("delta").load(self.target).where("_live")
        return spelled_rows(frame.select(expired_columns(frame)).toArrow(), self.table)

    def version(self) -> int:
        return version_of(self.spark, self.target)


def _landed(spark: SparkSession, images: Sequence[Image], work: Path) -> DataFrame:
    file = work / f"{uuid4()}.parquet"
    pq.write_table(pa.Table.from_batches([ImageRows(images).to_arrow()]), file)
    return spark.read.parquet(str(file))


def without_a_jvm(spark: SparkSession, root: Path, work: Path) -> None:
    """What Spark reads of tables that `follow --to delta:` wrote: as they are, and behind the first commit."""
    if find_spec("deltalake") is None:
        return
    folder = work / "followed" / "cdc_raw"
    shutil.copytree(root / "50-cases" / "cdc_raw", folder)
    run = ["follow", str(folder), "--once", "--stopped", "--node", "n1", "--on-error", "quarantine"]
    for form, (chosen, columns) in FOLLOWED.items():
        target = work / f"followed-{form}"
        for _ in range(2):
            ran = run_cli([*run, *chosen, "--consumer", form, "--to", f"delta:{target}", "--commit-rows", "100"])
            assert ran.code == 0, ran.err
        printed = run_cli([*run, *chosen, "--output", "json"]).lines
        read = spark.read.format("delta")
        rows = read.load(str(target)).select(*columns).collect()
        first = read.option("versionAsOf", "1").load(str(target)).count()
        tell(f"followed {form}", [row.asDict() for row in rows], printed=printed, first=first)


def main(work: Path, root: Path) -> None:
    spark = session()
    try:
        tell("session", [])
        every_set(spark, root, work)
        replay(spark, root, work)
        versions(spark, root, work)
        feed(spark, root, work)
        by_images(spark, root, work)
        stream(spark, root, work)
        without_a_jvm(spark, root, work)
    finally:
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
