"""How fast does one core make rows of a full segment, beside Cassandra's own reader and beside the floor?

The range reader over one 32 MiB segment as one span, everything warm: into typed Arrow, generic Arrow, and JSON lines
on a pipe that a process on another core drains; the same of an LZ4 copy (the genuine entries and sections, compressed
as the server does it). Then `tailer.open(...).read()`, which also plans, checks and learns definitions first. Beside
them in the same rounds: Cassandra's own `CommitLogReader` with a handler that only counts, in a warm server over the
same files (`tests/server`; left out, and said, where there is none), and `zlib.crc32` over the segment's bytes.

    python -m tests.benchmarks.decode PERF_ARCHIVE --keep
"""

from __future__ import annotations

import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import tailer
from tailer.sinks.json_lines import JsonLinesSink
from tests.benchmarks.decoding import (
    FORM_NAMES,
    FORMS,
    Decoding,
    Form,
    copy_of,
    drained_pipe,
    payloads_of,
    rewritten,
    takes,
    warm_up,
    works,
)
from tests.benchmarks.measured import (
    Case,
    define,
    figure,
    interleaved,
    pin,
    rate,
    ratio,
    rounded,
    schema_in,
    summed,
    timed,
)
from tests.benchmarks.script import Begun, perf_parser, publish
from tests.helpers.jvm.program import running
from tests.server.harness import Node, available

NAME = "decode"
QUESTION = "How fast does one core make rows of a full segment, beside Cassandra's own reader and beside the floor?"
MEASURED = (
    "seconds of Reader.read over one span with the task given, the file opened anew: pread, markers, CRCs, "
    "decompression, scan, build, to_arrow or json_lines and the write into the pipe; whole: tailer.open and read"
)
TARGETS = {
    "typed_to_cassandra": 8.0,
    "typed_to_crc32": 7.0,
    "generic_rows_per_second": 800_000,
    "json_rows_per_second": 400_000,
    "lz4_to_plain": 1.3,
}
SERVER_WARM_UP = 8


class Folders(NamedTuple):
    """The segment as it was recorded, and compressed."""

    plain: Path
    lz4: Path


def run(perf: Path, table: str, rounds: int, server: bool) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, rounds, perf)
    with ExitStack() as stack:
        parent = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plain = copy_of(perf, parent)
        folders = Folders(plain, rewritten(plain, parent / "lz4", payloads_of(works(plain, None)[-1])))
        missing = "not asked for" if not server else available()
        # Before this process is pinned: the server's collector and compiler may have the other cores.
        theirs = {} if missing else stack.enter_context(_cassandra(folders, parent))
        pin(0)
        compiled = warm_up()
        ours = _ours(folders, table, stack.enter_context(drained_pipe()))
        cases: dict[str, Case] = {**ours, **_whole(plain, table), **theirs, "crc32": _crc32(plain)}
        interleaved(cases, 1)
        found = interleaved(cases, rounds)
    if missing:
        sys.stderr.write(f"Cassandra's own reader is left out: {missing}\n")
    first = ours["typed"]
    return begun.result(
        measured=MEASURED,
        rows=first.rows,
        bytes=first.work.size,
        compiled=compiled,
        cassandra_left_out=missing,
        seconds=summed(found),
        figures=figures(found, first.rows, first.work.size),
        runs=rounded(found),
    )


def _ours(folders: Folders, table: str, pipe: JsonLinesSink) -> dict[str, Decoding]:
    """The range reader, by form; `lz4 ` in front for the compressed copy."""
    made = {}
    for prefix, folder in (("", folders.plain), ("lz4 ", folders.lz4)):
        for form in FORMS:
            work = works(folder, table if form == "typed" else None)[-1]
            made[prefix + form] = Decoding(work, takes(form, pipe))
    return made


def _whole(folder: Path, table: str) -> dict[str, Case]:
    """`tailer.open(...).read()` with all it does."""

    def case(form: Form) -> Case:
        schema, typed = schema_in(folder), table if form == "typed" else None

        def read() -> None:
            for _ in tailer.open(folder, stopped=True, schema_file=schema, table=typed).read():
                pass

        return timed(read)

    return {f"whole {form}": case(form) for form in FORMS if form != "json"}


def _crc32(folder: Path) -> Case:
    data = next(folder.glob("CommitLog-*.log")).read_bytes()
    return timed(lambda: zlib.crc32(data))


@contextmanager
def _cassandra(folders: Folders, parent: Path) -> Iterator[dict[str, Case]]:
    """Its reader over both segments, in a server that knows the table and is warm."""
    with running(Node(parent / "server", heap="2g")) as node:
        with node.session() as session:
            define(session, folders.plain)
        cases = {}
        for name, folder in (("cassandra", folders.plain), ("lz4 cassandra", folders.lz4)):
            log = next(folder.glob("CommitLog-*.log"))
            if not all(count for count, _ in node.time(log, SERVER_WARM_UP)):
                raise RuntimeError(f"the server's reader sees nothing in {log.name}")
            cases[name] = _theirs(node, log)
        yield cases


def _theirs(node: Node, log: Path) -> Case:
    return lambda: node.time(log, 1)[0][1]


def figures(found: dict[str, list[float]], rows: int, size: int) -> list[dict[str, Any]]:
    """The lines of the table."""
    generic, lines = TARGETS["generic_rows_per_second"], TARGETS["json_rows_per_second"]
    made = [
        figure("typed Arrow", "rows/s", rate(found, "typed", rows)),
        figure("generic Arrow", "rows/s", rate(found, "arrow", rows), at_least=generic),
        figure("JSON lines on a pipe", "rows/s", rate(found, "json", rows), at_least=lines),
        figure("typed Arrow", "MB/s", rate(found, "typed", size / 1e6)),
        figure("typed Arrow, time", "× `crc32`", ratio(found, "typed", "crc32"), at_most=TARGETS["typed_to_crc32"]),
        figure("`tailer.open`, typed Arrow", "rows/s", rate(found, "whole typed", rows)),
        figure("`tailer.open`, generic Arrow", "rows/s", rate(found, "whole arrow", rows)),
        *_compressed(found),
    ]
    if "cassandra" in found:
        faster = ratio(found, "cassandra", "typed")
        lz4 = ratio(found, "lz4 cassandra", "lz4 typed")
        made += [
            figure("Cassandra's own reader, counting only", "rows/s", rate(found, "cassandra", rows)),
            figure("typed Arrow", "× Cassandra's reader", faster, at_least=TARGETS["typed_to_cassandra"]),
            figure("typed Arrow, LZ4", "× Cassandra's reader", lz4),
        ]
    return made


def _compressed(found: dict[str, list[float]]) -> list[dict[str, Any]]:
    most = TARGETS["lz4_to_plain"]
    return [
        figure(f"{name}, LZ4: time", "× plain", ratio(found, f"lz4 {form}", form), at_most=most)
        for form, name in FORM_NAMES.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = perf_parser(NAME, QUESTION, 15)
    parser.add_argument("--no-server", action="store_true", help="leave out Cassandra's own reader")
    chosen = parser.parse_args(arguments)
    publish(run(chosen.perf, chosen.table, chosen.repeat, not chosen.no_server), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
