"""Calls the planner as Spark's engine does, with a checkpoint of its own, without a JVM: what a query would have got.

Order of calls as seen on 4.3: a logged batch that was not committed is planned again first; then `latestOffset` with
the end of the last batch; `commit` of a batch comes when the next one is made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailer.options.tail import TailOptions
from tailer.options.to_spark import parse_options
from tailer.planning.batch_tasks import BatchTasks
from tailer.rows.batch import ChangeBatch
from tailer.segments.segment import SegmentFile
from tailer.spark.executor import JobPacker, read_job
from tailer.spark.form import typed_form
from tailer.spark.offsets import decode_offset
from tailer.spark.planner import Planner
from tailer.state.folder_journal import FolderJournal
from tailer.state.log_folder import state_folder

Json = dict[str, Any]


@dataclass
class Engine:
    """One query: `offsets` is its offset log, `committed` how many of them are in its commit log."""

    folder: Path | str
    options: dict[str, str] = field(default_factory=dict)
    start: Json | None = None
    offsets: list[Json] = field(default_factory=list)
    committed: int = 0

    def available_now(self, **more: str) -> list[str]:
        """One run with Trigger.AvailableNow: all its rows, as `--output json` has them."""
        with self.running(once=True, **more) as planner:
            return [line for batch in self.batches(planner) for line in batch]

    def batches(self, planner: Planner) -> Iterator[list[str]]:
        """Batches as they are planned and read, each committed after it was taken; ends when there is nothing new."""
        if self.committed < len(self.offsets):
            yield self.read(planner, self.end(self.committed - 1), self.offsets[-1])
            self.committed = len(self.offsets)
        while self.log_next(planner):
            yield self.read(planner, self.end(self.committed - 1), self.offsets[-1])
            self.committed = len(self.offsets)

    def log_next(self, planner: Planner) -> bool:
        """Write the next batch's end to the offset log; False when there is none."""
        if self.start is None and not self.offsets:
            self.start = travelled(planner.initial())
        last = self.end(len(self.offsets) - 1)
        found = travelled(planner.latest(last, planner._options.batch_bytes))
        if json.dumps(found) == json.dumps(last):
            return False
        if self.offsets:
            planner.commit(last)
        self.offsets.append(found)
        return True

    def end(self, number: int) -> Json:
        if number >= 0:
            return self.offsets[number]
        assert self.start is not None
        return self.start

    def read(self, planner: Planner, start: Json, end: Json) -> list[str]:
        return [line for job in planner.partitions(start, end) for line in read_lines(job)]

    @contextmanager
    def running(self, *, once: bool = False, **more: str) -> Iterator[Planner]:
        """A source runner's life."""
        given = {"path": str(self.folder), "waitMillis": "0", "tickSeconds": "0", **self.options, **more}
        options = parse_options(given)
        planner = Planner(options, typed_form(options))
        if once:
            planner.prepare_available_now()
        try:
            yield planner
        finally:
            planner.close()


def travelled(offset: Json) -> Json:
    """An offset goes through JSON text each time."""
    held: Json = json.loads(json.dumps(offset))
    return held


def read_lines(job: bytes) -> list[str]:
    """A partition's rows as an executor gives them, as `--output json` has them."""
    if not job:
        return []
    return [line for batch in read_job(job) for line in lines_of(batch)]


def lines_of(batch: pa.RecordBatch) -> list[str]:
    rows = ChangeBatch(tuple(column.to_pylist() for column in batch.columns))
    return rows.json_lines().decode().removesuffix("\n").split("\n") if len(rows) else []


def planned_anew(folder: Path, start: Json, end: Json, consumer: str = "spark") -> list[str]:
    """The batch's rows by the offsets, the journal and the files alone."""

    def open_segment(segment: int) -> SegmentFile:
        (log,) = folder.glob(f"CommitLog-*-{segment}.log")
        return SegmentFile(log, segment)

    journal = FolderJournal(state_folder(folder), writable=False)
    first, last = (decode_offset(offset).nodes["local"] for offset in (start, end))
    between = BatchTasks("local", journal, consumer, open_segment)
    jobs = [JobPacker().pack(task, folder, TailOptions()) for task in between.tasks(first, last)]
    return [line for job in jobs for line in read_lines(job)]
