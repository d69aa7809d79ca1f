"""Rows into a folder of parquet files, or into a Delta table: by Spark's and Delta's own streaming sinks.

Both write down which micro-batch a file belongs to, and take a batch that comes again for done: exactly once by its id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tailer.errors import UsageError
from tailer.spark.sinks.base import PlainSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES_MAX_BYTES: Final = "256m"
_GET_DELTA: Final = "pip install 'cdc-tail[delta]' (it pins a tested pair of pyspark and delta-spark)"


class ParquetSink(PlainSink):
    """Files of change rows. Readers other than Spark take those that `_spark_metadata` in the folder lists.

    `say` takes a sentence where the files that are there have other columns: Spark reads by those of one file.
    """

    max_bytes = FILES_MAX_BYTES

    def __init__(self, path: Path, say: Callable[[str], None] = lambda line: None) -> None:
        self.name = f"parquet files in {path}"
        self._path = path
        self._say = say

    def prepare(self, session: SparkSession, frame: DataFrame) -> None:
        """Tell how to read files of several forms of a table."""
        first = min(self._path.glob("*.parquet"), key=lambda file: (file.stat().st_mtime_ns, file.name), default=None)
        if first is None:
            return
        was, now = (_columns(each) for each in (session.read.parquet(str(first)), frame))
        if other := [name for name in {**was, **now} if was.get(name) != now.get(name)]:
            self._say(
                f"files in {self._path} have other columns than this run ({', '.join(other)}): read them with "
                "option mergeSchema=true, or Spark shows the columns of one file"
            )

    def writer(self, frame: DataFrame) -> Any:
        return frame.writeStream.format("parquet").option("path", str(self._path))


class DeltaSink(PlainSink):
    """A Delta table of change rows, appended to: the table's log has the query's id and its last batch (`txn`)."""

    max_bytes = FILES_MAX_BYTES

    def __init__(self, path: Path) -> None:
        self.name = f"the Delta table {path}"
        self._path = path
        self._package = delta_package()

    def packages(self) -> tuple[str, ...]:
        return (self._package,)

    def conf(self) -> Mapping[str, str]:
        return {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        }

    def writer(self, frame: DataFrame) -> Any:
        return frame.writeStream.format("delta").option("path", str(self._path)).outputMode("append")


def _columns(frame: DataFrame) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in frame.schema}


def delta_package() -> str:
    """The Maven coordinates that fit what is installed. UsageError where delta-spark is missing or of another Spark."""
    try:
        delta = metadata.version("delta-spark")
    except metadata.PackageNotFoundError:
        raise UsageError(
            "--to delta needs delta-spark", expected="delta-spark", found="none", remedy=_GET_DELTA
        ) from None
    spark = metadata.version("pyspark")
    line = _minor(spark)
    if _minor(delta) != line:
        raise UsageError(
            f"delta-spark {delta} is not for this pyspark",
            expected=f"delta-spark {line}.x with pyspark {line}.x",
            found=f"pyspark {spark}",
            remedy=_GET_DELTA,
        )
    # The Spark that a jar is for stands in its name from Delta 4.1 on.
    return f"io.delta:delta-spark{'' if line == '4.0' else '_' + line}_2.13:{delta}"


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
