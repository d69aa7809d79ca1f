"""Rows into a folder of parquet files, by Spark's own streaming sink.

It writes down which micro-batch a file belongs to, and takes a batch that comes again for done: exactly once by its id.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import msgspec

from tailer.spark.sinks.base import PlainSink
from tailer.typed_decode import decode_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES_MAX_BYTES: Final = "256m"


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
        whole = _listed(self._path / "_spark_metadata")
        files = (file for file in self._path.glob("*.parquet") if file.name in whole)
        first = min(files, key=lambda file: (file.stat().st_mtime_ns, file.name), default=None)
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


def _listed(logs: Path) -> set[str]:
    """The names of the files that batches own: one that a killed run left may be cut off anywhere."""
    found: set[str] = set()
    for log in logs.glob("[0-9]*"):
        # The first line is the version of the form.
        lines = log.read_bytes().splitlines()[1:]
        found |= {unquote(decode_json(line, _Listed).path.rsplit("/", 1)[-1]) for line in lines}
    return found


class _Listed(msgspec.Struct):
    path: str


def _columns(frame: DataFrame) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in frame.schema}
