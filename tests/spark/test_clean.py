"""`clean` between the runs of a query that ends with what is there: what was read goes, what is needed stays."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tailer.errors import RefusedError
from tailer.retention.clean import clean
from tailer.retention.needed import Ages
from tests.helpers.log_writer import TS, LogFolder, completed, create_payload, segment_of
from tests.spark.soak.workload import FIRST_SEGMENT, mutation, row
from tests.spark.soak.workload import TABLE as SOAK_TABLE
from tests.spark.test_queries import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = 5
"""Of one segment."""


class Server:
    """Finished segments, one after another, `ROWS` rows in each."""

    def __init__(self, parent: Path) -> None:
        self.folder = LogFolder(parent / "cdc_raw")
        # What a server still writes in has a second name there.
        (parent / "commitlog").mkdir()
        self.segments = 0

    def write(self) -> None:
        first = self.segments * ROWS
        sections = [[mutation(number)] for number in range(first, first + ROWS)]
        if self.segments == 0:
            sections.insert(0, [create_payload(SOAK_TABLE)])
        writer = segment_of(FIRST_SEGMENT + self.segments, sections)
        self.folder.put(writer, completed(writer))
        self.segments += 1

    def there(self) -> list[int]:
        """The segments in the folder, counted from the first."""
        found = (int(file.stem.split("-")[2]) for file in self.folder.path.glob("*.log"))
        return sorted(segment - FIRST_SEGMENT for segment in found)

    def clean(self) -> None:
        clean(self.folder.path, ages=Ages(0.0, 0.0))


def numbers(lines: list[str]) -> list[int]:
    """Which rows of the workload these are."""
    rows = map(json.loads, lines)
    return [told["write_ts"] - TS for told in rows if told["columns"] == json.loads(row(told["write_ts"] - TS).columns)]


def test_two_runs_free_all_that_the_first_one_read_but_the_last_segment(spark: SparkSession, tmp_path: Path) -> None:
    server = Server(tmp_path)
    for _ in range(4):
        server.write()
    query = Query(spark, server.folder.path)
    assert numbers(query.run()) == list(range(4 * ROWS))
    assert query.run() == []
    server.clean()
    assert server.there() == [3]
    server.write()
    assert numbers(query.run()) == list(range(4 * ROWS, 5 * ROWS))


def test_clean_between_any_runs_takes_nothing_that_is_needed(spark: SparkSession, tmp_path: Path) -> None:
    server, chance, told = Server(tmp_path), random.Random(4), list[int]()
    server.write()
    query = Query(spark, server.folder.path)
    for _ in range(12):
        step = chance.choice(("write", "run", "fail", "clean", "clean"))
        if step == "write":
            server.write()
        elif step == "run":
            told += numbers(query.run())
        elif step == "fail" and told and told[-1] < server.segments * ROWS - 1:
            query.run_into_a_failure()
        elif told:
            server.clean()
        else:
            with pytest.raises(RefusedError):
                server.clean()
    told += numbers(query.run())
    assert told == list(range(server.segments * ROWS))
    query.run()
    server.clean()
    assert server.there() == [server.segments - 1]
