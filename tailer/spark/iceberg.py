"""A table kept in Apache Iceberg as its changes come (`merge.py` says how rows are merged).

    merge = IcebergMerge(spark, "lake.shop.orders", table_definition("/var/lib/cassandra/cdc_raw", "shop.orders"))
    changes.writeStream.foreachBatch(merge).option("checkpointLocation", …).start()
    live_rows(spark, "lake.shop.orders").show()

The session has Iceberg's jar and a catalog of Iceberg's (docs/lakehouse.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Final

from tailer.spark.iceberg_columns import alter_iceberg, create_iceberg, iceberg_name
from tailer.spark.kept_columns import fitted, own_of_target
from tailer.spark.merge import TableMerge, kept_rows
from tailer.spark.quoting import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_NUMBERS: Final = count()


class _InIceberg:
    """Is a `Kept`."""

    def __init__(self, spark: SparkSession, target: str) -> None:
        self.target = target
        self._spark = spark
        self._name = iceberg_name(target)

    def is_there(self) -> bool:
        return self._spark.catalog.tableExists(self._name)

    def read(self) -> DataFrame:
        return self._spark.table(self._name)

    def prepare(self, schema: StructType, renamed: Sequence[tuple[str, str]] = ()) -> None:
        if self.is_there():
            alter_iceberg(self._spark, self._name, schema, renamed)
        else:
            create_iceberg(self._spark, self._name, schema)

    def begin_again(self, schema: StructType) -> None:
        create_iceberg(self._spark, self._name, schema, replace=True)

    def merge(self, merged: DataFrame, same: tuple[str, ...], gone: str, emptied: Sequence[str] = ()) -> None:
        own, void = own_of_target(self.read().schema, merged.columns, emptied)
        names = [quoted_name(name) for name in own.names]
        equal = " AND ".join(f"old.{name} = new.{name}" for name in map(quoted_name, same))
        update = ", ".join([*(f"old.{n} = new.{n}" for n in names), *(f"old.{quoted_name(n)} = NULL" for n in void)])
        others = [quoted_name(name) for name in self.read().columns if name not in own.names]
        values = ", ".join([*(f"new.{name}" for name in names), *("NULL" for _ in others)])
        # The session's own views: nobody else has this name.
        view = f"cdc_tail_merged_{next(_NUMBERS)}"
        fitted(merged, own).createOrReplaceTempView(view)
        is_gone = f"new.{quoted_name(gone)} IS NULL"
        try:
            merged.sparkSession.sql(
                f"MERGE INTO {self._name} old USING {view} new ON {equal} "
                f"WHEN MATCHED AND {is_gone} THEN DELETE "
                f"WHEN MATCHED THEN UPDATE SET {update} "
                f"WHEN NOT MATCHED AND NOT ({is_gone}) THEN INSERT ({', '.join([*names, *others])}) VALUES ({values})"
            )
        finally:
            merged.sparkSession.catalog.dropTempView(view)

    def own(self, rows: DataFrame, schema: StructType) -> DataFrame:
        return fitted(rows, schema)


class IcebergMerge(TableMerge):
    """Merges change rows into one Iceberg table. `target`: its name, with the catalog: `CATALOG.DATABASE.TABLE`.

    The others: as `TableMerge` says.
    """

    PREFIX = "_cdc_"
    """`_partition` alone is a name of Iceberg's."""
    place = _InIceberg


def live_rows(
    spark: SparkSession, target: str, *, at: int | datetime | None = None, prefix: str = IcebergMerge.PREFIX
) -> DataFrame:
    """The rows of the table that an `IcebergMerge` keeps: those alive at `at` (now, if not given), own columns only.

    Rows in which something expired since they were merged are put together anew.
    """
    return kept_rows(_InIceberg(spark, target), spark, at, prefix)
