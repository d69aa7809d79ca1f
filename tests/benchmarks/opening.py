"""What does a reader of a whole log pay besides reading it, and a consumer that starts again with nothing new?

The perf segment, warm and on one core, CPU of the reading thread. `tailer.open(...).read()` to its end, divided by the
range reader alone over the same span: where nothing is known of the log, so that the typed form must search all of it
for definitions first, and where a consumer has read it before. And the start of that consumer, with one segment and
with eight: nothing is new, so no section is read.

    python -m tests.benchmarks.opening PERF_ARCHIVE --keep
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import tailer
from tests.benchmarks.copied_log import copies
from tests.benchmarks.decoding import Decoding, to_arrow, warm_up, works
from tests.benchmarks.measured import Case, figure, interleaved, pin, ratio, schema_in, summed, timed, unpacked
from tests.benchmarks.script import Begun, perf_parser, published

NAME: Final = "opening"
QUESTION: Final = "What does opening a log cost besides reading it, and a start with nothing new?"
TARGETS: Final = {"open_to_reader": 1.15, "longest_to_shortest": 1.5}
COPIES: Final = (1, 8)
FORMS: Final = ("typed", "generic")
CONSUMER: Final = "benchmark"


def cases(plain: Path, parent: Path, table: str) -> dict[str, Case]:
    """By name, each in folders of its own: a state lies beside a folder."""
    made: dict[str, Case] = {}
    for form in FORMS:
        typed = table if form == "typed" else None
        options = {"schema_file": schema_in(plain), "stopped": True, "table": typed}
        unknown, known = (parent / form / name / "cdc_raw" for name in ("unknown", "known"))
        for folder in (unknown, known):
            copies(plain, folder, 1)
        _consume(known, options)
        made[f"{form}: reader"] = _reader(plain, typed)
        made[f"{form}: opened, nothing known"] = timed(lambda f=unknown, o=options: _read(f, o), time.thread_time)
        made[f"{form}: opened, read before"] = timed(lambda f=known, o=options: _read(f, o), time.thread_time)
        for count in COPIES:
            folder = parent / form / str(count) / "cdc_raw"
            copies(plain, folder, count)
            _consume(folder, options)
            made[f"{form}: start, {count} segments"] = timed(
                lambda f=folder, o=options: _consume(f, o), time.thread_time
            )
    return made


def _reader(plain: Path, table: str | None) -> Case:
    decodings = [Decoding(work, to_arrow) for work in works(plain, table)]
    return timed(lambda: [each() for each in decodings], time.thread_time)


def _read(folder: Path, options: dict[str, Any]) -> int:
    return sum(batch.num_rows for batch in tailer.open(folder, **options).read())


def _consume(folder: Path, options: dict[str, Any]) -> int:
    log = tailer.open(folder, consumer=CONSUMER, **options)
    return sum(batch.num_rows for batch in log.follow(once=True))


def run(perf: Path, table: str, repeat: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat, perf)
    compiled = warm_up()
    pin(0)
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        made = cases(unpacked(perf, parent / "perf"), parent, table)
        for case in made.values():
            case()
        found = interleaved(made, repeat)
    return begun.result(
        compiled=compiled,
        figures=[*_figures(found)],
        seconds=summed(found),
        runs=found,
    )


def _figures(found: dict[str, list[float]]) -> list[dict[str, Any]]:
    made = []
    few, many = (f"start, {count} segments" for count in COPIES)
    for form in FORMS:
        for known in ("nothing known", "read before"):
            value = ratio(found, f"{form}: opened, {known}", f"{form}: reader")
            made.append(figure(f"{form}: opened, {known}", "× reader", value, at_most=TARGETS["open_to_reader"]))
        value = ratio(found, f"{form}: {many}", f"{form}: {few}")
        made.append(figure(f"{form}: {many}", f"× {few}", value, at_most=TARGETS["longest_to_shortest"]))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    return published(perf_parser(NAME, QUESTION, 9), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
