"""A table kept in Apache Iceberg as its changes come (`merge.py` says how rows are merged).

    merge = IcebergMerge(spark, "lake.shop.orders", table_definition("/var/lib/cassandra/cdc_raw", "shop.orders"))
    changes.writeStream.foreachBatch(merge).option("checkpointLocation", …).start()
    live_rows(spark, "lake.shop.orders").show()

The session has Iceberg's jar and a catalog of Iceberg's (docs/lakehouse.md).
"""

from __future__ import annotations

from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Final

from tailer.spark.iceberg_columns import create_iceberg, iceberg_name, widen_iceberg
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

    def prepare(self, schema: StructType) -> None:
        if self.is_there():
            widen_iceberg(self._spark, self._name, self.read().schema, schema)
        else:
            create_iceberg(self._spark, self._name, schema)

    def merge(self, merged: DataFrame, same: tuple[str, ...], gone: str) -> None:
        # Columns of the table that were dropped since are no longer among the merged ones: they stay as they are.
        columns = {name: quoted_name(name) for name in merged.columns}
        stale = [quoted_name(name) for name in self.read().columns if name not in columns]
        equal = " AND ".join(f"old.{columns[name]} = new.{columns[name]}" for name in same)
        update = ", ".join(f"old.{name} = new.{name}" for name in columns.values())
        names = ", ".join([*columns.values(), *stale])
        values = ", ".join([*(f"new.{name}" for name in columns.values()), *("NULL" for _ in stale)])
        # The session's own views: nobody else has this name.
        view = f"cdc_tail_merged_{next(_NUMBERS)}"
        merged.createOrReplaceTempView(view)
        try:
            merged.sparkSession.sql(
                f"MERGE INTO {self._name} old USING {view} new ON {equal} "
                f"WHEN MATCHED AND new.{columns[gone]} IS NULL THEN DELETE "
                f"WHEN MATCHED THEN UPDATE SET {update} "
                f"WHEN NOT MATCHED AND new.{columns[gone]} IS NOT NULL THEN INSERT ({names}) VALUES ({values})"
            )
        finally:
            merged.sparkSession.catalog.dropTempView(view)

    def own(self, rows: DataFrame, schema: StructType) -> DataFrame:
        from pyspark.sql import functions as F

        return rows.select(*(F.col(quoted_name(field.name)).cast(field.dataType).alias(field.name) for field in schema))


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
