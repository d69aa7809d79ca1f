"""The batch reader: the rows between two offsets that are durable now. Writes nothing, does not wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from tailer.errors import HeldBackError
from tailer.options.tail import TailOptions
from tailer.options.to_spark import SourceOptions
from tailer.planning.batch_tasks import FileTask
from tailer.planning.spans import cut
from tailer.reading.task import ReadTask
from tailer.schema.typed import TypedTable
from tailer.spark.carry import carry
from tailer.spark.errors import told
from tailer.spark.executor import JobPacker
from tailer.spark.form import check_form, typed_form
from tailer.spark.planner import say
from tailer.spark.stream import read_partition
from tailer.tail.follow import steps
from tailer.tail.step import Step
from tailer.tail.tail import Tail

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType


class CdcTailReader(DataSourceReader):
    """Plans in the process that Spark starts for it, reads on executors."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        with told():
            options = self._options
            form = typed_form(options)
            if form is not None:
                check_form(form, self._schema)
            jobs: list[bytes] = []
            for name, folder in options.present():
                until = None if options.ending == "latest" else options.ending
                # Without `table`: the form is that of all nodes.
                tail = replace(
                    options.of(name, once=True), consumer=None, until=until, tables=options.tables, table=None
                )
                jobs += _plan_jobs(folder, tail, form, options)
            return [InputPartition(job) for job in jobs]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        return read_partition(partition, self._schema)


def _plan_jobs(folder: Path, options: TailOptions, form: TypedTable | None, source: SourceOptions) -> list[bytes]:
    jobs: list[bytes] = []
    piece_bytes = sum(log.stat().st_size for log in folder.glob("*.log")) // source.min_partitions + 1
    packer = JobPacker()
    with Tail(folder, options, writes=False) as tail:
        tail.typed = form
        try:
            for step in steps(tail, once=True, say=say):
                # Of a native log a transaction may be lost whose commit is there.
                ahead = options.quarantine or (options.accept_loss and tail.survey.dropped is not None)
                tasks = _decided(tail, step) if ahead else step.tasks
                for task in _cut(tail, tasks, piece_bytes):
                    file = tail.survey.file(task.span.segment)
                    carried = carry(file, task, tail.survey) if source.on_driver else None
                    jobs.append(packer.pack(FileTask(task, file.path.name), folder, options, carried))
                tail.advance(step)
        except HeldBackError as held:
            say(f"warning: {held.sentence()}")
        if tail.quarantine.count:
            say(f"warning: {tail.quarantine.count} entries cannot be decoded and are left out")
    return jobs


def _cut(tail: Tail, tasks: Sequence[ReadTask], piece_bytes: int) -> Iterator[ReadTask]:
    """The tasks in pieces of about so many bytes."""
    for task in tasks:
        pieces = -(-task.span.bytes // piece_bytes)
        if pieces <= 1:
            yield task
            continue
        for span in cut(tail.survey.file(task.span.segment), task.span, pieces):
            made = tail.definitions.task(task.node, span, schema_changes=task.schema_changes)
            yield replace(made, skips=task.skips, typed=task.typed, walk_skips=task.walk_skips)


def _decided(tail: Tail, step: Step) -> list[ReadTask]:
    """Decode ahead, and make the tasks anew with what was learnt, and without what cannot be delivered."""
    made = []
    for task in step.tasks:
        for _ in tail.read(task):
            pass
        skips = tuple((at.offset, size) for at, size in tail.skipped if at.segment == task.span.segment)
        fresh = tail.definitions.task(task.node, task.span, schema_changes=task.schema_changes)
        walk_skips = tuple((at.segment, at.offset, size) for at, size in tail.skipped)
        made.append(replace(fresh, skips=skips, typed=task.typed, walk_skips=walk_skips))
    return made
