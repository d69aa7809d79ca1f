"""What every result says beside its numbers: versions, machine, load; and how a result is summed up and kept."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.helpers.sets import extract

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[2]
PACKAGES = ("cdc-tail", "numpy", "pyarrow", "numba", "cramjam", "msgspec", "inotify-simple", "typer", "psutil")
CORES = sorted(os.sched_getaffinity(0))
"""Those this process may run on, as they were before anything was pinned to one of them."""

Seconds = Mapping[str, Sequence[float]]
"""By case: one number a round."""


def facts() -> dict[str, Any]:
    """Where and with what something was measured. Load: of the last minute, five, fifteen, when this is called."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "machine": {
            "cores": len(CORES),
            "cpu": _cpu(),
            "kernel": platform.release(),
            "load": [round(load, 2) for load in os.getloadavg()],
        },
    }


def result(
    name: str,
    question: str,
    before: Mapping[str, Any],
    read: Path | None,
    repeat: int,
    targets: Mapping[str, Any],
    **more: Any,
) -> dict[str, Any]:
    """What a script prints and keeps. `before`: `facts` from before the first round; `read`: the log that was given."""
    return {
        "name": name,
        "question": question,
        **before,
        "load_after": [round(load, 2) for load in os.getloadavg()],
        **({} if read is None else {"read": read.name}),
        "repeat": repeat,
        "targets": targets,
        **more,
    }


def perf_parser(name: str, question: str, repeat: int) -> argparse.ArgumentParser:
    """The words of a script that reads the perf segment; `repeat` rounds unless told."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.benchmarks.{name}", description=question)
    parser.add_argument("perf", type=Path, help="archive (.tar.xz) or folder with the segment, its sidecar, schema.cql")
    parser.add_argument("--table", default="perf.events", help="its table, for the typed form (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=repeat, help="rounds (default: %(default)s)")
    parser.add_argument("--keep", action="store_true", help="store the result in tests/benchmarks/results/")
    return parser


def unpacked(perf: Path, into: Path) -> Path:
    """The folder with the segment; an archive of it is unpacked first."""
    if perf.is_dir():
        return perf
    extract(perf, into)
    return next(into.rglob("CommitLog-*.log")).parent


def commit() -> str | None:
    """The commit checked out, with `+` if files were changed since; None outside a clone."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def compile_ahead() -> None:
    """Leave the compiled code in its cache, in a process of its own; nothing to do where it is there already."""
    if os.environ.get("CDC_TAIL_JIT") != "0":
        subprocess.run([sys.executable, "-m", "tailer.jit.ahead"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def pin(number: int) -> None:
    """This process, and those it starts from now on, to one core; counted round where there are fewer."""
    os.sched_setaffinity(0, {CORES[number % len(CORES)]})


def interleaved(cases: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
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


def publish(result: Mapping[str, Any], keep: bool) -> None:
    """Print the result, and with `keep` store it as `results/NAME.json`."""
    text = json.dumps(result, indent=1) + "\n"
    sys.stdout.write(text)
    if keep:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{result['name']}.json").write_text(text)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)
