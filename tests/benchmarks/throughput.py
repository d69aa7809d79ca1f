"""How many rows a second does the plain reader make of a full segment, with how much memory; how soon is the first row?

`cdc-tail follow DIR --once --output json` on one full 32 MiB segment (an archive or an unpacked folder, with
`schema.cql`; see README.md), a process for each run: into /dev/null, and into a pipe that is read as fast as it goes.
Rows/s count the whole process, start-up included; peak memory is the process's resident set as the kernel reports it
when it ends (wait4). Then the time from process start to the first row, on the demo's recording of 2 MiB.

    python -m tests.benchmarks.throughput PERF_ARCHIVE --repeat 3 --keep
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tailer.demo.recording import load_recording
from tailer.demo.replay import write_recording
from tests.benchmarks.measured import ROOT, facts, medians, publish

NAME = "throughput"
QUESTION = "How many rows/s does follow --once make of a full segment, with what peak memory; when does a row come?"
TARGETS = {"peak_mib": 300.0}

FOLLOW = [sys.executable, "-c", "from tailer.cli.app import run; run()", "follow"]


def read_whole(folder: Path, options: Sequence[str | Path], *, pipe: bool) -> dict[str, float]:
    """One run over a folder: seconds, seconds to the first row (pipe only), CPU seconds, peak memory, bytes out."""
    with tempfile.TemporaryDirectory() as state, tempfile.TemporaryFile() as log:
        command = [*FOLLOW, folder, "--once", "--output", "json", "--state", Path(state) / "state", *options]
        started = time.perf_counter()
        process = subprocess.Popen(
            list(map(str, command)),
            stdout=subprocess.PIPE if pipe else subprocess.DEVNULL,
            stderr=log,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        piped = _drain(process, started) if pipe else {}
        # wait4 and not Popen.wait: it gives this one child's own peak.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            log.seek(0)
            raise RuntimeError(log.read().decode())
    found = {"seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_mib": usage.ru_maxrss / 1024}
    return {name: round(value, 3) for name, value in {**found, **piped}.items()}


def _drain(process: subprocess.Popen[bytes], started: float) -> dict[str, float]:
    assert process.stdout is not None
    first, rows, size = 0.0, 0, 0
    with process.stdout:
        while data := os.read(process.stdout.fileno(), 1 << 20):
            first = first or time.perf_counter() - started
            rows += data.count(b"\n")
            size += len(data)
    return {"first_row_seconds": first, "rows": rows, "mib_out": size / 2**20}


def start_up() -> dict[str, float]:
    """Process start to first row, and to the end, on the demo's recording."""
    with tempfile.TemporaryDirectory() as parent:
        for _ in write_recording(load_recording(), Path(parent)):
            pass
        return read_whole(Path(parent) / "cdc_raw", [], pipe=True)


def one_round(folder: Path, options: Sequence[str | Path]) -> dict[str, dict[str, float]]:
    """Both ways out, and a start; one after another, so that each meets the same machine."""
    pipe = read_whole(folder, options, pipe=True)
    null = read_whole(folder, options, pipe=False)
    for found in (pipe, null):
        found["rows_per_second"] = round(pipe["rows"] / found["seconds"])
        found["rows_per_cpu_second"] = round(pipe["rows"] / found["cpu_seconds"])
    return {"pipe": pipe, "null": null, "start_up": start_up()}


def run(perf: Path, repeat: int) -> dict[str, Any]:
    before = facts()
    with tempfile.TemporaryDirectory() as parent:
        folder = perf if perf.is_dir() else _unpack(perf, Path(parent))
        schema = folder / "schema.cql"
        options: list[str | Path] = ["--schema", schema] if schema.exists() else []
        rounds = [one_round(folder, options) for _ in range(repeat)]
    summary = medians(rounds)
    return {
        "name": NAME,
        "question": QUESTION,
        **before,
        "load_after": [round(load, 2) for load in os.getloadavg()],
        "read": perf.name,
        "repeat": repeat,
        "targets": TARGETS,
        "medians": summary,
        "met": {way: summary[way]["peak_mib"] < TARGETS["peak_mib"] for way in ("pipe", "null")},
        "runs": rounds,
    }


def _unpack(archive: Path, into: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(into, filter="data")
    return next(into.rglob("CommitLog-*.log")).parent


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.throughput", description=QUESTION)
    parser.add_argument("perf", type=Path, help="archive (.tar.xz) or folder with the segment, its sidecar, schema.cql")
    parser.add_argument("--repeat", type=int, default=3, help="rounds (default: %(default)s)")
    parser.add_argument("--keep", action="store_true", help="store the result in tests/benchmarks/results/")
    chosen = parser.parse_args(arguments)
    publish(run(chosen.perf, chosen.repeat), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
