"""Merges recorded changes into Iceberg tables in a session of its own, streams into one, and prints as JSON lines what
is in them. A program, because a session with Iceberg's jar needs a JVM of its own:

    python -m tests.spark.iceberg_run FOLDER-FOR-EVERYTHING FOLDER-OF-THE-SETS
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tailer.rebuild import Table
from tailer.schema.model import Column
from tailer.spark.iceberg import IcebergMerge, live_rows
from tailer.spark.run import stop
from tailer.spark.session import open_session
from tailer.spark.sinks.iceberg import IcebergSink
from tests.helpers.amount import ALL
from tests.helpers.arrow_rows import spelled_rows
from tests.helpers.iceberg import CATALOG, settings
from tests.helpers.landed import land, rows_of_set, some_tables
from tests.helpers.rebuilt import SETS, Recorded, recorded, tables_of
from tests.spark.test_sinks import Query, in_order
from tests.spark.told import tell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHOSEN = SETS if ALL else SETS[::12]
STEP = 200
"""One table of every set, mostly another one: a merge takes seconds."""
TRUNCATED, EXPIRING, DELETED = "cdc.truncated", "cdc.ttl", "cdc.deletes"


class Merged:
    """An Iceberg table of one recorded table."""

    def __init__(self, spark: SparkSession, target: str, recording: Recorded, table: Table) -> None:
        self.spark, self.target, self.table, self.at = spark, f"{CATALOG}.{target}", table, recording.at
        self.merge = IcebergMerge(spark, self.target, table, decimals="string", now=lambda: recording.at)

    def rows(self, later: int = 0) -> list[str]:
        frame = live_rows(self.spark, self.target, at=self.at + later)
        return spelled_rows(frame.toArrow(), self.table)

    def snapshots(self) -> int:
        return self.spark.table(f"{self.target}.snapshots").count()


def every_set(spark: SparkSession, root: Path, work: Path) -> None:
    """The later half of a table's changes first, then all of them."""
    land([recorded(name, root) for name in {*CHOSEN, "50-cases"}], work / "changes.parquet")
    landed = spark.read.parquet(str(work / "changes.parquet"))
    for number, (recording, table) in enumerate(some_tables(CHOSEN, root, STEP)):
        changes = rows_of_set(landed, recording)
        merged = Merged(spark, f"sets.t{number}", recording, table)
        mine = [row for row in recording.rows if row["table_id"].replace("-", "") == table.definition.id]
        middle = sorted((row["segment"], row["offset"]) for row in mine)[len(mine) // 2]
        merged.merge(changes.where(f"struct(segment, offset) >= struct({middle[0]}L, {middle[1]}L)"), 0)
        merged.merge(changes, 1)
        tell("set", merged.rows(), set=recording.name, table=table.name)


def replay(spark: SparkSession, root: Path, work: Path) -> None:
    """A truncated table and one with TTLs; a batch that is given again, by a writer that knows nothing of the first."""
    recording = recorded("50-cases", root)
    changes = rows_of_set(spark.read.parquet(str(work / "changes.parquet")), recording)
    for number, full in enumerate((TRUNCATED, EXPIRING, DELETED)):
        merged = Merged(spark, f"replay.t{number}", recording, tables_of(recording)[full])
        # The truncation comes last, when what it voids is stored.
        merged.merge(changes.where("op != 'truncate'"), 0)
        merged.merge(changes, 1)
        before = merged.snapshots()
        Merged(spark, f"replay.t{number}", recording, merged.table).merge(changes, 1)
        tell("replay", merged.snapshots() - before, table=full)
        tell("table", merged.rows(), table=full)
        if full == EXPIRING:
            tell("later", merged.rows(later=50), table=full)


def altered(spark: SparkSession, root: Path, work: Path) -> None:
    """A table that gets a column, and a field in a struct; and one whose types Iceberg keeps as wider ones."""
    recording = recorded("50-cases", root)
    changes = rows_of_set(spark.read.parquet(str(work / "changes.parquet")), recording)
    table = tables_of(recording)[DELETED]
    merged = Merged(spark, "altered.t", recording, table)
    merged.merge(changes, 0)
    more = Column("of_today", "regular", "frozen<list<smallint>>")
    columns = (*table.definition.columns, more)
    wider = Merged(spark, "altered.t", recording, Table.of(msgspec.structs.replace(table.definition, columns=columns)))
    wider.merge(changes, 1)
    frame = live_rows(spark, wider.target, at=wider.at)
    tell("altered", wider.rows(), kind=frame.schema["of_today"].dataType.simpleString())


def streamed(spark: SparkSession, root: Path, work: Path) -> None:
    """Two runs into a table in a folder, and the last batch once more: killed when the table had it, and Spark did not
    know yet."""
    out = work / "out.changes"
    query = Query(spark, root, work, lambda checkpoint: IcebergSink(out))
    query.twice_with_a_batch_again()
    rows = spark.read.format("iceberg").load(str(out))
    tell("streamed", in_order(rows), folder=str(query.stage.folder))
    ids = spark.read.format("iceberg").load(f"{out}#snapshots").selectExpr("summary['spark.sql.streaming.epochId'] id")
    tell("batches", sorted(row.id for row in ids.collect() if row.id is not None))


def main(work: Path, root: Path) -> None:
    conf: dict[str, Any] = settings(work / "warehouse") | dict(IcebergSink(work / "out.changes").conf())
    spark = open_session("iceberg", lambda line: None, master="local[2]", conf=conf)
    try:
        every_set(spark, root, work)
        replay(spark, root, work)
        altered(spark, root, work)
        streamed(spark, root, work)
    finally:
        stop(spark)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
