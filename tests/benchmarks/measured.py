"""How the benchmarks measure: the recorded log, one core, rounds by turns, and what rounds are summed up to."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.helpers.sets import extract

ROOT = Path(__file__).parents[2]
FOLLOW = [sys.executable, "-c", "from tailer.cli.app import run; run()", "follow"]
CORES = sorted(os.sched_getaffinity(0))
"""Those this process may run on, as they were before anything was pinned to one of them."""

Seconds = Mapping[str, Sequence[float]]
"""By case: one number a round."""

Case = Callable[[], float]
"""What is done once a round, and gives its number."""


def unpacked(perf: Path, into: Path) -> Path:
    """The folder with the segment; an archive of it is unpacked first."""
    if perf.is_dir():
        return perf
    extract(perf, into)
    return next(into.rglob("CommitLog-*.log")).parent


def schema_in(folder: Path) -> Path | None:
    """The definitions in a folder, if there are any."""
    schema = folder / "schema.cql"
    return schema if schema.exists() else None


def define(session: Any, folder: Path) -> None:
    """Have a server know the tables of a folder that has definitions."""
    for statement in (folder / "schema.cql").read_text().split(";"):
        if statement.strip():
            session.execute(statement)


def environment(**more: str) -> dict[str, str]:
    """Of a process that imports this checkout, wherever it is started."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def peak_mib() -> float:
    """The most memory that this process itself had; `ru_maxrss` begins with that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def compile_ahead() -> None:
    """Leave the compiled code in its cache, in a process of its own; nothing to do where it is there already."""
    if os.environ.get("CDC_TAIL_JIT") != "0":
        subprocess.run([sys.executable, "-m", "tailer.jit.ahead"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def pin(number: int) -> None:
    """This process, and those it starts from now on, to one core; counted round where there are fewer."""
    os.sched_setaffinity(0, {CORES[number % len(CORES)]})


def timed(work: Callable[[], object], clock: Case = time.perf_counter) -> Case:
    """What one more time takes, in seconds of that clock."""

    def once() -> float:
        started = clock()
        work()
        return clock() - started

    return once


def interleaved(cases: Mapping[str, Case], rounds: int) -> dict[str, list[float]]:
    """What each case gives, once a round and one after another, so that all meet the same machine."""
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            found[name].append(case())
    return found


def summed(found: Seconds) -> dict[str, dict[str, float]]:
    """Median and minimum of every case."""
    return {
        name: {"median": round(statistics.median(values), 5), "best": round(min(values), 5)}
        for name, values in found.items()
    }


def rounded(found: Seconds) -> dict[str, list[float]]:
    """Every round of every case, as results keep them."""
    return {name: [round(seconds, 5) for seconds in values] for name, values in found.items()}


def low(values: Sequence[float]) -> dict[str, float]:
    """The median, and as the best the least."""
    return {"median": statistics.median(values), "best": min(values)}


def high(values: Sequence[float]) -> dict[str, float]:
    """The median, and as the best the most."""
    return {"median": statistics.median(values), "best": max(values)}


def ratio(found: Seconds, above: str, below: str) -> dict[str, float]:
    """One case's seconds by another's: the median over the rounds, and minimum by minimum."""
    each = [one / other for one, other in zip(found[above], found[below], strict=True)]
    return {"median": statistics.median(each), "best": min(found[above]) / min(found[below])}


def rate(found: Seconds, case: str, amount: float) -> dict[str, float]:
    """How much of something a second: of the median time, and of the shortest."""
    return {"median": amount / statistics.median(found[case]), "best": amount / min(found[case])}


def figure(
    what: str, unit: str, value: Mapping[str, float], *, at_least: float | None = None, at_most: float | None = None
) -> dict[str, Any]:
    """One line of the table that `table.py` prints: `median` and `best` of a value, and its target if it has one."""
    median, best = value["median"], value.get("best", value["median"])
    digits = 0 if median >= 1000 else 2
    made: dict[str, Any] = {"what": what, "unit": unit, "median": round(median, digits), "best": round(best, digits)}
    for name, bound in (("at_least", at_least), ("at_most", at_most)):
        if bound is not None:
            made[name] = bound
            made["met"] = median >= bound if name == "at_least" else median <= bound
    return made


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """In milliseconds. p99 is the smallest value that 99 % of the values do not exceed."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    values = {
        "p50": statistics.median(ordered),
        "p90": ordered[min(last, -(-len(ordered) * 90 // 100) - 1)],
        "p99": ordered[min(last, -(-len(ordered) * 99 // 100) - 1)],
        "max": ordered[-1],
    }
    return {name: round(value * 1000, 3) for name, value in values.items()}


def medians(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The median over the runs of every number in them, in the same shape."""
    merged: dict[str, Any] = {}
    for key, value in runs[0].items():
        if isinstance(value, Mapping):
            merged[key] = medians([run[key] for run in runs])
        elif isinstance(value, int | float):
            merged[key] = round(statistics.median(run[key] for run in runs), 4)
    return merged
