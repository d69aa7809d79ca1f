"""What does a row cost in Spark whose images are made?

A recorded segment as the log of three nodes that wrote the same (and of one alone), read to its end in one run of a
session with the settings of `cdc-tail stream --once`: its rows into Spark's `noop` sink, their images into it, and,
where delta-spark is installed, its rows merged by `DeltaMerge` into a Delta table with a change data feed. Each run is
a process of its own with a JVM of its own, on two cores, cold as a user's is. Counted is the processor time of the JVM
and of all Python processes under it from the query's `load` to its end, by change row.

    python -m tests.benchmarks.spark_images events-32mib.tar.xz --keep        # about 10 minutes
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.benchmarks.copied_log import Backlog, backlog
from tests.benchmarks.measured import compile_ahead, figure, interleaved, low, ratio, schema_in
from tests.benchmarks.script import Begun, perf_parser, published
from tests.benchmarks.spark_parquet import session

NAME = "spark_images"
QUESTION = "What does a row cost in Spark whose images are made, beside the row alone and beside a merge into Delta?"
TARGETS: dict[str, float] = {}
ROWS, IMAGES, MERGED, ALONE = "rows", "images", "merged into Delta", "images, one node"
NODES = ("n1", "n2", "n3")
MAX_BYTES = "48m"
"""Of one micro-batch, of all nodes together."""


def run(perf: Path, table: str, repeat: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat, perf)
    compile_ahead()
    with backlog(perf, 1) as log:
        queries = _queries(log, table)
        took: dict[str, list[dict[str, Any]]] = {name: [] for name in queries}

        def case(name: str) -> float:
            took[name].append(session(**queries[name]))
            made = took[name][-1]
            return float(sum(made["cpu"].values())) / int(made["rows"])

        runs = interleaved({name: lambda name=name: case(name) for name in queries}, repeat)
    return begun.result(
        spark=took[ROWS][0]["spark"],
        rows={name: each[0]["rows"] for name, each in took.items()},
        elapsed={name: [one["seconds"] for one in each] for name, each in took.items()},
        parts={name: each[0]["cpu"] for name, each in took.items()},
        left_out=[] if MERGED in queries else [f"{MERGED}: delta-spark is not installed for this Spark"],
        figures=figures(runs),
        runs=runs,
    )


def _queries(log: Backlog, table: str) -> dict[str, dict[str, Any]]:
    """What is run, by name."""
    schema = schema_in(log.one)
    places = ",".join(f"{node}={log.folder}" for node in NODES)
    options = {"path": places, "maxBytesPerTrigger": MAX_BYTES, "includeSchemaChanges": "true", "tables": table}
    options |= {} if schema is None else {"schemaFile": str(schema)}
    rows = {"long": True, "form": "cdc_tail", "options": options}
    queries = {
        ROWS: rows,
        IMAGES: {**rows, "images": True},
        ALONE: {**rows, "images": True, "options": {**options, "path": str(log.folder)}},
    }
    if find_spec("delta") is not None:
        queries[MERGED] = {**rows, "merge": table}
    return queries


def figures(runs: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    """The lines of the table."""
    made = [
        figure(name, "µs of processor a change row", low([each * 1e6 for each in seconds]))
        for name, seconds in runs.items()
    ]
    made.append(figure(IMAGES, "× rows alone, processor a row", ratio(runs, IMAGES, ROWS)))
    if MERGED in runs:
        made.append(figure(IMAGES, "× merged into Delta, processor a row", ratio(runs, IMAGES, MERGED)))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    return published(perf_parser(NAME, QUESTION, 3), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
