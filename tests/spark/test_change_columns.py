"""`changeColumns = spark` through Spark: the columns stand behind the table's, and say the same in batch and stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import FreshFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.oldest]

NAMES = ["_change_type", "_commit_version", "_commit_timestamp"]
OPTIONS = {"table": "cdc.deletes", "changeColumns": "spark", "stopped": "true"}


def test_the_columns_of_a_change_feed(spark: SparkSession, fresh_folder: FreshFolder) -> None:
    folder = str(fresh_folder("50-cases"))
    frame = spark.read.format("cdc_tail").options(**OPTIONS).load(folder)
    assert frame.columns[-3:] == NAMES
    assert [field.dataType.simpleString() for field in frame.schema[-3:]] == ["string", "decimal(38,0)", "timestamp"]
    rows = [row.asDict() for row in frame.collect()]
    # What the table holds is v and w: no change of it has both but an INSERT of both.
    told = {
        (row["_op"], row["_change_type"], set(row["_set"] or ()) == {"v", "w"}) for row in rows if not row["_is_static"]
    }
    assert told >= {("insert", None, False), ("delete_row", "delete", False), ("delete_range", None, False)}
    assert all((kind == "insert") == whole for op, kind, whole in told if op == "insert")
    for row in rows:
        assert row["_commit_version"] == row["_segment"] * 2**32 + row["_offset"]
        assert row["_commit_timestamp"].timestamp() == pytest.approx(row["_write_ts"] / 1e6, abs=1e-6)


def test_a_stream_has_them_too(spark: SparkSession, fresh_folder: FreshFolder) -> None:
    folder = str(fresh_folder("50-cases"))
    changes = spark.readStream.format("cdc_tail").options(**OPTIONS, consumer="feed").load(folder)
    started = changes.writeStream.format("memory").queryName("feed").trigger(availableNow=True).start()
    started.awaitTermination()
    want = spark.read.format("cdc_tail").options(**OPTIONS).load(folder).select("_event_id", *NAMES)
    assert sorted(spark.table("feed").select("_event_id", *NAMES).collect()) == sorted(want.collect())


def test_only_rows_in_a_tables_own_columns_have_them(spark: SparkSession, fresh_folder: FreshFolder) -> None:
    with pytest.raises(Exception, match=r"\[CDC-2\] changeColumns is for rows in a table's own columns"):
        spark.read.format("cdc_tail").option("changeColumns", "spark").load(str(fresh_folder("50-cases")))
