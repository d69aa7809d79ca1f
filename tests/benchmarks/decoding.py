"""One segment as one span, decoded again and again in one process: what the benchmarks of the range reader measure.

Planned once by a tail that writes nothing; then `Reader` reads the same task, with a fresh file and so without anything
kept of the bytes: pread, markers, decompression, both CRCs, scan, build, and the rows taken in one of three forms.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn, get_args

from tailer.errors import CdcError
from tailer.framing.entry import scan_entries
from tailer.framing.section import NoSection
from tailer.jit.ready import WORTH_BYTES, expect, twin_now
from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.reading.reader import Reader
from tailer.reading.task import ReadTask
from tailer.rows.choice import AnyBatch
from tailer.segments.segment import SegmentFile
from tailer.sinks.json_lines import JsonLinesSink
from tests.benchmarks.measured import CORES, Case, compile_ahead, schema_in, unpacked
from tests.helpers.logs import codecs
from tests.helpers.logs.folder import LogFolder, completed
from tests.helpers.logs.frame import SegmentWriter
from tests.helpers.tails import open_tail

Form = Literal["typed", "arrow", "json"]
FORMS: tuple[Form, ...] = get_args(Form)
FORM_NAMES = {"typed": "typed Arrow", "arrow": "generic Arrow", "json": "JSON lines"}

Take = Callable[[AnyBatch], object]

_DRAIN = "import os\nheld = [bytearray(1 << 16)]\nwhile os.readv(0, held): pass"
"""The least that a reader of a pipe does."""


class Work(NamedTuple):
    """A span and all that decides its rows, and the file it lies in."""

    log: Path
    task: ReadTask

    @property
    def size(self) -> int:
        """Plain bytes of the span."""
        return self.task.span.end - self.task.span.start


def works(folder: Path, table: str | None, budget: int = 1 << 40) -> list[Work]:
    """The folder's spans in log order: a segment each, or cut where they reach `budget`. `table`: in its typed form.

    `schema.cql` in the folder gives definitions, if it is there.
    """
    options = TailOptions(schema_file=schema_in(folder), table=table, stopped=True)
    found: list[Work] = []
    with open_tail(folder, options, writes=False) as tail:
        while (step := tail.step(budget)).tasks:
            found += [Work(folder / tail.log_name(task.span.segment), task) for task in step.tasks]
            tail.advance(step)
    return found


def decode(work: Work, reader: Reader, take: Take) -> int:
    """Read the span once and take its rows; how many."""
    rows = 0
    with SegmentFile(work.log, work.task.span.segment) as file:
        for batch in reader.read(work.task, file, _stop):
            take(batch)
            rows += len(batch)
    return rows


class Decoding:
    """One work in one form, to be timed again and again; what is compiled of definitions is kept in between."""

    def __init__(self, work: Work, take: Take, clock: Case = time.perf_counter) -> None:
        self.work = work
        self.rows = 0
        self._take = take
        self._clock = clock
        self._reader = Reader()

    def __call__(self) -> float:
        """Seconds of one more time, by that clock."""
        started = self._clock()
        self.rows = decode(self.work, self._reader, self._take)
        return self._clock() - started


def to_arrow(batch: AnyBatch) -> object:
    return batch.to_arrow()


def takes(form: Form, pipe: JsonLinesSink) -> Take:
    """What becomes of the rows of a form."""
    return pipe.write if form == "json" else to_arrow


@contextmanager
def drained_pipe() -> Iterator[JsonLinesSink]:
    """A sink of JSON lines whose pipe is read by a process on another core than the first."""
    drain = subprocess.Popen([sys.executable, "-c", _DRAIN], stdin=subprocess.PIPE)
    os.sched_setaffinity(drain.pid, set(CORES[1:] or CORES))
    assert drain.stdin is not None
    try:
        yield JsonLinesSink(drain.stdin)
    finally:
        drain.stdin.close()
        drain.wait()


def warm_up() -> bool:
    """Compile if need be, and load what is compiled; whether it runs (not with CDC_TAIL_JIT=0)."""
    compile_ahead()
    expect(WORTH_BYTES)
    return twin_now("tailer.scan.mutation.compiled.scan") is not None


def copy_of(perf: Path, parent: Path) -> Path:
    """The recorded folder (or the archive of one) as a folder of our own, read once so that its pages are cached."""
    return Path(shutil.copytree(unpacked(perf, parent / "archive"), parent / "plain"))


def payloads_of(work: Work) -> Iterator[list[bytes]]:
    """The entries' payloads, section by section."""
    span = work.task.span
    with SegmentFile(work.log, span.segment) as file:
        for section in file.sections(span.start, span.at):
            if isinstance(section, NoSection) or section.start >= span.end:
                return
            data = file.plain(section)
            entries = scan_entries(data)
            places = zip(entries.starts, entries.sizes, strict=True)
            yield [data[start : start + size] for start, size in places]


def rewritten(perf: Path, path: Path, sections: Iterable[list[bytes]], codec: str = "lz4") -> Path:
    """A folder like the recorded one, whose last segment has these sections instead."""
    segment = works(perf, None)[-1].task.span.segment
    writer = SegmentWriter(segment, form=codecs.FORMATS[codec])
    for payloads in sections:
        writer.section(payloads)
    shutil.copytree(perf, path, ignore=shutil.ignore_patterns(f"CommitLog-*-{segment}*"))
    LogFolder(path).put(writer, completed(writer))
    return path


def _stop(at: Position, error: CdcError, data: bytes) -> NoReturn:
    raise error
