"""One Spark session with one live query, for `spark_latency.py`: prints when rows came to `foreachBatch`.

    python -m tests.benchmarks.spark_query {defaults,settings} FORMAT FOLDER OPTIONS_JSON

Lines on standard output, one JSON object each: `rows` with `at` (`perf_counter`, the same clock in all processes of a
machine) for each micro-batch that has any; at the end, which is the end of standard input, `phases`: what Spark says
that the micro-batches took.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from tests.benchmarks.empty_source import EmptyLive

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

KEPT = 10_000
"""Micro-batches whose progress is kept for the phases."""


def tell(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def take(frame: DataFrame, number: int) -> None:
    rows = frame.collect()
    at = time.perf_counter()
    if rows:
        tell(rows=len(rows), at=at, batch=number)


def open_with(settings: str) -> SparkSession:
    """A session as Spark makes it by itself, or one of ours; both with this interpreter, and quiet."""
    from tailer.spark.session import open_session, use_this_python

    if settings == "settings":
        return open_session("benchmark", lambda line: None, master="local[*]")
    from pyspark.sql import SparkSession

    use_this_python()
    session = SparkSession.builder.master("local[*]").appName("benchmark").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def phases(query: StreamingQuery) -> dict[str, float]:
    """Medians in milliseconds of the micro-batches that had rows."""
    taken = [json.loads(progress.json) for progress in query.recentProgress]
    found = [progress["durationMs"] for progress in taken if progress["numInputRows"]]
    names = sorted({name for one in found for name in one})
    return {name: median(one.get(name, 0) for one in found) for name in names}


def main(settings: str, form: str, folder: Path, options: dict[str, str]) -> int:
    session = open_with(settings)
    session.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(KEPT))
    session.dataSource.register(EmptyLive)
    changes = session.readStream.format(form).options(**options).load(str(folder))
    writer = changes.writeStream.option("checkpointLocation", str(folder.with_name("checkpoint")))
    query = writer.foreachBatch(take).start()
    sys.stdin.read()
    query.stop()
    tell(phases=phases(query), spark=session.version)
    session.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), json.loads(sys.argv[4])))
