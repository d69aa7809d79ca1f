"""What does a follower cost after years?

The CPU of a start, of a look that finds nothing, of one row (read, written as JSON, position saved) and of waiting, the
most memory until then, and the bytes of the state folder, each with so much and with ten times or more of it: segments
read and deleted, finished segments that are still there, tables, changes of definitions, gaps between ids.

    python -m tests.benchmarks.growth --keep                       # some minutes
    python -m tests.benchmarks.growth --case "past segments" --part 10

Targets: what is past costs at most 1.3 times as much when there is ten times as much of it, what is there 12 times; a
row 2 ms, idle 2 % of a core, and a start 200 MiB, however much there is. The state may grow by 40 bytes for each gap
that is remembered.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from tailer.state.log_folder import state_folder
from tests.benchmarks.growth_cases import CASES
from tests.benchmarks.measured import ROOT
from tests.benchmarks.script import Begun, publish, script_parser
from tests.benchmarks.single_rows import GrowingSegment, Material, load_material

NAME = "growth"
QUESTION = "What does a follower cost after years?"
TARGETS = {"past": 1.3, "present": 12.0, "row_ms": 2.0, "idle_percent": 2.0, "start_mib": 200.0, "gap_bytes": 40.0}


class Sizes(NamedTuple):
    """How many of something, and many; `target`: how much more many may cost."""

    few: int
    many: int
    target: str


SIZES = {
    "past segments": Sizes(10_000, 300_000, "past"),
    "present segments": Sizes(1000, 10_000, "present"),
    "tables": Sizes(500, 5000, "present"),
    "definition changes": Sizes(10_000, 100_000, "past"),
    "gaps": Sizes(10_000, 100_000, "past"),
}


def measure(case: str, material: Material, size: int, times: int, idle_seconds: float) -> dict[str, float]:
    """Milliseconds of CPU (medians of looks and rows), MiB, bytes."""
    with tempfile.TemporaryDirectory() as name, CASES[case](Path(name), material, size) as growing:
        command = [sys.executable, "-m", "tests.benchmarks.growth_follower", str(growing.folder), str(idle_seconds)]
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as follower:
            assert follower.stdin is not None
            assert follower.stdout is not None
            start = _told(follower.stdout)
            rows = [_row(growing, follower.stdin, follower.stdout) for _ in range(times)]
            looks = [_asked("look", follower.stdin, follower.stdout) for _ in range(times)]
            idle = _asked("idle", follower.stdin, follower.stdout)
            follower.stdin.close()
        if follower.returncode:
            raise RuntimeError(f"the follower ended with {follower.returncode}")
        files = [file for file in state_folder(growing.folder).rglob("*") if file.is_file()]
        return {
            "start_ms": round(start["cpu"] * 1e3, 2),
            "start_mib": round(start["mib"], 1),
            "row_ms": round(statistics.median(rows) * 1e3, 3),
            "look_ms": round(statistics.median(looks) * 1e3, 3),
            "idle_percent": round(idle / idle_seconds * 100, 2),
            "state_bytes": sum(file.stat().st_size for file in files),
        }


def _row(growing: GrowingSegment, ask: IO[bytes], answer: IO[bytes]) -> float:
    growing.write_row()
    growing.publish()
    return _asked("row", ask, answer)


def _asked(what: str, ask: IO[bytes], answer: IO[bytes]) -> float:
    ask.write(f"{what}\n".encode())
    ask.flush()
    return float(_told(answer)["cpu"])


def _told(answer: IO[bytes]) -> dict[str, float]:
    line: dict[str, float] = json.loads(answer.readline())
    return line


def run(cases: Sequence[str], times: int, part: int, idle_seconds: float) -> dict[str, Any]:
    material, begun = load_material(), Begun(NAME, QUESTION, TARGETS, times)
    runs: dict[str, Any] = {}
    figures: list[dict[str, Any]] = []
    for case in cases:
        sizes = SIZES[case]
        few, many = (measure(case, material, size // part, times, idle_seconds) for size in (sizes.few, sizes.many))
        runs[case] = {"sizes": [sizes.few // part, sizes.many // part], "few": few, "many": many}
        figures += [_figure(case, what, few[what], many[what], part) for what in few]
    return begun.result(figures=figures, runs=runs)


def _figure(case: str, what: str, few: float, many: float, part: int) -> dict[str, Any]:
    """What more of something costs. Gaps are remembered, so the state grows with them, by so much for each."""
    sizes = SIZES[case]
    ratio = round(many / max(few, 0.001), 2)
    told = {"what": f"{case}: {what}", "few": few, "many": many, "ratio": ratio}
    if case == "gaps" and what == "state_bytes":
        each = round((many - few) / (sizes.many // part - sizes.few // part), 1)
        return {**told, "each": each, "met": each <= TARGETS["gap_bytes"]}
    return {**told, "met": ratio <= TARGETS[sizes.target] and many <= TARGETS.get(what, math.inf)}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = script_parser(NAME, QUESTION)
    parser.add_argument("--case", choices=list(CASES), action="append", help="only this one; may be given again")
    parser.add_argument("--times", type=int, default=30, help="rows and looks (default: %(default)s)")
    parser.add_argument("--part", type=int, default=1, help="sizes divided by this (default: %(default)s)")
    parser.add_argument("--idle", type=float, default=10.0, help="seconds of waiting (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    publish(run(chosen.case or list(CASES), chosen.times, chosen.part, chosen.idle), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
