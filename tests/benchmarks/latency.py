"""How long is a row on its way, and what does waiting cost?

The time from "sidecar written" (truncated, written, about to be closed) to "row read from the standard output" of
`cdc-tail follow DIR --output json`: p50, p99 and maximum over single rows, written one by one with random gaps. Then the
CPU that the same processes take while nothing happens. Beside it in the same run, on the same folder: the floor
(`floor.py`). Once without and once with `--consumer`, whose position is saved with fsync behind each row.

    python -m tests.benchmarks.latency --rows 400 --repeat 3 --keep
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Self

import psutil

from tests.benchmarks.measured import ROOT, facts, medians, percentiles, publish
from tests.benchmarks.single_rows import GrowingSegment, Material, load_material

NAME = "latency"
QUESTION = "How long from sidecar written to row on standard output of follow, and how much CPU while idle?"
TARGETS = {"p50_ms": 5.0, "p99_ms": 20.0, "idle_percent": 1.0}
WARM_UP_ROWS = 20
GAP_SECONDS = (0.020, 0.060)
PATIENCE_SECONDS = 60.0

FOLLOW = [sys.executable, "-c", "from tailer.cli.app import run; run()", "follow"]
FLOOR = [sys.executable, str(Path(__file__).with_name("floor.py"))]


class Watched:
    """A process that prints a line for each row; a thread notes when each line was read."""

    def __init__(self, command: Sequence[str | Path], log: IO[bytes]) -> None:
        self.read_at: list[float] = []
        self._process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=log, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while data := os.read(descriptor, 1 << 20):
            now = time.perf_counter()
            self.read_at += [now] * data.count(b"\n")

    def await_lines(self, count: int) -> None:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while len(self.read_at) < count:
            if time.monotonic() > give_up or self._process.poll() is not None:
                raise RuntimeError(f"{len(self.read_at)} lines of {count}, exit code {self._process.poll()}")
            time.sleep(0.01)

    def cpu_seconds(self) -> float:
        times = psutil.Process(self._process.pid).cpu_times()
        return float(times.user + times.system)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_SECONDS)
        self._thread.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


def measure(material: Material, options: Sequence[str], rows: int, idle_seconds: float, seed: int) -> dict[str, Any]:
    """One run of `follow` with these options beside the floor."""
    gaps = random.Random(seed)
    with tempfile.TemporaryDirectory() as parent, tempfile.TemporaryFile() as log:
        with GrowingSegment(Path(parent), material) as growing:
            follow = [*FOLLOW, growing.folder, "--output", "json", *options]
            floor = [*FLOOR, growing.folder, material.log_name]
            with Watched(floor, log) as floor_process, Watched(follow, log) as follow_process:
                floor_process.await_lines(1)  # "ready"
                # The first row starts everything: it is not counted, nor are those that warm the processes up.
                for number in range(1, WARM_UP_ROWS + 1):
                    growing.write_row()
                    growing.publish()
                    follow_process.await_lines(number)
                    time.sleep(GAP_SECONDS[0])
                floor_process.await_lines(WARM_UP_ROWS + 1)
                written = _write_rows(growing, rows, gaps)
                both = {"follow": (follow_process, WARM_UP_ROWS), "floor": (floor_process, WARM_UP_ROWS + 1)}
                delays = {}
                for name, (process, before) in both.items():
                    process.await_lines(before + rows)
                    read = process.read_at[before : before + rows]
                    delays[name] = percentiles([late - early for early, late in zip(written, read, strict=True)])
                idle = _idle([follow_process, floor_process], idle_seconds)
    ratios = {f"{name}_to_floor": round(delays["follow"][name] / delays["floor"][name], 2) for name in ("p50", "p99")}
    return {**{f"{name}_ms": found for name, found in delays.items()}, **ratios, "idle_percent": idle}


def _write_rows(growing: GrowingSegment, rows: int, gaps: random.Random) -> list[float]:
    """Writes the rows; the moment each was promised."""
    written = []
    for _ in range(rows):
        growing.write_row()
        written.append(growing.publish())
        time.sleep(gaps.uniform(*GAP_SECONDS))
    return written


def _idle(processes: Sequence[Watched], seconds: float) -> dict[str, float]:
    """CPU of `follow` and the floor while nothing is written, in percent of a core."""
    time.sleep(min(1.0, seconds))
    before = [process.cpu_seconds() for process in processes]
    started = time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - started
    spent = [process.cpu_seconds() - early for process, early in zip(processes, before, strict=True)]
    return dict(zip(("follow", "floor"), (round(100 * cpu / passed, 2) for cpu in spent), strict=True))


def run(rows: int, repeat: int, idle_seconds: float) -> dict[str, Any]:
    material = load_material()
    before = facts()
    ways: dict[str, list[str]] = {"plain": [], "consumer": ["--consumer", "benchmark"]}
    runs: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    for number in range(repeat):
        for way, options in ways.items():
            runs[way].append(measure(material, options, rows, idle_seconds, seed=number))
    summary = {way: medians(found) for way, found in runs.items()}
    return {
        "name": NAME,
        "question": QUESTION,
        **before,
        "load_after": [round(load, 2) for load in os.getloadavg()],
        "rows": rows,
        "repeat": repeat,
        "gap_ms": [gap * 1000 for gap in GAP_SECONDS],
        "idle_seconds": idle_seconds,
        "targets": TARGETS,
        "medians": summary,
        "met": {
            way: {
                "p50": found["follow_ms"]["p50"] <= TARGETS["p50_ms"],
                "p99": found["follow_ms"]["p99"] <= TARGETS["p99_ms"],
                "idle": found["idle_percent"]["follow"] < TARGETS["idle_percent"],
            }
            for way, found in summary.items()
        },
        "runs": runs,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.latency", description=QUESTION)
    parser.add_argument("--rows", type=int, default=400, help="rows of each run (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each way (default: %(default)s)")
    parser.add_argument("--idle", type=float, default=20.0, help="idle seconds of each run (default: %(default)s)")
    parser.add_argument("--keep", action="store_true", help="store the result in tests/benchmarks/results/")
    chosen = parser.parse_args(arguments)
    publish(run(chosen.rows, chosen.repeat, chosen.idle), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
