"""Rows into a Delta table by Delta's own streaming sink; which jar that needs, as delta-spark itself says it.

The table's log has the query's id and its last batch (`txn`): a batch that comes again is taken for done.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tailer.errors import UsageError
from tailer.spark.sinks.base import PlainSink
from tailer.spark.sinks.files import FILES_MAX_BYTES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_GET_DELTA: Final = "pip install 'cdc-tail[delta]' (it pins a tested pair of pyspark and delta-spark)"
_SPARK_OF_PLAIN_JARS: Final = "4.0"
"""The Spark of jars whose name tells none: those of delta-spark before 4.1, which admits any later pyspark."""


class DeltaSink(PlainSink):
    """A Delta table of change rows, appended to."""

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


def delta_package() -> str:
    """The Maven coordinates of Delta's jar for what is installed.

    UsageError where delta-spark is missing, or says that it does not take the pyspark that is installed.
    """
    try:
        delta = metadata.version("delta-spark")
    except metadata.PackageNotFoundError:
        raise UsageError(
            "--to delta needs delta-spark", expected="delta-spark", found="none", remedy=_GET_DELTA
        ) from None
    spark = metadata.version("pyspark")
    _check_admitted(delta, spark, metadata.requires("delta-spark") or [])
    package = _its_package()
    if ":delta-spark_2." in package and not spark.startswith(f"{_SPARK_OF_PLAIN_JARS}."):
        raise _other_pyspark(delta, f"pyspark {_SPARK_OF_PLAIN_JARS}.x, which its jar is for", spark)
    return package


def _check_admitted(delta: str, spark: str, requires: list[str]) -> None:
    """UsageError where one of a delta-spark's own requirements does not hold for a version of pyspark."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        raise UsageError("--to delta needs the package `packaging`", remedy=_GET_DELTA) from None
    for wanted in map(Requirement, requires):
        if wanted.name == "pyspark" and not wanted.specifier.contains(spark, prereleases=True):
            raise _other_pyspark(delta, f"pyspark{wanted.specifier}, as its metadata says", spark)


def _its_package() -> str:
    """What delta-spark would have a session bring: it names the jar for a Spark by itself."""
    from delta.pip_utils import configure_spark_with_delta_pip
    from pyspark.sql import SparkSession

    builder: Any = configure_spark_with_delta_pip(SparkSession.Builder())
    return str(builder._options["spark.jars.packages"])


def _other_pyspark(delta: str, expected: str, spark: str) -> UsageError:
    return UsageError(
        f"delta-spark {delta} is not for this pyspark", expected=expected, found=f"pyspark {spark}", remedy=_GET_DELTA
    )
