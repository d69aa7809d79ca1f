"""How fast does one core read what a server wrote of rows that are no plain inserts?

Segments of one shape each, as a real server wrote them (an archive or folder each, with the segment, its sidecar and
`schema.cql`): list appends, map puts, set removes, counters, range deletes, decimals, or one list append in ten rows.
The range reader as in `decode.py`, typed and generic, warm and on one core, in processor time; in the same rounds
`zlib.crc32` over the same bytes. Where a segment has inserts and others, the inserts alone are read as well, in a
segment that is made of their genuine entries.

    python -m tests.benchmarks.genuine SHAPES/*.tar.xz --keep

With `--check` nothing is measured: every segment is read with the plain twins too, in a process without compiled code,
and all rows have to be the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pyarrow as pa

from tailer.reading.reader import Reader
from tailer.rows.choice import AnyBatch
from tests.benchmarks.decoding import (
    FORM_NAMES,
    Decoding,
    Work,
    copy_of,
    decode,
    payloads_of,
    rewritten,
    to_arrow,
    warm_up,
    works,
)
from tests.benchmarks.measured import ROOT, Case, figure, interleaved, pin, rate, ratio, rounded, summed, timed
from tests.benchmarks.script import Begun, publish, script_parser

NAME = "genuine"
QUESTION = "How fast does one core read what a server wrote of rows that are no plain inserts?"
MEASURED = "processor seconds of Reader.read over one span with the task given, the file opened anew, and to_arrow"
FORMS = ("typed", "arrow")
TARGETS = {
    "typed": {"typed_rows_per_second": 1_000_000},
    "arrow": {"generic_rows_per_second": 800_000},
    "decimal": {"typed_rows_per_second": 2_000_000},
    "to_inserts_alone": 1.5,
}
ALONE = "inserts alone"

ID = slice(1, 17)
"""Where the table's id stands in a mutation of one table."""


class Segment(NamedTuple):
    """A folder of one shape, the table that its rows are of, its id, and the operation of each row."""

    folder: Path
    table: str
    id: bytes
    ops: list[str]

    def work(self, form: str) -> Work:
        return works(self.folder, self.table if form == "typed" else None)[-1]


def run(paths: Sequence[Path], rounds: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, rounds)
    pin(0)
    compiled = warm_up()
    with tempfile.TemporaryDirectory() as name:
        segments = _segments(paths, Path(name))
        read: dict[str, Decoding] = {}
        cases: dict[str, Case] = {}
        for shape, segment in segments.items():
            read |= {f"{shape} {form}": Decoding(segment.work(form), to_arrow, time.process_time) for form in FORMS}
            cases |= {**read, f"{shape} crc32": _crc32(segment.work("arrow"))}
        interleaved(cases, 1)
        found = interleaved(cases, rounds)
    rows = {name: case.rows for name, case in read.items()}
    return begun.result(
        measured=MEASURED,
        archives=[path.name for path in paths],
        compiled=compiled,
        rows=rows,
        bytes={name: case.work.size for name, case in read.items()},
        seconds=summed(found),
        figures=list(figures(found, rows, list(segments))),
        runs=rounded(found),
    )


