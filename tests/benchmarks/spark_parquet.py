"""What does a row of a backlog cost in Spark, beside the same row in Parquet?

A recorded segment repeated under new ids up to 1 GiB, read to its end in one run of a session with the settings of
`cdc-tail stream --once`, typed and generic, into Spark's `noop` sink; beside it the same rows, which such a run wrote
before, read from Parquet into the same sink. Each run is a process of its own with a JVM of its own, on two cores, cold
as a user's is. Counted is the processor time of the JVM and of all Python processes under it from the query's `load` to
its end; what the session's start costs stands apart. `as a live stream` is the run with the JVM's settings for a stream
that waits, which every session had before.

    python -m tests.benchmarks.spark_parquet events-32mib.tar.xz --keep        # about 8 minutes
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.copied_log import Backlog, backlog, backlog_parser
from tests.benchmarks.measured import ROOT, compile_ahead, environment, figure, interleaved, low, ratio, schema_in
from tests.benchmarks.script import Begun, published

NAME = "spark_parquet"
QUESTION = "What does a row of a 1 GiB backlog cost in Spark, by what the same row costs in Parquet?"
TARGETS = {"typed_to_parquet": 2.0}
FORMS = {"typed": "typed form", "generic": "generic form"}
LIVE = "typed, as a live stream"
MAX_BYTES = "256m"
"""Of one micro-batch: the limit that `stream` gives its file sinks."""


def session(**query: Any) -> dict[str, Any]:
    """One run of `spark_session`: what it tells."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.spark_session", json.dumps(query)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    # A JVM may have something to say, too.
    told: dict[str, Any] = json.loads([line for line in ran.stdout.splitlines() if line.startswith("{")][-1])
    return told


def run(perf: Path, table: str, count: int, repeat: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat, perf)
    compile_ahead()
    with backlog(perf, count) as log:
        queries, rows = _queries(log, table)
        took: dict[str, list[dict[str, Any]]] = {name: [] for name in queries}

        def case(name: str) -> float:
            took[name].append(session(**queries[name]))
            return float(sum(took[name][-1]["cpu"].values()))

        seconds = interleaved({name: lambda name=name: case(name) for name in queries}, repeat)
    met = {each["rows"] for runs in took.values() for each in runs} - {None}
    if met != {rows}:
        raise RuntimeError(f"not all gave the same number of rows: {met}, written {rows}")
    return begun.result(
        spark=took["typed"][0]["spark"],
        rows=rows,
        mib=round(log.size / 1048576),
        parts={name: _medians(each["cpu"] for each in runs) for name, runs in took.items()},
        start={name: _medians(each["start"] for each in runs) for name, runs in took.items()},
        elapsed={name: [each["seconds"] for each in runs] for name, runs in took.items()},
        figures=figures(seconds, rows),
        runs=seconds,
    )


def _queries(log: Backlog, table: str) -> tuple[dict[str, dict[str, Any]], int]:
    """What is run, by name, and how many rows each has; the Parquet files are written on the way."""
    schema = schema_in(log.one)
    options = {"path": str(log.folder), "maxBytesPerTrigger": MAX_BYTES}
    options |= {} if schema is None else {"schemaFile": str(schema)}
    made: dict[str, dict[str, Any]] = {}
    rows: set[int] = set()
    for form in FORMS:
        mine = {**options, "table": table} if form == "typed" else options
        files = log.parent / f"{form}.parquet"
        rows.add(session(long=True, form="cdc_tail", options=mine, into=str(files))["rows"])
        made[form] = {"long": True, "form": "cdc_tail", "options": mine, "into": None}
        made[f"{form}, Parquet"] = {"long": True, "form": "parquet", "options": {"path": str(files)}, "into": None}
    made[LIVE] = {**made["typed"], "long": False}
    if len(rows) != 1:
        raise RuntimeError(f"the forms have different numbers of rows: {rows}")
    return made, rows.pop()


def _medians(given: Any) -> dict[str, float]:
    each = list(given)
    return {name: round(median(one[name] for one in each), 2) for name in each[0]}


def figures(seconds: Mapping[str, Sequence[float]], rows: int) -> list[dict[str, Any]]:
    """The lines of the table."""
    made = []
    for form, what in FORMS.items():
        for case, told in ((form, what), (f"{form}, Parquet", f"{what}, from Parquet")):
            each = [one / rows * 1e6 for one in seconds[case]]
            made.append(figure(told, "µs of processor a row", low(each)))
        bound = TARGETS["typed_to_parquet"] if form == "typed" else None
        made.append(figure(what, "× Parquet, processor a row", ratio(seconds, form, f"{form}, Parquet"), at_most=bound))
    made.append(figure(LIVE, "× Parquet, processor a row", ratio(seconds, LIVE, "typed, Parquet")))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    return published(backlog_parser(NAME, QUESTION, 3), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
