"""What do data files cost beside plain output? `follow --to files:` beside `follow --output json > FILE`.

A process for each run over one full 32 MiB segment (an archive or an unpacked folder, with `schema.cql`; see
README.md), compiled code on the disk. All write to the same disk; data files are compressed and synced, the plain one
is neither: what `zstd` alone takes for the same lines stands beside them. Rows/s count the whole process, start-up
included; peak memory is what the kernel tells of it when it ends.

    python -m tests.benchmarks.outlets_files PERF_ARCHIVE --repeat 5 --keep
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tailer.sinks.files.forms import LEVEL
from tests.benchmarks.measured import FOLLOW, compile_ahead, figure, high, low, medians, schema_in, unpacked
from tests.benchmarks.script import Begun, perf_parser, published
from tests.benchmarks.throughput import measure

NAME = "outlets_files"
QUESTION = "How many rows/s go into data files, beside follow --output json > FILE, and with what memory?"
WAYS = {
    "json": "--output json > FILE",
    "rows": "--to files:, rows under zstd",
    "arrow": "--to files: --format arrow",
    "debezium": "--to files: --format debezium",
}
Round = dict[str, dict[str, float]]


def one_round(folder: Path, options: Sequence[str | Path]) -> Round:
    """Every way, one after another."""
    return {way: one_way(folder, options, way) for way in WAYS}


def one_way(folder: Path, options: Sequence[str | Path], way: str) -> dict[str, float]:
    """A process: what `measure` tells of it, rows, and MiB on the disk."""
    with tempfile.TemporaryDirectory() as name:
        out, plain = Path(name) / "out", Path(name) / "plain"
        if way == "json":
            found = _into(plain, _follow(folder, Path(name), [*options, "--output", "json"]))
            lines = subprocess.check_output(["wc", "-l", plain])
            counted = {"rows": float(lines.split()[0]), "mib_out": plain.stat().st_size / 2**20}
        else:
            to = ["--consumer", "c", "--to", f"files:{out}", "--format", way]
            found = measure(_follow(folder, Path(name), [*options, *to]), pipe=False)
            indexes = [json.loads(path.read_text()) for path in out.glob("*/*.idx.json")]
            counted = {
                "rows": float(sum(index["rows"] for index in indexes)),
                "mib_out": sum(index["bytes"] for index in indexes) / 2**20,
            }
    rates = {
        "rows_per_second": round(counted["rows"] / found["seconds"]),
        "rows_per_cpu_second": round(counted["rows"] / found["cpu_seconds"]),
    }
    return {**found, **counted, **rates}


def zstd_alone(folder: Path, options: Sequence[str | Path]) -> dict[str, float]:
    """The seconds of processor that `zstd` takes for the same lines, at the level of data files."""
    if shutil.which("zstd") is None:
        return {}
    with tempfile.TemporaryDirectory() as name:
        plain = Path(name) / "plain"
        _into(plain, _follow(folder, Path(name), [*options, "--output", "json"]))
        return measure(["zstd", f"-{LEVEL}", "--single-thread", "-qc", plain], pipe=False)


def _follow(folder: Path, parent: Path, words: Sequence[str | Path]) -> list[str | Path]:
    return [*FOLLOW, folder, "--once", "--state", parent / "state", *words]


def _into(file: Path, command: Sequence[str | Path]) -> dict[str, float]:
    """As a user types it: the shell opens the file, and becomes the command."""
    return measure(["sh", "-c", 'file=$1; shift; exec "$@" > "$file"', "sh", file, *command], pipe=False)


def run(perf: Path, table: str, repeat: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, {}, repeat, perf)
    compile_ahead()
    with tempfile.TemporaryDirectory() as parent:
        folder = unpacked(perf, Path(parent))
        schema = schema_in(folder)
        options: list[str | Path] = ["--schema", schema] if schema is not None else []
        rounds = [one_round(folder, options) for _ in range(repeat)]
        alone = zstd_alone(folder, options)
    return begun.result(medians=medians(rounds), zstd_alone=alone, figures=figures(rounds), runs=rounds)


def figures(rounds: Sequence[Mapping[str, Mapping[str, float]]]) -> list[dict[str, Any]]:
    """The lines of the table."""
    made = []
    for way, what in WAYS.items():
        rates = high([each[way]["rows_per_second"] for each in rounds])
        made.append(figure(f"{what}: whole process", "rows/s", rates))
        made.append(figure(f"{what}: peak memory", "MiB", low([each[way]["peak_mib"] for each in rounds])))
        if way != "json":
            times = low([each[way]["seconds"] / each["json"]["seconds"] for each in rounds])
            made.append(figure(f"{what}: time beside {WAYS['json']}", "×", times))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    return published(perf_parser(NAME, QUESTION, 5), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
