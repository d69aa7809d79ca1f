"""`startingOffsets=snapshot` of a service's own log in a real session: a stream and a batch read of what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.native.kept_log import Service, Told, told
from tests.spark.test_queries import Query
from tests.spark.test_sinks import collected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def told_by(lines: list[str]) -> list[Told]:
    return told(json.loads(line) for line in lines)


@pytest.mark.oldest
def test_a_query_begins_with_all_that_the_writer_keeps(spark: SparkSession, tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.write(60)
    service.write_secrets(10)
    service.write(20)
    assert len(service.clean()) > 5
    query = Query(spark, service.raw, startingOffsets="snapshot")
    assert told_by(query.run()) == service.changes
    before = len(service.changes)
    service.write(20)
    service.clean()
    assert told_by(query.run()) == service.changes[before:]
    read = spark.read.format("cdc_tail").option("startingOffsets", "snapshot").load(str(service.raw))
    assert sorted(told_by(collected(read)), key=str) == sorted(service.changes, key=str)
