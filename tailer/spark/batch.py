"""The batch reader: the rows between two offsets that are durable now. Writes nothing, does not wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from tailer.between import FileTask
from tailer.errors import HeldBackError
from tailer.follow import steps
from tailer.options import TailOptions
from tailer.read import ReadTask
from tailer.spark.errors import told
from tailer.spark.executor import JobPacker
from tailer.spark.options import SourceOptions
from tailer.spark.planner import say
from tailer.spark.stream import read_partition
from tailer.tail import Step, Tail

if TYPE_CHECKING:
    import pyarrow


class CdcTailReader(DataSourceReader):
    """Plans in the process that Spark starts for it, reads on executors."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        with told():
            jobs: list[bytes] = []
            for name, folder in self._options.folders:
                until = None if self._options.ending == "latest" else self._options.ending
                tail = self._options.of(name, once=True)
                jobs += _plan_jobs(folder, replace(tail, consumer=None, until=until))
            return [InputPartition(job) for job in jobs]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        return read_partition(partition)


def _plan_jobs(folder: Path, options: TailOptions) -> list[bytes]:
    jobs: list[bytes] = []
    packer = JobPacker()
    with Tail(folder, options, writes=False) as tail:
        try:
            for step in steps(tail, once=True, say=say):
                tasks = _decided(tail, step) if options.quarantine else step.tasks
                for task in tasks:
                    planned = FileTask(task, tail.survey.file(task.span.segment).path.name)
                    jobs.append(packer.pack(planned, folder, options.keystore))
                tail.advance(step)
        except HeldBackError as held:
            say(f"warning: {held.sentence()}")
        if tail.quarantine.count:
            say(f"warning: {tail.quarantine.count} entries cannot be decoded and are left out")
    return jobs


def _decided(tail: Tail, step: Step) -> list[ReadTask]:
    """Decode ahead, and make the tasks anew with what was learnt, and without what cannot be delivered."""
    made = []
    for task in step.tasks:
        for _ in tail.read(task):
            pass
        skips = tuple((at.offset, size) for at, size in tail.skipped if at.segment == task.span.segment)
        fresh = tail.definitions.task(task.node, task.span, schema_changes=task.schema_changes)
        made.append(replace(fresh, skips=skips))
    return made
