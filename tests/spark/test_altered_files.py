"""A typed stream into parquet files whose table is altered on the way: what is said, and how the files are read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tailer.spark.run import run_query
from tailer.spark.sinks.files import ParquetSink
from tests.helpers.log_writer import (
    TS,
    Cell,
    Column,
    Liveness,
    Row,
    Update,
    alter_payload,
    create_payload,
    encode_mutation,
    i32,
    insert_payload,
    simple_table,
)
from tests.helpers.logs.growing import GrowingLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TABLE = simple_table("ks", "t")
ADDED = Column("added", "regular", "int")
WIDER = replace(TABLE, columns=(*TABLE.columns, ADDED))


class Files:
    """The query, run again and again over all that is there."""

    def __init__(self, spark: SparkSession, parent: Path) -> None:
        self.log = GrowingLog(parent, 1_700_000_000_001)
        self.out = parent / "out"
        self._spark = spark

    def write(self, *payloads: bytes) -> None:
        self.log.section(payloads)
        self.log.publish()

    def run(self) -> list[str]:
        """What is said."""
        said: list[str] = []
        given = {"path": str(self.log.folder), "table": "ks.t"}
        sink = ParquetSink(self.out, said.append)
        run_query(self._spark, given, sink, f"{self.out}/_checkpoint", once=True, watch=lambda read: None)
        return said


def wider(pk: int, added: int) -> bytes:
    row = Row((b"a",), Liveness(TS), None, (("added", Cell(i32(added), TS, like_row=1)),))
    return encode_mutation((Update(WIDER, i32(pk), (row,)),))


def test_new_columns_are_told_and_come_last(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    files.write(create_payload(TABLE), insert_payload(TABLE, 1, "a", 10))
    assert files.run() == []
    files.write(insert_payload(TABLE, 2, "a", 20))
    assert files.run() == []
    files.write(alter_payload(TABLE, ADDED, TS + 1), wider(3, 33))
    for _ in range(2):
        (line,) = files.run()
        assert "other columns than this run (added)" in line
        assert "mergeSchema=true" in line
    merged = spark.read.option("mergeSchema", "true").parquet(str(files.out))
    # Spark begins with the columns of whichever file it meets first.
    assert [name for name in merged.columns if not name.startswith("_")] == ["pk", "ck", "v", "added"]
    found = {row["pk"]: (row["v"], row["added"]) for row in merged.collect()}
    assert found == {1: (10, None), 2: (20, None), 3: (None, 33)}


def test_a_file_that_no_batch_owns_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    """A run that was killed leaves one that may be cut off anywhere."""
    files = Files(spark, tmp_path)
    files.write(create_payload(TABLE), insert_payload(TABLE, 1, "a", 10))
    files.out.mkdir()
    (files.out / "part-00000-killed.snappy.parquet").write_bytes(b"PAR1")
    assert files.run() == []
    assert files.run() == []
    assert [row["v"] for row in spark.read.parquet(str(files.out)).collect()] == [10]
