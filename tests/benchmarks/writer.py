"""What does a durable row cost a service, next to the bare disk and to SQLite?

Appends a second and the time until a row is durable, for each sync policy and 1, 8 and 64 writers, as threads and as
tasks of one event loop. Behind each case, in the same round: the floor, the same bytes with the same syncs written bare
(`pwrite` + `fdatasync`) into a file that is there already. Behind `batch` also the same writers woken by syncs of as
many bare bytes, with no log (`null_log`). Then SQLite's WAL with one insert a transaction; how fast one thread on one
core encodes and appends under `periodic` without waiting, row by row and many at once; and one that waits for each 64
rows under `batch`.

    python -m tests.benchmarks.writer --seconds 2 --repeat 5 --keep
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.measured import CORES, figure, high, low, percentiles, pin
from tests.benchmarks.null_log import null_tasks, null_threads
from tests.benchmarks.script import Begun, publish, script_parser
from tests.benchmarks.writer_cases import (
    WRITERS,
    Run,
    WatchedFiles,
    floor,
    many_a_sync,
    one_core,
    one_core_many,
    opened,
    sqlite,
)
from writer_hooks import batch, group, periodic

NAME = "writer"
QUESTION = "How many rows a second does a log make durable, and how soon, by the bare disk and by SQLite?"
TARGETS = {
    "batch_threads_64_by_null_log": 0.7,
    "batch_64_by_sqlite_full": 5.0,
    "batch_tasks_64_per_second": 60_000,
    "periodic_rows_per_second_on_one_core": 150_000,
    "periodic_rows_per_second_many_at_once": 400_000,
    "rows_per_second_64_a_sync": 200_000,
}
POLICIES = {"batch": batch(), "group 2 ms": group(2), "periodic 10 ms": periodic(10)}
COUNTS = (1, 8, 64)
BEST = ("batch", "threads", 64)
TOGETHER = 64
NULL_LOGS = {"threads": null_threads, "tasks": null_tasks}

Case = tuple[str, str, int]

RATES: dict[Case, str] = {
    ("batch", "tasks", 64): "batch_tasks_64_per_second",
    ("one core", "periodic", 1): "periodic_rows_per_second_on_one_core",
    ("one core", "periodic, many at once", 1): "periodic_rows_per_second_many_at_once",
    ("one core", f"batch, {TOGETHER} rows a sync", 1): "rows_per_second_64_a_sync",
}
"""The cases whose rate has a target."""


def measure(folder: Path, seconds: float, rows: int) -> Iterator[tuple[Case, Mapping[str, Run]]]:
    """One round of all cases."""
    numbers = itertools.count()
    for (policy, sync), (kind, write), writers in itertools.product(POLICIES.items(), WRITERS.items(), COUNTS):
        files = WatchedFiles()
        with opened(folder / str(next(numbers)), sync, files) as log:
            files.watching = True
            run = write(log, writers, seconds)
            files.watching = False
        found = {"log": run, "floor": floor(folder, files.groups, run.rows)}
        if policy == "batch":
            found["null log"] = NULL_LOGS[kind](folder, writers, seconds)
        yield (policy, kind, writers), found
    for synchronous in ("FULL", "NORMAL"):
        yield ("sqlite", synchronous, 1), {"log": sqlite(folder, synchronous, seconds)}
    pin(0)
    try:
        with opened(folder / "one", periodic(10)) as log:
            yield ("one core", "periodic", 1), {"log": one_core(log, rows)}
        with opened(folder / "many", periodic(10)) as log:
            yield ("one core", "periodic, many at once", 1), {"log": one_core_many(log, rows)}
        with opened(folder / "together", batch()) as log:
            yield ("one core", f"batch, {TOGETHER} rows a sync", 1), {"log": many_a_sync(log, rows, TOGETHER)}
    finally:
        os.sched_setaffinity(0, CORES)


def run(seconds: float, repeat: int, rows: int, where: Path | None) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat)
    rounds: list[dict[Case, Mapping[str, Run]]] = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(prefix="cdc-tail-writer-", dir=where) as folder:
            rounds.append(dict(measure(Path(folder), seconds, rows)))
    runs = [{" ".join(map(str, case)): _told(found) for case, found in each.items()} for each in rounds]
    table = list(figures(rounds))
    return begun.result(seconds=seconds, runs=runs, figures=table)


def _told(runs: Mapping[str, Run]) -> dict[str, Any]:
    return {
        name: {"rows": run.rows, "per_second": round(run.rate, 1)} | (percentiles(run.waits) if run.waits else {})
        for name, run in runs.items()
    }


def figures(rounds: Sequence[Mapping[Case, Mapping[str, Run]]]) -> Iterator[dict[str, Any]]:
    """The table: rates, waits and ratios, the ratios round by round."""
    for case in rounds[0]:
        name = " ".join(map(str, case)) + (" writers" if case[0] in POLICIES else "")
        runs = [each[case]["log"] for each in rounds]
        target = TARGETS.get(RATES.get(case, ""))
        yield figure(name, "rows/s", high([run.rate for run in runs]), at_least=target)
        if runs[0].waits:
            for mark in ("p50", "p99"):
                yield figure(name, f"{mark} ms", low([percentiles(run.waits)[mark] for run in runs]))
        if "floor" in rounds[0][case]:
            ratios = [each[case]["log"].rate / each[case]["floor"].rate for each in rounds]
            yield figure(name, "× the floor's rate", high(ratios))
        if "null log" in rounds[0][case]:
            ratios = [each[case]["log"].rate / each[case]["null log"].rate for each in rounds]
            target = TARGETS["batch_threads_64_by_null_log"] if case == BEST else None
            yield figure(name, "× the null log's rate", high(ratios), at_least=target)
    for synchronous in ("FULL", "NORMAL"):
        ratios = [each[BEST]["log"].rate / each["sqlite", synchronous, 1]["log"].rate for each in rounds]
        target = TARGETS["batch_64_by_sqlite_full"] if synchronous == "FULL" else None
        yield figure("batch threads 64 writers", f"× SQLite's rate, {synchronous}", high(ratios), at_least=target)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = script_parser(NAME, QUESTION, 5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each case (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=600_000, help="rows on one core (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where the logs are written: a folder on the disk in question")
    chosen = parser.parse_args(arguments)
    publish(run(chosen.seconds, chosen.repeat, chosen.rows, chosen.folder), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
