"""Is a native log read as fast as a server's?

The perf segment's rows twice: as Cassandra wrote them, and as the `change` records of a native log (`native_logs.py`),
in the same sections. The range reader over each as one span, everything warm, in one core: into typed Arrow, generic
Arrow, and JSON lines on a pipe that a process on another core drains. Rows are counted, not bytes: a native entry of
the same row is longer.

    python -m tests.benchmarks.native PERF_ARCHIVE --keep
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.decoding import FORM_NAMES, FORMS, Decoding, copy_of, drained_pipe, takes, warm_up, works
from tests.benchmarks.measured import figure, interleaved, pin, rate, ratio, rounded, summed
from tests.benchmarks.native_logs import native_copy
from tests.benchmarks.script import Begun, perf_parser, published

NAME = "native"
QUESTION = "Is a native log read as fast as a server's?"
MEASURED = (
    "seconds of Reader.read over one span with the task given, the file opened anew: pread, markers, CRCs, scan, "
    "build, to_arrow or json_lines and the write into the pipe; the same rows in both logs"
)
TARGETS = {"typed_to_cassandra": 1.0}
CASSANDRA = "cassandra"
NATIVE = "native"


def run(perf: Path, table: str, repeat: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat, perf)
    pin(0)
    compiled = warm_up()
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        plain = copy_of(perf, parent)
        folders = {CASSANDRA: plain, NATIVE: native_copy(works(plain, None)[-1], parent / NATIVE)}
        with drained_pipe() as pipe:
            cases = {
                f"{log} {form}": Decoding(works(path, table if form == "typed" else None)[-1], takes(form, pipe))
                for log, path in folders.items()
                for form in FORMS
            }
            interleaved(cases, 1)
            found = interleaved(cases, repeat)
    rows = {log: cases[f"{log} typed"].rows for log in folders}
    if len(set(rows.values())) != 1:
        raise RuntimeError(f"not the same rows: {rows}")
    return begun.result(
        measured=MEASURED,
        rows=rows[NATIVE],
        bytes={log: cases[f"{log} typed"].work.size for log in folders},
        compiled=compiled,
        seconds=summed(found),
        figures=figures(found, rows[NATIVE]),
        runs=rounded(found),
    )


def figures(found: dict[str, list[float]], rows: int) -> list[dict[str, Any]]:
    """The lines of the table."""
    made = []
    for form, name in FORM_NAMES.items():
        least = TARGETS["typed_to_cassandra"] if form == "typed" else None
        faster = ratio(found, f"{CASSANDRA} {form}", f"{NATIVE} {form}")
        made.append(figure(f"native log: {name}", "rows/s", rate(found, f"{NATIVE} {form}", rows)))
        made.append(figure(f"native log: {name}", "× Cassandra's segment, a row", faster, at_least=least))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    return published(perf_parser(NAME, QUESTION, 15), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