def figures(
    found: Mapping[str, Sequence[float]], rows: Mapping[str, int], shapes: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The lines of the table."""
    for shape in shapes:
        for form in FORMS:
            what, case = f"{shape}: {FORM_NAMES[form]}", f"{shape} {form}"
            yield figure(what, "rows/s", rate(found, case, rows[case]), at_least=_target(shape, form))
            yield figure(f"{what}, time", "× `crc32`", ratio(found, case, f"{shape} crc32"))
            if f"{shape}, {ALONE}" in shapes:
                yield _beside(found, rows, shape, form)


def _target(shape: str, form: str) -> float | None:
    if shape.endswith(ALONE):
        return None
    held = TARGETS["decimal" if (shape, form) == ("decimal", "typed") else form]
    assert isinstance(held, dict)
    return next(iter(held.values()))


def _beside(found: Mapping[str, Sequence[float]], rows: Mapping[str, int], shape: str, form: str) -> dict[str, Any]:
    """Time per row, by that of the inserts alone."""
    cases = f"{shape} {form}", f"{shape}, {ALONE} {form}"
    per_row = {case: [seconds / rows[case] for seconds in found[case]] for case in cases}
    value = ratio(per_row, *cases)
    return figure(f"{shape}: {FORM_NAMES[form]}, a row", f"× {ALONE}", value, at_most=TARGETS["to_inserts_alone"])


def _segments(paths: Sequence[Path], parent: Path) -> dict[str, Segment]:
    """By name; behind one with inserts and others that of its inserts alone."""
    made: dict[str, Segment] = {}
    for path in paths:
        shape = path.name.removesuffix(".tar.xz")
        held = made[shape] = _segment(copy_of(path, parent / shape))
        if 0 < held.ops.count("insert") < len(held.ops):
            made[f"{shape}, {ALONE}"] = _segment(_inserts(held, parent / shape / "alone"))
    return made


def _segment(folder: Path) -> Segment:
    rows = _rows(works(folder, None)[-1])
    (keyspace,), (table,), (number,) = (rows[name].unique().to_pylist() for name in ("keyspace", "table", "table_id"))
    return Segment(folder, f"{keyspace}.{table}", UUID(number).bytes, rows["op"].to_pylist())


def _inserts(held: Segment, path: Path) -> Path:
    """The table's entries, of which each is one row, without those that are no inserts."""
    ops = iter(held.ops)
    of_table = ([each for each in section if each[ID] == held.id] for section in payloads_of(held.work("arrow")))
    inserts = ([each for each in section if next(ops) == "insert"] for section in of_table)
    return rewritten(held.folder, path, inserts, "plain")


def _crc32(work: Work) -> Case:
    data = work.log.read_bytes()[work.task.span.start : work.task.span.end]
    return timed(lambda: zlib.crc32(data), time.process_time)


def check(paths: Sequence[Path]) -> dict[str, bool]:
    """By segment and form, whether the rows are those of the plain twins."""
    if not warm_up():
        raise SystemExit("there is no compiled code to be held to the plain twins")
    same: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as name:
        for shape, segment in _segments(paths, Path(name)).items():
            for form in FORMS:
                plain = Path(name) / "plain.arrow"
                command = [
                    sys.executable,
                    "-m",
                    f"tests.benchmarks.{NAME}",
                    str(segment.folder),
                    "--rows-to",
                    str(plain),
                ]
                command += ["--table", segment.table] if form == "typed" else []
                subprocess.run(command, cwd=ROOT, env={**os.environ, "CDC_TAIL_JIT": "0"}, check=True)
                with pa.memory_map(str(plain)) as file:
                    want = pa.ipc.open_file(file).read_all()
                same[f"{shape} {form}"] = len(want) > 0 and _rows(segment.work(form)).equals(want)
    return same


def _rows(work: Work) -> pa.Table:
    batches: list[pa.RecordBatch] = []

    def take(batch: AnyBatch) -> None:
        batches.append(batch.to_arrow())

    decode(work, Reader(), take)
    return pa.Table.from_batches(batches)


def _write_rows(folder: Path, table: str | None, to: Path) -> None:
    rows = _rows(works(folder, table)[-1])
    with pa.OSFile(str(to), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = script_parser(NAME, QUESTION, 9)
    parser.add_argument("shapes", type=Path, nargs="+", help="archives (.tar.xz) or folders of one segment each")
    parser.add_argument("--check", action="store_true", help="hold all rows to those of the plain twins instead")
    parser.add_argument("--rows-to", type=Path, help="write the rows of one segment to that file instead")
    parser.add_argument("--table", help="with --rows-to: in the typed form of that table")
    chosen = parser.parse_args(arguments)
    if chosen.rows_to is not None:
        _write_rows(chosen.shapes[0], chosen.table, chosen.rows_to)
    elif chosen.check:
        same = check(chosen.shapes)
        sys.stdout.write("".join(f"{name}: {'same' if is_same else 'DIFFERENT'}\n" for name, is_same in same.items()))
        return 0 if all(same.values()) else 1
    else:
        publish(run(chosen.shapes, chosen.repeat), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
