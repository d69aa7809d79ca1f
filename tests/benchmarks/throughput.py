"""How many rows a second does a fresh process make of a full segment, with how much memory; how soon is the first row?

`cdc-tail follow DIR --once` on one full 32 MiB segment (an archive or an unpacked folder, with `schema.cql`; see
README.md), a process for each run: JSON lines into /dev/null and into a pipe that is read as fast as it goes, generic
and typed Arrow into /dev/null. Rows/s count the whole process, start-up included, with compiled code on the disk; peak
memory is the process's resident set as the kernel reports it when it ends (wait4). Then the time from process start to
the first row: on the demo's recording of 2 MiB, and on a segment of ten rows, there beside a Python that imports what
such a run imported, and nothing else.

    python -m tests.benchmarks.throughput PERF_ARCHIVE --repeat 3 --keep
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailer.demo.recording import load_recording
from tailer.demo.replay import write_recording
from tests.benchmarks.measured import FOLLOW, compile_ahead, environment, figure, low, medians, schema_in, unpacked
from tests.benchmarks.script import Begun, perf_parser, published
from tests.benchmarks.single_rows import GrowingSegment, load_material

NAME = "throughput"
QUESTION = "How many rows/s does a fresh follow --once make of a full segment, with what memory; when does a row come?"
TARGETS = {"peak_mib": 300.0, "seconds": 2.5, "first_row_to_imports": 1.2}
WAYS = {
    "pipe": "JSON lines into a pipe",
    "null": "JSON lines into /dev/null",
    "arrow": "generic Arrow",
    "typed": "typed Arrow",
}
FEW_ROWS = 10

_TELLING = """import atexit, os, sys
atexit.register(lambda: open(os.environ["MODULES"], "w").write(" ".join(sys.modules)))
from tailer.cli.app import run
run()"""
_IMPORTING = """import importlib, os
for name in open(os.environ["MODULES"]).read().split():
    try:
        importlib.import_module(name)
    except ImportError:
        pass
print(flush=True)"""


def read_whole(folder: Path, options: Sequence[str | Path], *, pipe: bool) -> dict[str, float]:
    """One run over a folder; see `measure`."""
    with tempfile.TemporaryDirectory() as state:
        return measure([*FOLLOW, folder, "--once", "--state", Path(state) / "state", *options], pipe=pipe)


def measure(command: Sequence[str | Path], *, pipe: bool, modules: Path | None = None) -> dict[str, float]:
    """A process: seconds, seconds to its first line (pipe only), CPU seconds, peak memory, bytes out."""
    with tempfile.TemporaryFile() as log:
        started = time.perf_counter()
        process = subprocess.Popen(
            list(map(str, command)),
            stdout=subprocess.PIPE if pipe else subprocess.DEVNULL,
            stderr=log,
            env=environment(MODULES=str(modules)),
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
        return read_whole(Path(parent) / "cdc_raw", ["--output", "json"], pipe=True)


def first_row(folder: Path, modules: Path) -> dict[str, float]:
    """Process start to the first row of few, and beside it to the end of the same imports."""
    row = read_whole(folder, ["--output", "json"], pipe=True)["first_row_seconds"]
    imports = measure([sys.executable, "-c", _IMPORTING], pipe=True, modules=modules)["first_row_seconds"]
    return {"row_seconds": row, "imports_seconds": imports, "row_to_imports": round(row / imports, 3)}


@contextmanager
def few_rows() -> Iterator[tuple[Path, Path]]:
    """A folder whose one segment has few rows, and a file with the modules that a run over it imports."""
    with tempfile.TemporaryDirectory() as name, GrowingSegment(Path(name), load_material()) as growing:
        for _ in range(FEW_ROWS):
            growing.write_row()
        growing.publish()
        modules = Path(name) / "modules"
        state = Path(name) / "state"
        command: list[str | Path] = [sys.executable, "-c", _TELLING, "follow", growing.folder, "--once"]
        measure([*command, "--output", "json", "--state", state], pipe=True, modules=modules)
        yield growing.folder, modules


def one_round(folder: Path, options: Sequence[str | Path], table: str) -> dict[str, dict[str, float]]:
    """Every way out, and a start; one after another, so that each meets the same machine."""
    json: list[str | Path] = [*options, "--output", "json"]
    typed: list[str | Path] = ["--typed", table]
    arrow: list[str | Path] = [*options, "--output", "arrow"]
    ways = {
        "pipe": read_whole(folder, json, pipe=True),
        "null": read_whole(folder, json, pipe=False),
        "arrow": read_whole(folder, arrow, pipe=False),
        "typed": read_whole(folder, [*arrow, *typed], pipe=False),
    }
    for found in ways.values():
        found["rows_per_second"] = round(ways["pipe"]["rows"] / found["seconds"])
        found["rows_per_cpu_second"] = round(ways["pipe"]["rows"] / found["cpu_seconds"])
    return {**ways, "start_up": start_up()}


def run(perf: Path, table: str, repeat: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat, perf)
    compile_ahead()
    with tempfile.TemporaryDirectory() as parent, few_rows() as few:
        folder = unpacked(perf, Path(parent))
        schema = schema_in(folder)
        options: list[str | Path] = ["--schema", schema] if schema is not None else []
        rounds = [{**one_round(folder, options, table), "few_rows": first_row(*few)} for _ in range(repeat)]
    return begun.result(
        medians=medians(rounds),
        figures=figures(rounds),
        runs=rounds,
    )


def figures(rounds: Sequence[Mapping[str, Mapping[str, float]]]) -> list[dict[str, Any]]:
    """The lines of the table."""

    def value(way: str, name: str) -> dict[str, float]:
        return low([one[way][name] for one in rounds])

    made = []
    for way, what in WAYS.items():
        made.append(figure(f"{what}: whole process", "s", value(way, "seconds"), at_most=TARGETS["seconds"]))
        made.append(figure(f"{what}: peak memory", "MiB", value(way, "peak_mib"), at_most=TARGETS["peak_mib"]))
    first = TARGETS["first_row_to_imports"]
    made.append(figure("first of ten rows", "s", value("few_rows", "row_seconds")))
    made.append(figure("first of ten rows", "× imports alone", value("few_rows", "row_to_imports"), at_most=first))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    return published(perf_parser(NAME, QUESTION, 3), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
