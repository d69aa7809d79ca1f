"""Does code that was compiled for this very processor read faster than the code that a wheel carries?

Two copies of the package, one with the wheel's code and one that has compiled its own, each in a process that stays.
They take turns with every log, in the typed and in the generic form: CPU of the range reader, warm (`decoding.py`).

    python -m tests.benchmarks.both_codes events-32mib.tar.xz:perf.events decimal.tar.xz:perf.t_dec --keep
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.fresh_machine import environment_of, install, make_code
from tests.benchmarks.measured import Case, figure, interleaved, pin, ratio, rounded, summed, unpacked
from tests.benchmarks.script import Begun, publish, script_parser

NAME = "both_codes"
QUESTION = "Does code that was compiled for this very processor read faster than the code that a wheel carries?"
TARGETS = {"wheel_to_own": 1.05}
FORMS = ("typed", "arrow")
CODES = ("wheel", "own")


def run(given: Sequence[str], rounds: int, code: Path | None) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, rounds)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        parent = Path(name)
        carried = code or make_code(parent / "object_code")
        logs = [_unpacked(words, parent / str(number)) for number, words in enumerate(given)]
        cases: dict[str, Case] = {}
        for which in CODES:
            place = parent / which
            install(place, carried if which == "wheel" else None)
            _compile(place)
            cases |= stack.enter_context(_reading(place, which, logs))
        pin(0)
        # Side by side: one log with one code, then the same with the other.
        cases = dict(sorted(cases.items(), key=lambda case: case[0].split()[:-1]))
        interleaved(cases, 2)
        found = interleaved(cases, rounds)
    return begun.result(
        seconds=summed(found),
        figures=_figures(found),
        runs=rounded(found),
    )


def _figures(found: dict[str, list[float]]) -> list[dict[str, Any]]:
    names = sorted({name.rpartition(" ")[0] for name in found})
    bound = TARGETS["wheel_to_own"]
    return [
        figure(
            f"{name}: the wheel's code", "× its own, CPU", ratio(found, f"{name} wheel", f"{name} own"), at_most=bound
        )
        for name in names
    ]


def _unpacked(words: str, into: Path) -> str:
    log, _, table = words.rpartition(":")
    return f"{unpacked(Path(log), into)}:{table}"


def _compile(place: Path) -> None:
    words = [sys.executable, "-m", "tailer.jit.ahead"]
    subprocess.run(words, cwd=place, env=environment_of(place), check=True, stdout=subprocess.DEVNULL)


@contextmanager
def _reading(place: Path, which: str, logs: Sequence[str]) -> Iterator[dict[str, Case]]:
    """A process with the package of `place`, and what it can be asked to read."""
    words = [sys.executable, "-m", f"tests.benchmarks.{NAME}", "--one", *logs]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, cwd=place, env=environment_of(place), **pipes) as process:

        def once(name: str) -> float:
            process.stdin.write(f"{name}\n")
            process.stdin.flush()
            return float(process.stdout.readline())

        names = json.loads(process.stdout.readline())
        yield {f"{name} {which}": partial(once, name) for name in names}


def one(logs: Sequence[str]) -> None:
    """Reads what each line of input names; the CPU that it took, in a line of output."""
    from tailer.jit.ready import WORTH_BYTES, expect, twin_now
    from tests.benchmarks.decoding import Decoding, to_arrow, works

    pin(0)
    expect(WORTH_BYTES)
    assert twin_now("tailer.scan.mutation.compiled.scan") is not None
    cases = {}
    for log in logs:
        folder, _, table = log.rpartition(":")
        for form in FORMS:
            work = works(Path(folder), table if form == "typed" else None)[-1]
            cases[f"{table} {form}"] = Decoding(work, to_arrow, time.process_time)
    sys.stdout.write(json.dumps(list(cases)) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(f"{cases[line.strip()]()}\n")
        sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["--one"]:
        one(words[1:])
        return 0
    parser = script_parser(NAME, QUESTION, 15)
    told = "archive or folder with segment, sidecar and schema.cql, and the table to read in its typed form"
    parser.add_argument("logs", nargs="+", metavar="LOG:TABLE", help=told)
    parser.add_argument("--code", type=Path, help="a folder that scripts/object_code.py has made (default: make one)")
    chosen = parser.parse_args(words)
    publish(run(chosen.logs, chosen.repeat, chosen.code), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
