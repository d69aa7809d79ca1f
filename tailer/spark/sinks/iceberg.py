"""Rows into an Iceberg table by Iceberg's own streaming sink, and which jar that needs.

Each snapshot has the query's id and the number of its micro-batch (`spark.sql.streaming.epochId`): a batch that comes
again is taken for done.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tailer.errors import UsageError
from tailer.spark.iceberg_columns import create_iceberg, iceberg_name, widen_iceberg
from tailer.spark.quoting import quoted_name
from tailer.spark.sinks.base import PlainSink
from tailer.spark.sinks.files import FILES_MAX_BYTES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ICEBERG: Final = "1.11.0"
SPARKS: Final = ("4.0", "4.1")
"""What there is a runtime jar of that version for."""

_CATALOG: Final = "cdc_tail"


class IcebergSink(PlainSink):
    """An Iceberg table of change rows, appended to; it is made if it is not there, and gets columns that it lacks.

    `place`: a folder, which needs no catalog of the user's; or a table's name in a catalog that the session knows.
    """

    max_bytes = FILES_MAX_BYTES

    def __init__(self, place: Path | str) -> None:
        self.name = f"the Iceberg table {place}"
        self._package = iceberg_package()
        self._folder = Path(place).absolute() if isinstance(place, Path) else None
        self._table = iceberg_name(place) if isinstance(place, str) else f"{_CATALOG}.{quoted_name(place.name)}"

    def packages(self) -> tuple[str, ...]:
        return (self._package,)

    def conf(self) -> Mapping[str, str]:
        return {} if self._folder is None else folder_catalog(_CATALOG, self._folder.parent)

    def prepare(self, session: SparkSession, frame: DataFrame) -> None:
        """The table, with all columns of the rows."""
        if session.catalog.tableExists(self._table):
            widen_iceberg(session, self._table, session.table(self._table).schema, frame.schema)
        else:
            create_iceberg(session, self._table, frame.schema)

    def writer(self, frame: DataFrame) -> Any:
        return frame.writeStream.format("iceberg").option("path", self._table).outputMode("append")


def folder_catalog(name: str, warehouse: Path) -> dict[str, str]:
    """The settings of a catalog `name` whose tables are the folders in a folder: nothing else keeps them."""
    key = f"spark.sql.catalog.{name}"
    return {
        key: "org.apache.iceberg.spark.SparkCatalog",
        f"{key}.type": "hadoop",
        f"{key}.warehouse": warehouse.as_uri(),
        f"{key}.cache-enabled": "false",
    }


def iceberg_package() -> str:
    """The Maven coordinates of Iceberg's runtime for the Spark that is installed. UsageError where there is none."""
    spark = metadata.version("pyspark")
    line = ".".join(spark.split(".")[:2])
    if line not in SPARKS:
        raise UsageError(
            "Iceberg has no runtime for this Spark",
            expected=f"pyspark {' or '.join(SPARKS)}",
            found=f"pyspark {spark}",
            remedy="Install it into an environment of its own: pip install 'cdc-tail[iceberg]'.",
        )
    return f"org.apache.iceberg:iceberg-spark-runtime-{line}_2.13:{ICEBERG}"
