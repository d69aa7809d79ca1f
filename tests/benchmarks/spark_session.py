"""One Spark session with one query, in a process of its own, for `spark_parquet.py` and `spark_images.py`: what it
cost, process by process.

    python -m tests.benchmarks.spark_session '{"long": true, "form": "cdc_tail", "options": {…}, "into": null}'

`long`: the JVM's settings are those that `cdc-tail stream` has for a backlog; else those of a stream that waits. `form`
`cdc_tail` is an AvailableNow run over `options["path"]`, `parquet` a batch read of `path`. `into`: a folder for Spark's
parquet files; without it all goes to the `noop` sink. `images`: images of the rows go there instead; `merge`: the rows
of this table are merged into a Delta table with a change data feed. Prints one JSON object. Two cores: `local[2]`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil

from tests.benchmarks.measured import ROOT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MASTER: Final = "local[2]"


def processor() -> Counter[str]:
    """Seconds of processor that the processes below this one have had so far, the ended ones too, by what they do."""
    found: Counter[str] = Counter()
    for process in psutil.Process().children(recursive=True):
        try:
            times, words = process.cpu_times(), " ".join(process.cmdline()[:4])
        except psutil.NoSuchProcess:
            # Its parent has it among the ended ones now, or in the next look.
            continue
        # The source's own process has ended with its query, and is among the JVM's children by then.
        own = "jvm" if "java" in words else "workers" if "pyspark.worker" in words else "loading"
        found[own] += times.user + times.system
        found["planner" if own == "jvm" else own] += times.children_user + times.children_system
    return found


def run(
    session: SparkSession, form: str, options: dict[str, str], into: str | None, images: bool, merge: str | None
) -> int | None:
    """One query to its end; its rows where Spark tells them."""
    if form == "parquet":
        session.read.parquet(options["path"]).write.format("noop").mode("overwrite").save()
        return None
    with tempfile.TemporaryDirectory() as home:
        reader = session.readStream.format(form).options(**{"stateDir": f"{home}/state", **options})
        frame = imaged(reader.load()) if images else reader.load()
        writer = frame.writeStream.option("checkpointLocation", f"{home}/checkpoint")
        sink = writer.format("noop") if into is None else writer.format("parquet").option("path", into)
        if merge is not None:
            sink = writer.foreachBatch(merging(session, merge, options, f"{home}/table"))
        query = sink.trigger(availableNow=True).start()
        query.awaitTermination()
        return sum(one.numInputRows for one in query.recentProgress)


def imaged(frame: DataFrame) -> DataFrame:
    from tailer.spark.images import images

    return images(frame)


def merging(session: SparkSession, table: str, options: dict[str, str], target: str) -> Callable[..., None]:
    from tailer.spark.delta import DeltaMerge
    from tailer.spark.state import table_definition

    merge = DeltaMerge(session, target, table_definition(options["path"], table, schemaFile=options["schemaFile"]))
    return lambda changes, number: merge(changes, number)


def settings(images: bool, merge: str | None) -> tuple[tuple[str, ...], dict[str, str]]:
    """What the session of a query brings, and what it sets."""
    from tailer.spark.images import SETTINGS
    from tailer.spark.sinks.delta import DeltaSink

    if merge is None:
        return (), dict(SETTINGS) if images else {}
    delta = DeltaSink(Path("unused"))
    return delta.packages(), {**delta.conf(), "spark.databricks.delta.properties.defaults.enableChangeDataFeed": "true"}


def measure(
    long: bool,
    form: str,
    options: dict[str, str],
    into: str | None = None,
    images: bool = False,
    merge: str | None = None,
) -> dict[str, Any]:
    from tailer.spark.session import open_session

    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    began = time.perf_counter()
    packages, conf = settings(images, merge)
    session = open_session("benchmark", lambda line: None, master=MASTER, packages=packages, conf=conf, long=long)
    started, before = time.perf_counter(), processor()
    try:
        rows = run(session, form, options, into, images, merge)
        seconds, after = time.perf_counter() - started, processor()
        version = session.version
    finally:
        session.stop()
    return {
        "rows": rows,
        "seconds": round(seconds, 3),
        "cpu": {part: round(after[part] - before[part], 2) for part in ("jvm", "planner", "loading", "workers")},
        "start": {"seconds": round(started - began, 3), "cpu": round(before.total(), 2)},
        "spark": version,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(**json.loads(sys.argv[1]))) + "\n")
