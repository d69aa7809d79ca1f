"""Does any shape of log cost much more a byte than plain rows do?

Segments of one shape each, written by the tests' log writer (`shape_logs.py`, `shape_changes.py`), decoded by the range
reader as in `decode.py`: time per plain byte, by that of the perf segment in the same rounds. And batch sync, which
makes a section of each commit: the perf segment's own entries, one a section, plain and LZ4.

    python -m tests.benchmarks.shapes PERF_ARCHIVE --keep
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tailer.framing.section import MARKER_BYTES
from tailer.limits import ENTRY_OVERHEAD
from tailer.sinks.json_lines import JsonLinesSink
from tests.benchmarks.decoding import (
    FORM_NAMES,
    FORMS,
    Decoding,
    copy_of,
    drained_pipe,
    payloads_of,
    rewritten,
    takes,
    warm_up,
    works,
)
from tests.benchmarks.measured import figure, interleaved, pin, ratio, rounded, summed
from tests.benchmarks.script import Begun, perf_parser, publish
from tests.benchmarks.shape_changes import changes
from tests.benchmarks.shape_logs import shapes, write

NAME = "shapes"
QUESTION = "Does any shape of log cost much more a byte than plain rows do?"
TARGETS = {"to_perf": 3.0}
PERF = "perf"
SECTION_OVERHEAD = MARKER_BYTES + ENTRY_OVERHEAD


class Folder(NamedTuple):
    """A log folder of one shape. `table`: that of the typed form, if there is one."""

    path: Path
    table: str | None


def run(perf: Path, table: str, rounds: int, size: int, distinct: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, rounds, perf)
    pin(0)
    compiled = warm_up()
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        plain = copy_of(perf, parent)
        folders = {PERF: Folder(plain, table)}
        for shape, made in (shapes(distinct) | changes(distinct)).items():
            folders[shape] = Folder(write(made, parent / shape, size), made.typed)
        for codec in ("plain", "lz4"):
            folders[f"batch sync, {codec}"] = Folder(_batch_sync(plain, parent / f"batch-{codec}", size, codec), table)
        with drained_pipe() as pipe:
            cases = dict(_cases(folders, pipe))
            interleaved(cases, 1)
            found = interleaved(cases, rounds)
    per_byte = {name: [seconds / cases[name].work.size for seconds in values] for name, values in found.items()}
    return begun.result(
        compiled=compiled,
        shapes={name: {"bytes": case.work.size, "rows": case.rows} for name, case in cases.items()},
        seconds=summed(found),
        figures=figures(per_byte, folders),
        runs=rounded(found),
    )


def figures(per_byte: Mapping[str, Sequence[float]], folders: Mapping[str, Folder]) -> list[dict[str, Any]]:
    """The lines of the table."""
    most = TARGETS["to_perf"]
    return [
        figure(f"{name}: {FORM_NAMES[form]}", "× perf, a byte", value, at_most=most)
        for name, folder in folders.items()
        for form in FORMS
        if name != PERF and (form != "typed" or folder.table is not None)
        for value in [ratio(per_byte, f"{name} {form}", f"{PERF} {form}")]
    ]


def _cases(folders: Mapping[str, Folder], pipe: JsonLinesSink) -> Iterator[tuple[str, Decoding]]:
    for name, folder in folders.items():
        for form in FORMS:
            if form != "typed" or folder.table is not None:
                work = works(folder.path, folder.table if form == "typed" else None)[-1]
                yield f"{name} {form}", Decoding(work, takes(form, pipe))


def _batch_sync(perf: Path, path: Path, size: int, codec: str) -> Path:
    """The perf segment's first entries, each in a section of its own."""
    entries = itertools.chain.from_iterable(payloads_of(works(perf, None)[-1]))
    return rewritten(perf, path, ([payload] for payload in _first(entries, size)), codec)


def _first(payloads: Iterable[bytes], size: int) -> Iterator[bytes]:
    for payload in payloads:
        yield payload
        size -= len(payload) + SECTION_OVERHEAD
        if size <= 0:
            return


def main(arguments: Sequence[str] | None = None) -> int:
    parser = perf_parser(NAME, QUESTION, 9)
    parser.add_argument("--mib", type=float, default=8.0, help="plain MiB of each shape (default: %(default)s)")
    parser.add_argument("--distinct", type=int, default=5000, help="different mutations of it (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    size = int(chosen.mib * (1 << 20))
    publish(run(chosen.perf, chosen.table, chosen.repeat, size, chosen.distinct), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
