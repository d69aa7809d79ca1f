"""A table kept in Delta Lake as its changes come (`merge.py` says how rows are merged).

merge = DeltaMerge(spark, "/lake/orders", table_definition("/var/lib/cassandra/cdc_raw", "shop.orders"))
changes.writeStream.foreachBatch(merge).option("checkpointLocation", …).start()
live_rows(spark, "/lake/orders").show()
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from tailer.errors import UsageError
from tailer.spark.image_merge import ImageMerge
from tailer.spark.kept_columns import fitted, missing, own_of_target, set_aside
from tailer.spark.merge import TableMerge, kept_rows
from tailer.spark.quoting import quoted_name
from tailer.spark.rebuilding import STORED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, DataFrameWriter, SparkSession
    from pyspark.sql.types import StructType


class _InDelta:
    """Is a `Kept`."""

    def __init__(self, spark: SparkSession, target: str) -> None:
        self.target = target
        self._spark = spark
        self._kind = _delta_table()
        self._is_path = "/" in target

    def is_there(self) -> bool:
        if self._is_path:
            return bool(self._kind.isDeltaTable(self._spark, self.target))
        return self._spark.catalog.tableExists(self.target)

    def read(self) -> DataFrame:
        frame: DataFrame = self._open().toDF()
        return frame

    def prepare(self, schema: StructType, renamed: Sequence[tuple[str, str]] = ()) -> None:
        if self._is_path:
            # A maker of the table takes a relative path for a table's name.
            self._spark.createDataFrame([], schema).write.format("delta").mode("ignore").save(self.target)
        else:
            self._kind.createIfNotExists(self._spark).tableName(self.target).addColumns(schema).execute()
        # Delta renames a column only where the table maps names; else the new name is a column of its own.
        aside = set_aside(self.read().schema, schema)
        if aside:
            self._overwrite(self.read().withColumnsRenamed(dict(aside)))
        if any(missing(self.read().schema, schema)):
            writer = self._spark.createDataFrame([], schema).write.format("delta").mode("append")
            self._save(writer.option("mergeSchema", "true"))

    def begin_again(self, schema: StructType) -> None:
        self._overwrite(self._spark.createDataFrame([], schema))

    def merge(self, merged: DataFrame, same: tuple[str, ...], gone: str, emptied: Sequence[str] = ()) -> None:
        own, void = own_of_target(self.read().schema, merged.columns, emptied)
        equal = " and ".join(f"old.{name} = new.{name}" for name in map(quoted_name, same))
        is_gone = f"new.{quoted_name(gone)} is null"
        values = {quoted_name(name): f"new.{quoted_name(name)}" for name in own.names}
        merge = self._open().alias("old").merge(fitted(merged, own).alias("new"), equal)
        merge = merge.whenMatchedDelete(is_gone)
        merge = merge.whenMatchedUpdate(set={**values, **{quoted_name(name): "null" for name in void}})
        merge.whenNotMatchedInsert(f"not ({is_gone})", values=values).execute()

    def own(self, rows: DataFrame, schema: StructType) -> DataFrame:
        return fitted(rows, schema)

    def _overwrite(self, rows: DataFrame) -> None:
        """Rows and columns of the table anew, in one commit."""
        self._save(rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true"))

    def _save(self, writer: DataFrameWriter) -> None:
        if self._is_path:
            writer.save(self.target)
        else:
            writer.saveAsTable(self.target)

    def _open(self) -> Any:
        kind = self._kind
        return kind.forPath(self._spark, self.target) if self._is_path else kind.forName(self._spark, self.target)


class DeltaMerge(TableMerge):
    """Merges change rows into one Delta table. `target`: a path, or the name of a table in the catalog.

    The others: as `TableMerge` says.
    """

    PREFIX = "_"
    place = _InDelta


class DeltaImageMerge(ImageMerge):
    """Merges images into one Delta table. `target`: a path, or the name of a table in the catalog.

    The others: as `ImageMerge` says.
    """

    PREFIX = "_"
    place = _InDelta


def live_rows(
    spark: SparkSession, target: str, *, at: int | datetime | None = None, prefix: str = DeltaMerge.PREFIX
) -> DataFrame:
    """The rows of the table that a `DeltaMerge` keeps: those alive at `at` (now, if not given), its own columns only.

    Rows in which something expired since they were merged are put together anew.
    """
    return kept_rows(_InDelta(spark, target), spark, at, prefix)


def row_images(feed: DataFrame, *, prefix: str = DeltaMerge.PREFIX) -> DataFrame:
    """What each merge did to each row, of Delta's change feed of the table that a `DeltaMerge` keeps.

    `feed`: the table read with `readChangeFeed`, whole versions of it: all from one on, or a micro-batch. Gives
    `before` and `after`, structs of the table's own columns, null where the row was not there; the row's identity in
    that table; `_commit_version` and `_commit_timestamp`. In no order.
    """
    from pyspark.sql import functions as F

    missing = {*_OF_A_FEED, prefix + "live"} - set(feed.columns)
    if missing:
        raise UsageError(
            "this is no change feed of a merged table",
            found=f"no {min(missing)}",
            remedy='Read it with option("readChangeFeed", "true"); the table needs delta.enableChangeDataFeed.',
        )
    beside = {*_OF_A_FEED, *(prefix + name for name in STORED)}
    row = F.struct(*(quoted_name(name) for name in feed.columns if name not in beside))

    def there(*kinds: str) -> Column:
        return F.first(F.when(F.col("_change_type").isin(*kinds) & F.col(prefix + "live"), row), ignorenulls=True)

    same = (prefix + "partition", prefix + "row", "_commit_version", "_commit_timestamp")
    before, after = there("update_preimage", "delete"), there("update_postimage", "insert")
    pairs = feed.groupBy(*same).agg(before.alias("before"), after.alias("after"))
    # As text: Spark compares no maps.
    differs = ~F.to_json("before").eqNullSafe(F.to_json("after"))
    return pairs.where(differs).select("before", "after", *same)


_OF_A_FEED: Final = ("_change_type", "_commit_version", "_commit_timestamp")


def _delta_table() -> Any:
    try:
        from delta.tables import DeltaTable
    except ImportError:
        raise UsageError(
            "merging into a Delta table needs the package delta-spark",
            remedy="Install it with pip install 'cdc-tail[delta]', in the Spark version that it names.",
        ) from None
    return DeltaTable
