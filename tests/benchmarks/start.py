"""How much memory does a start take beside a long log?

The perf segment 1, 8 and 24 times (32, 256 and 768 MiB). A follower starts at `latest`, for which it learns what
definitions the whole log holds; and one in the typed form at `earliest`, up to its first rows: each in a
process of its own, the most memory it had and its CPU.

    python -m tests.benchmarks.start PERF_ARCHIVE --keep
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tailer.options.tail import TailOptions
from tailer.tail.tail import Tail
from tests.benchmarks.copied_log import copies
from tests.benchmarks.measured import ROOT, compile_ahead, figure, peak_mib, schema_in, unpacked
from tests.benchmarks.script import Begun, perf_parser, published
from tests.helpers.tails import open_tail

NAME = "start"
QUESTION = "How much memory does a start take beside a long log?"
TARGETS = {"mib": 200.0, "longest_to_shortest": 1.3}
COPIES = (1, 8, 24)
STARTS = ("latest", "typed")


def run(perf: Path, table: str, repeat: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat, perf)
    compile_ahead()
    runs: dict[str, dict[str, list[dict[str, float]]]] = {}
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        plain = unpacked(perf, parent / "perf")
        for count in COPIES:
            folder = parent / str(count) / "cdc_raw"
            mib = copies(plain, folder, count) >> 20
            for start in STARTS:
                found = [_started(folder, plain / "schema.cql", start, table) for _ in range(repeat)]
                runs.setdefault(start, {})[f"{count} segments, {mib} MiB"] = found
    return begun.result(figures=[*_figures(runs)], runs=runs)


def _figures(runs: dict[str, dict[str, list[dict[str, float]]]]) -> list[dict[str, Any]]:
    made = []
    for start, by_size in runs.items():
        least = {size: min(each["mib"] for each in found) for size, found in by_size.items()}
        for size, mib in least.items():
            made.append(figure(f"{start}: {size}", "MiB", {"median": mib}, at_most=TARGETS["mib"]))
        shortest, *_, longest = least.values()
        bound = TARGETS["longest_to_shortest"]
        made.append(figure(f"{start}: longest to shortest", "×", {"median": longest / shortest}, at_most=bound))
    return made


def _started(folder: Path, schema: Path, start: str, table: str) -> dict[str, float]:
    words = [sys.executable, "-m", f"tests.benchmarks.{NAME}", "--one", str(folder), str(schema), start, table]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def one(folder: Path, schema: Path, start: str, table: str) -> None:
    """One start, in this process: its figures as JSON."""
    before = time.process_time()
    place, typed = ("earliest", table) if start == "typed" else (start, None)
    options = TailOptions(schema_file=schema_in(schema), start=place, table=typed)
    with open_tail(folder, options, writes=False) as tail:
        first_rows(tail)
    spent = time.process_time() - before
    sys.stdout.write(json.dumps({"mib": round(peak_mib(), 1), "cpu": round(spent, 3)}) + "\n")


def first_rows(tail: Tail) -> None:
    """Reads until there are some."""
    while (step := tail.step(1 << 20)).tasks or step.moved:
        for task in step.tasks:
            if any(len(batch) for batch in tail.read(task)):
                return
        tail.advance(step)


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["--one"]:
        one(Path(words[1]), Path(words[2]), words[3], words[4])
        return 0
    return published(perf_parser(NAME, QUESTION, 2), run, words)


if __name__ == "__main__":
    sys.exit(main())
