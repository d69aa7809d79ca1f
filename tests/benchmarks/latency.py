"""How long is a row on its way, and what does waiting cost?

The time from "sidecar written" (truncated, written, about to be closed) to "row read from the standard output" of
`cdc-tail follow DIR --output json`: p50, p99 and maximum over single rows, written one by one with random gaps. Then
the CPU that the same processes take while nothing happens. Beside it in the same run, on the same folder: the floor
(`floor.py`). Three ways: plain; with `--consumer`, whose position is saved with fsync behind each row; and in a folder
that holds a hundred finished segments besides.

    python -m tests.benchmarks.latency --rows 400 --repeat 3 --keep
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import psutil

from tests.benchmarks.measured import FOLLOW, environment, medians, percentiles
from tests.benchmarks.script import Begun, publish, script_parser
from tests.benchmarks.single_rows import GrowingSegment, Material, load_material

NAME = "latency"
QUESTION = "How long from sidecar written to row on standard output of follow, and how much CPU while idle?"
TARGETS = {"p50_ms": 5.0, "p99_ms": 20.0, "idle_percent": 1.0}
WARM_UP_ROWS = 20
GAP_SECONDS = (0.020, 0.060)
PATIENCE_SECONDS = 60.0

FLOOR = [sys.executable, str(Path(__file__).with_name("floor.py"))]


class Watched:
    """A process that prints a line for each row; a thread notes when each line was read."""

    def __init__(self, command: Sequence[str | Path], log: IO[bytes]) -> None:
        self.read_at: list[float] = []
        self._process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=log, env=environment())
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


class Way(NamedTuple):
    """A way of running `follow`: more options, and how many finished segments lie in the folder."""

    options: tuple[str, ...] = ()
    finished: int = 0


WAYS = {"plain": Way(), "consumer": Way(("--consumer", "benchmark")), "hundred segments": Way(finished=100)}


def measure(material: Material, way: Way, rows: int, idle_seconds: float, seed: int) -> dict[str, Any]:
    """One run of `follow` beside the floor."""
    with (
        tempfile.TemporaryDirectory() as parent,
        tempfile.TemporaryFile() as log,
        GrowingSegment(Path(parent), material, way.finished) as growing,
        Watched([*FLOOR, growing.folder, material.log_name], log) as floor,
        Watched([*FOLLOW, growing.folder, "--output", "json", *way.options], log) as follow,
    ):
        floor.await_lines(1)  # "ready"
        # These start everything and warm it up; they are not counted.
        for number in range(1, WARM_UP_ROWS + 1):
            growing.write_row()
            growing.publish()
            follow.await_lines(number)
            floor.await_lines(number + 1)
        written = _write_rows(growing, rows, random.Random(seed))
        delays = {
            "follow": percentiles(_delays(written, follow, WARM_UP_ROWS)),
            "floor": percentiles(_delays(written, floor, WARM_UP_ROWS + 1)),
        }
        idle = _idle([follow, floor], idle_seconds)
    ratios = {f"{name}_to_floor": round(delays["follow"][name] / delays["floor"][name], 2) for name in ("p50", "p99")}
    return {**{f"{name}_ms": found for name, found in delays.items()}, **ratios, "idle_percent": idle}


def _delays(written: Sequence[float], process: Watched, before: int) -> list[float]:
    """Of each row: from its promise to its line, which is that many lines behind the first `before`."""
    process.await_lines(before + len(written))
    return [read - promised for promised, read in zip(written, process.read_at[before:], strict=True)]


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
    begun = Begun(NAME, QUESTION, TARGETS, repeat)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in WAYS}
    for number in range(repeat):
        for name, way in WAYS.items():
            runs[name].append(measure(material, way, rows, idle_seconds, seed=number))
    summary = {name: medians(found) for name, found in runs.items()}
    met = {
        name: {
            "p50": found["follow_ms"]["p50"] <= TARGETS["p50_ms"],
            "p99": found["follow_ms"]["p99"] <= TARGETS["p99_ms"],
            "idle": found["idle_percent"]["follow"] < TARGETS["idle_percent"],
        }
        for name, found in summary.items()
    }
    told = {"rows": rows, "gap_ms": [gap * 1000 for gap in GAP_SECONDS], "idle_seconds": idle_seconds}
    return begun.result(**told, medians=summary, met=met, runs=runs)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = script_parser(NAME, QUESTION)
    parser.add_argument("--rows", type=int, default=400, help="rows of each run (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each way (default: %(default)s)")
    parser.add_argument("--idle", type=float, default=20.0, help="idle seconds of each run (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    publish(run(chosen.rows, chosen.repeat, chosen.idle), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
