"""How fast does a Spark query take a backlog?

A recorded segment repeated under new ids up to 1 GiB, in one AvailableNow run into Spark's `noop` sink, typed and
generic: rows a second of the whole run, its start included and the session's not. Beside each in the same rounds: an
empty source (`empty_source.py`) that yields as many rows in as many partitions, in ready-made Arrow batches of the same
columns and values. `planning` is the share of the run in which the driver asked for offsets and planned.

    python -m tests.benchmarks.spark_backlog events-32mib.tar.xz --keep        # about 5 minutes
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import tailer
from tests.benchmarks.copied_log import Backlog, backlog, backlog_parser
from tests.benchmarks.empty_source import EmptyBacklog, write_batch
from tests.benchmarks.measured import ROOT, compile_ahead, figure, interleaved, low, rate, ratio, schema_in
from tests.benchmarks.script import Begun, published

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

NAME = "spark_backlog"
QUESTION = "How many rows/s does a Spark query take of a 1 GiB backlog, by those of an empty source of the same rows?"
TARGETS = {"typed_to_empty": 0.4}
FORMS = {"typed": "typed form", "generic": "generic form"}
PLANNING = ("latestOffset", "getBatch", "queryPlanning")


class Took(NamedTuple):
    """One run: its seconds, its rows, and what Spark says that the parts of it took."""

    seconds: float
    rows: int
    phases: dict[str, float]


class Bench:
    """Runs queries, each with a checkpoint and a state folder of its own."""

    def __init__(self, session: SparkSession, parent: Path) -> None:
        self._session = session
        self._parent = parent
        self._number = 0

    def take(self, form: str, options: Mapping[str, str], folder: str | None = None) -> Took:
        """One AvailableNow run into nothing."""
        self._number += 1
        here = self._parent / str(self._number)
        reader = self._session.readStream.format(form).options(**options)
        if folder is not None:
            reader = reader.option("stateDir", str(here / "state")).option("path", folder)
        writer = reader.load().writeStream.format("noop").option("checkpointLocation", str(here / "checkpoint"))
        started = time.perf_counter()
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.perf_counter() - started
        taken = [json.loads(progress.json) for progress in query.recentProgress]
        names = {name for one in taken for name in one["durationMs"]}
        phases = {name: sum(one["durationMs"].get(name, 0) for one in taken) / 1000 for name in sorted(names)}
        return Took(seconds, sum(one["numInputRows"] for one in taken), phases)

    def batch(self, folder: Path, options: Mapping[str, str]) -> pa.RecordBatch:
        """The first of the batches that a query over a folder yields."""
        from tailer.spark.fit import arrow_columns, fit

        given = {**options, "stateDir": str(self._parent / "none"), "path": str(folder)}
        schema = self._session.readStream.format("cdc_tail").options(**given).load().schema
        file = Path(options["schemaFile"]) if "schemaFile" in options else None
        log = tailer.open(folder, table=options.get("table"), schema_file=file, state=self._parent / "none")
        return fit(next(iter(log.read("earliest", "latest"))), arrow_columns(schema))


def run(perf: Path, table: str, count: int, repeat: int) -> dict[str, Any]:
    from tailer.spark.session import open_session

    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    begun = Begun(NAME, QUESTION, TARGETS, repeat, perf)
    compile_ahead()
    with backlog(perf, count) as log:
        session = open_session("benchmark", lambda line: None, master="local[*]")
        session.dataSource.register(EmptyBacklog)
        try:
            cases, took = _cases(Bench(session, log.parent), log, table, count)
            seconds = interleaved({name: lambda case=case: case().seconds for name, case in cases.items()}, repeat)
        finally:
            version = session.version
            session.stop()
    rows = {runs.rows for of_case in took.values() for runs in of_case}
    if len(rows) != 1:
        raise RuntimeError(f"not all gave the same number of rows: {rows}")
    return begun.result(
        spark=version,
        rows=rows.pop(),
        mib=round(log.size / 1048576),
        phases={name: _shares(runs) for name, runs in took.items()},
        figures=figures(seconds, took, log.size),
        runs=seconds,
    )


def _cases(bench: Bench, log: Backlog, table: str, count: int) -> tuple[dict[str, Any], dict[str, list[Took]]]:
    """What is run, by name, and where it leaves what it took."""
    cases: dict[str, Any] = {}
    took: dict[str, list[Took]] = {}
    schema = schema_in(log.one)
    options = {} if schema is None else {"schemaFile": str(schema)}
    for form in FORMS:
        mine = {**options, "table": table} if form == "typed" else options
        rows = bench.take("cdc_tail", mine, str(log.one)).rows
        file = log.parent / f"{form}.arrow"
        write_batch(bench.batch(log.one, mine), file)
        empty = {"batch": str(file), "partitions": str(count), "rows": str(rows)}
        # As what comes before it: warms up.
        bench.take("empty_backlog", {**empty, "partitions": "1"})
        for name, arguments in {
            form: ("cdc_tail", mine, str(log.folder)),
            f"empty {form}": ("empty_backlog", empty, None),
        }.items():
            took[name] = []
            cases[name] = lambda into=took[name], given=arguments: into.append(bench.take(*given)) or into[-1]
    return cases, took


def _shares(runs: Sequence[Took]) -> dict[str, float]:
    """The parts of a run in seconds, the median over the runs."""
    return {name: round(median(one.phases[name] for one in runs), 3) for name in runs[0].phases}


def figures(
    seconds: Mapping[str, Sequence[float]], took: Mapping[str, Sequence[Took]], size: int
) -> list[dict[str, Any]]:
    """The lines of the table."""
    made = []
    for form, what in FORMS.items():
        rows = took[form][0].rows
        made.append(figure(what, "rows/s", rate(seconds, form, rows)))
        made.append(figure(what, "MB/s of log", rate(seconds, form, size / 1e6)))
        made.append(figure(f"empty source, {what}", "rows/s", rate(seconds, f"empty {form}", rows)))
        bound = TARGETS["typed_to_empty"] if form == "typed" else None
        made.append(figure(what, "× empty source, rows/s", ratio(seconds, f"empty {form}", form), at_least=bound))
        planning = [sum(one.phases.get(name, 0) for name in PLANNING) / one.seconds for one in took[form]]
        made.append(figure(f"{what}: the driver plans", "% of the time", low([100 * share for share in planning])))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    return published(backlog_parser(NAME, QUESTION, 2), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
