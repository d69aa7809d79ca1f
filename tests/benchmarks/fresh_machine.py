"""How much CPU does a machine spend that has never run this until compiled code gives it the first row?

Copies of the package in empty folders, without anything that was kept: with object code beside it, as a wheel has it
(made by `scripts/object_code.py`, or given); without it, as a clone or `pip install git+…`; and that one once more,
when its code is kept. Each reads the perf segment in the typed form in a process that waits for compiled code
(CDC_TAIL_JIT=1): CPU of the process and of the compiler that it starts, imports included, until there is a row.

    python -m tests.benchmarks.fresh_machine PERF_ARCHIVE --keep                  # about 5 minutes
"""

from __future__ import annotations

import compileall
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.measured import ROOT, figure, schema_in, summed, unpacked
from tests.benchmarks.script import Begun, perf_parser, publish
from tests.house.source_tree import PACKAGES

NAME = "fresh_machine"
QUESTION = "How much CPU does a machine spend that has never run this until compiled code gives it the first row?"
TARGETS = {"wheel_cpu_seconds": 10.0}
WAYS = ("wheel", "clone", "clone, kept")
_OF_CODE = ("CDC_TAIL", "NUMBA_", "PYTHON", "XDG_CACHE_HOME")

Run = dict[str, Any]


def run(perf: Path, table: str, rounds: int, code: Path | None) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, rounds, perf)
    runs: dict[str, list[Run]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        log = unpacked(perf, parent / "perf")
        carried = code or make_code(parent / "object_code")
        for number in range(rounds):
            wheel, clone = parent / f"wheel-{number}", parent / f"clone-{number}"
            install(wheel, carried)
            install(clone, None)
            for way in WAYS:
                runs[way].append(_first_row(wheel if way == "wheel" else clone, log, table))
    return begun.result(figures=_figures(runs), runs=runs)


def _figures(runs: dict[str, list[Run]]) -> list[dict[str, Any]]:
    cpu = summed({way: [each["cpu"] for each in found] for way, found in runs.items()})
    bound = {"wheel": TARGETS["wheel_cpu_seconds"]}
    return [figure(f"{way}: CPU to the first row", "s", cpu[way], at_most=bound.get(way)) for way in WAYS]


def make_code(folder: Path) -> Path:
    """The object code of a wheel."""
    subprocess.run([sys.executable, "scripts/object_code.py", folder], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return folder


def install(place: Path, carried: Path | None) -> None:
    """The packages as they come; a wheel's are compiled to bytecode by whoever installs it."""
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "object_code")
        shutil.copytree(ROOT / package, place / package, ignore=ignored)
    if carried is not None:
        shutil.copytree(carried, place / "tailer" / "jit" / "object_code")
        compileall.compile_dir(place, quiet=2)


def environment_of(place: Path) -> dict[str, str]:
    """In which the package is the one at `place`, keeps nothing elsewhere, and waits for compiled code."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(_OF_CODE)}
    return {**clean, "CDC_TAIL_JIT": "1", "XDG_CACHE_HOME": str(place / "cache"), "PYTHONPATH": f"{place}:{ROOT}"}


def _first_row(place: Path, log: Path, table: str) -> Run:
    words = [sys.executable, "-m", f"tests.benchmarks.{NAME}", "--one", str(log), table]
    done = subprocess.run(words, cwd=place, env=environment_of(place), stdout=subprocess.PIPE, check=True)
    found: Run = json.loads(done.stdout)
    return found


def one(log: Path, table: str) -> None:
    """The first row, in this process: its figures as JSON."""
    begun = time.perf_counter()
    from tailer.jit.ready import take_notices, twin_now
    from tailer.options.tail import TailOptions
    from tests.benchmarks.start import first_rows
    from tests.helpers.tails import open_tail

    options = TailOptions(schema_file=schema_in(log), start="earliest", table=table, stopped=True)
    with open_tail(log, options, writes=False) as tail:
        first_rows(tail)
    wall = time.perf_counter() - begun
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    assert twin_now("tailer.scan.mutation.compiled.scan") is not None, take_notices()
    found = {
        "cpu": round(sum(used.ru_utime + used.ru_stime for used in (own, children)), 3),
        "compiler_cpu": round(children.ru_utime + children.ru_stime, 3),
        "wall": round(wall, 3),
        "numba_imported": "numba" in sys.modules,
    }
    sys.stdout.write(json.dumps(found) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["--one"]:
        one(Path(words[1]), words[2])
        return 0
    parser = perf_parser(NAME, QUESTION, 2)
    parser.add_argument("--code", type=Path, help="a folder that scripts/object_code.py has made (default: make one)")
    chosen = parser.parse_args(words)
    publish(run(chosen.perf, chosen.table, chosen.repeat, chosen.code), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
