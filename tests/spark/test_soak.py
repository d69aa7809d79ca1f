"""`kill -9` of the driver and of Python workers while a server writes and a stream follows: no row lost, none twice.

CDC_TAIL_SOAK says how often (`make soak SOAK=streams`: 50); without it once, and into files only.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.soak.killed import GONE
from tests.spark.soak.rounds import Case, run
from tests.spark.soak.workload import Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.spark]


def parquet(tmp_path: Path) -> Case:
    out = tmp_path / "out"
    arguments = (str(tmp_path / "log" / "cdc_raw"), "--to", "parquet", "--path", str(out))
    return Case(arguments, out / "_checkpoint", out, out / "_spark_metadata")


def sqlite(tmp_path: Path) -> Case:
    """A transaction has its journal beside the database: while that is there, it is not committed."""
    folder, checkpoint = tmp_path / "db", tmp_path / "checkpoint"
    folder.mkdir()
    to = ("--to", "jdbc", "--url", f"jdbc:sqlite:{folder / 'changes.db'}", "--into", "changes")
    arguments = (str(tmp_path / "log" / "cdc_raw"), *to, "--checkpoint", str(checkpoint))
    return Case(arguments, checkpoint, folder, folder, GONE, first=2)


def test_parquet(spark: SparkSession, tmp_path: Path) -> None:
    case = parquet(tmp_path)

    def rows() -> list[Row]:
        frame = spark.read.parquet(str(case.data)).select(*Row._fields)
        return [Row(*values) for values in frame.collect()]

    run(case, tmp_path, rows)


@pytest.mark.soak
def test_sqlite(tmp_path: Path) -> None:
    case = sqlite(tmp_path)

    def rows() -> list[Row]:
        with closing(sqlite3.connect(case.data / "changes.db")) as database:
            return [Row(*values) for values in database.execute(f"SELECT {', '.join(Row._fields)} FROM changes")]

    run(case, tmp_path, rows)
