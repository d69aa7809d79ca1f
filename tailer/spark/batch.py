"""The batch reader: the rows between two offsets that are durable now. Holds what is read, does not wait."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from tailer.definitions.met import TablesMet
from tailer.errors import HeldBackError
from tailer.options.log_place import LogPlace
from tailer.options.tail import TailOptions
from tailer.options.to_spark import SourceOptions
from tailer.planning.batch_tasks import FileTask
from tailer.planning.untold import ReadPart, untold
from tailer.position import Position, Span
from tailer.schema.selection import Selection
from tailer.schema.typed import TypedTable
from tailer.spark.carry import PIECE_BYTES_MAX, carried
from tailer.spark.errors import told
from tailer.spark.executor import JobPacker
from tailer.spark.form import check_form, typed_form
from tailer.spark.named import check_tables
from tailer.spark.planner import say
from tailer.spark.present import present
from tailer.spark.row_job import pack_rows
from tailer.spark.stream import read_partition
from tailer.tail.follow import steps
from tailer.tail.node_log import node_log
from tailer.tail.open import hold_of, tail_of, tail_parts
from tailer.tail.parts import TailParts
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
            check_tables(options)
            form = typed_form(options)
            if form is not None:
                check_form(form, self._schema, options.tail.extra_columns)
            jobs: list[bytes] = []
            for name, place in present(options):
                until = None if options.ending == "latest" else options.ending
                # Without `table`: the form is that of all nodes.
                tail = replace(
                    options.of(name, once=True), consumer=None, until=until, tables=options.tables, table=None
                )
                jobs += _plan_jobs(place, tail, form, options)
            return [InputPartition(job) for job in jobs]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        return read_partition(partition, self._schema)


def _plan_jobs(place: LogPlace, options: TailOptions, form: TypedTable | None, source: SourceOptions) -> list[bytes]:
    jobs: list[bytes] = []
    spans: list[Span] = []
    begun: Position | None = None
    node = node_log(place, options)
    there = sum(log.size for log in node.source.look().logs.values())
    packer = JobPacker()
    # Executors read when this process is done, unless the bytes go along.
    stays = not source.on_driver
    hold = hold_of(node, options, _hold_name(options.start, stays=stays), stays=stays)
    parts = tail_parts(node, options, writes=False, hold=hold)
    met = parts.definitions.tell(TablesMet())
    with tail_of(parts, form) as tail:
        piece_bytes = (there + parts.older.bytes) // source.min_partitions + 1
        piece_bytes = min(piece_bytes, PIECE_BYTES_MAX) if parts.older.any else piece_bytes
        try:
            for step in steps(tail, once=True, say=say):
                if _decides(parts, step, met):
                    _decide(tail, step)
                for planned in tail.tasks(step, piece_bytes):
                    task = planned.task
                    if parts.faults.file_of(task.span) is None:
                        continue
                    narrow = FileTask(met.narrowed(task), planned.file)
                    own = carried(task, parts, on_driver=source.on_driver)
                    jobs.append(packer.pack(narrow, place, options, own, last=True))
                    spans.append(task.span)
                begun = begun or tail.offset.position
                tail.advance(step)
        except HeldBackError as held:
            say(f"warning: {held.sentence()}")
        for sentence in tail.last_notices():
            say(sentence)
        if begun is not None and form is None and options.schema_changes:
            jobs += _told(parts, begun, tail.offset.position, spans)
    return jobs


def _told(parts: TailParts, begun: Position, end: Position, spans: Sequence[Span]) -> list[bytes]:
    """The job of what the entries of the spans do not tell of definitions; none where they tell all."""
    options, known = parts.options, sys.maxsize
    selection = Selection(options.selection.tables, parts.masks.tables)
    part = ReadPart(options.node, begun, end, spans, begun, known, selection, parts.masks, several=bool(options.peers))
    rows = untold(parts.definitions.history, part)
    return [pack_rows(rows, parts.placement.extras)] if rows else []


def _hold_name(start: str, *, stays: bool) -> str:
    """Whose hold it is. One session's reads from one place share one that is left to run out: there may be many."""
    place = blake2b(start.encode(), digest_size=8).hexdigest() if "{" in start else start.partition(":")[0]
    return re.sub(r"\W+", "-", f"{os.getppid()}-{place}" if stays else f"{os.getppid()}-{os.getpid()}-{place}")


def _decides(parts: TailParts, step: Step, met: TablesMet) -> bool:
    """Whether something of a step may be left out."""
    options = parts.options
    if options.puts_values_aside:
        return True
    # Of a native log a transaction may be lost whose commit is there.
    return options.accept_loss if parts.survey.dropped is not None else _asks(parts, step, met)


def _asks(parts: TailParts, step: Step, met: TablesMet) -> bool:
    """Whether somebody must be asked, or an entry left out, before executors read the step: they do neither."""
    may = parts.outside.asks or bool(parts.options.quarantine_tables)
    return may and (parts.outside.unsettled or any(map(met.may_be_unknown, step.tasks)))


def _decide(tail: Tail, step: Step) -> None:
    """Decode ahead: what cannot be delivered is left out of tasks that are made from then on."""
    for task in step.tasks:
        for _ in tail.read(task):
            pass
