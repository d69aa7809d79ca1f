"""Queries on executors that are processes of their own: `local-cluster[2,1,1024]`.

    python -m tests.spark.cluster FOLDER OPTIONS_JSON

For each options of a list: all that is in the log folder comes into this process, in small micro-batches; behind the
second one an executor is killed. Standard output: one JSON line each, `{"rows": [[…], …], "executors": n,
"batches": n}`, values as text.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from tests.helpers.cli import ROOT
from tests.helpers.processes import runs
from tests.spark.versions import SPARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Cluster:
    """Takes batches, and kills."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.batches = 0
        self.executors: set[int] = set()

    def take(self, frame: DataFrame, number: int) -> None:
        self.rows += texts(frame)
        self.batches += 1
        running = _executors()
        self.executors |= {process.pid for process in running}
        if self.batches == 2:
            running[0].kill()


def texts(frame: DataFrame) -> list[list[str]]:
    return [[str(value) for value in row] for row in frame.collect()]


def spark_home(parent: Path) -> str:
    """The Spark that pip installed, under another name: workers keep their logs below it."""
    import pyspark

    for entry in Path(pyspark.__file__).parent.iterdir():
        (parent / entry.name).symlink_to(entry)
    return str(parent)


def run(session: SparkSession, folder: str, options: dict[str, str]) -> dict[str, Any]:
    cluster = Cluster()
    stream = session.readStream.format("cdc_tail").options(**options).load(folder)
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = stream.writeStream.foreachBatch(cluster.take).option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()
    return {"rows": cluster.rows, "executors": len(cluster.executors), "batches": cluster.batches}


def _executors() -> list[psutil.Process]:
    own = psutil.Process().children(recursive=True)
    return [process for process in own if runs(process, "CoarseGrainedExecutorBackend")]


def main(folder: str, wanted: list[dict[str, str]]) -> int:
    from tailer.spark.session import open_session, settings

    # Executors live for a minute too, as the driver does.
    conf = {"spark.executor.extraJavaOptions": settings(SPARK)["spark.driver.extraJavaOptions"]}
    os.environ["PYTHONPATH"] = str(ROOT)
    with tempfile.TemporaryDirectory() as home:
        os.environ["SPARK_HOME"] = spark_home(Path(home))
        session = open_session("cluster", lambda line: None, master="local-cluster[2,1,1024]", conf=conf)
        for options in wanted:
            sys.stdout.write(json.dumps(run(session, folder, options)) + "\n")
        session.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], json.loads(sys.argv[2])))
