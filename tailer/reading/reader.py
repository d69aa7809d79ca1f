"""The range reader: a span and its definitions in, change rows out. Stateless: the same task gives the same rows.

Knows no sidecar, no position to save and no sink; what cannot be delivered goes to `on_fault`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from tailer.errors import CdcError, DefinitionError
from tailer.jit.ready import expect
from tailer.limits import ENTRY_OVERHEAD, MIB
from tailer.position import Position
from tailer.reading.task import Change, DefinitionsById, ReadTask
from tailer.rows.batch import Batch
from tailer.rows.choice import build_now
from tailer.rows.explain import Misfit, explain, explain_misfit, explain_value
from tailer.rows.generic.build import ValueFault
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared, prepare
from tailer.rows.schema_row import schema_batch
from tailer.scan.forms import scan_now
from tailer.scan.index import Index, Status
from tailer.schema.builtin import system_tables
from tailer.schema.record_definitions import is_native
from tailer.schema.selection import Selection
from tailer.schema.typed import TypedTable
from tailer.segments.group import Group, OnFault, entry_bytes, read_groups
from tailer.segments.segment import SegmentFile
from tailer.segments.segments import NoSegments, Segments

if TYPE_CHECKING:
    from tailer.rows.typed.batch import TypedBatch

CHUNK_ENTRIES: Final = 4096
CHUNK_BYTES: Final = MIB
"""Entries of one scan and build, and their bytes: bounds the rows that are in memory at once."""

TYPED_CHUNK_ENTRIES: Final = 32768
TYPED_CHUNK_BYTES: Final = 4 * MIB
"""The same for rows that are made by the column: the cost of a batch is paid for more of them at once."""

AnyBatch: TypeAlias = "Batch | TypedBatch"
"""Rows in the generic form or in a typed one."""

NO_SEGMENTS: Final = NoSegments()


class Reader:
    """Reads tasks; keeps prepared definitions from one task to the next.

    `skipped`: entries passed over, by the id of their first table. `left_out`: values that a typed form has no column
    for, by column name. `unknown`: transactions left out that began before anything that is known.
    """

    def __init__(self) -> None:
        self.unknown = 0
        self.skipped: dict[str, int] = {}
        self.left_out: dict[str, int] = {}
        self._definitions: DefinitionsById | None = None
        self._selection: Selection | None = None
        self._prepared: Prepared | None = None
        self._records: tuple[DefinitionsById, tuple[Change, ...], DefinitionsById] | None = None

    def read(
        self, task: ReadTask, file: SegmentFile, on_fault: OnFault, segments: Segments = NO_SEGMENTS
    ) -> Iterator[AnyBatch]:
        """The task's rows, in log order, in batches of bounded size.

        `segments`: the other ones of the folder, where a transaction of a native log may have begun.
        """
        header = file.header()
        unsigned = header is not None and header.version >= 8
        expect(task.span.end - task.span.start)
        if header is not None and header.native:
            yield from self._read_records(task, file, segments, on_fault)
            return
        for group in read_groups(file, task.span, on_fault, task.skips):
            yield from self._read_group(task, group, unsigned, on_fault)

    def take_unknown(self) -> int:
        """How many transactions were `unknown` since the last call."""
        unknown, self.unknown = self.unknown, 0
        return unknown

    def _read_records(
        self, task: ReadTask, file: SegmentFile, segments: Segments, on_fault: OnFault
    ) -> Iterator[AnyBatch]:
        from tailer.reading.record_span import RecordSpan

        try:
            prepared = self._prepare(self._record_definitions(task), task.selection, task.complete)
        except DefinitionError as error:
            raise _placed(error, Position(task.span.segment, task.span.lower)) from None
        span = RecordSpan(task, file, prepared, segments, on_fault, _chunk_limits(task), self.left_out)
        yield from span.read()
        self.unknown += span.unknown

    def _record_definitions(self, task: ReadTask) -> DefinitionsById:
        """All that the task has: a change names its own, wherever that stood. The same object for the same task's."""
        given = task.definitions, task.changes
        if self._records is None or self._records[0] is not given[0] or self._records[1] != given[1]:
            known = {key: held for key, held in task.definitions.items() if is_native(key)}
            for change in task.changes:
                known.update(change.definitions)
            self._records = *given, known
        return self._records[2]

    def _read_group(self, task: ReadTask, group: Group, unsigned: bool, on_fault: OnFault) -> Iterator[AnyBatch]:
        definitions = task.definitions
        first = 0
        for change in task.changes:
            edge = bisect_left(group.offsets, change.end)
            yield from self._read_entries(task, group, first, edge, definitions, unsigned, on_fault)
            if task.schema_changes and first < edge and _entry_end(group, edge - 1) == change.end:
                place = Place(task.node, task.span.segment, [int(group.offsets[edge - 1])])
                yield schema_batch(change.definitions, definitions, task.selection, place)
            first = edge
            definitions = {**definitions, **change.definitions}
        yield from self._read_entries(task, group, first, len(group.starts), definitions, unsigned, on_fault)

    def _read_entries(
        self,
        task: ReadTask,
        group: Group,
        first: int,
        end: int,
        definitions: DefinitionsById,
        unsigned: bool,
        on_fault: OnFault,
    ) -> Iterator[AnyBatch]:
        if first >= end:
            return
        try:
            prepared = self._prepare(definitions, task.selection, task.complete)
        except DefinitionError as error:
            raise _placed(error, Position(task.span.segment, int(group.offsets[first]))) from None
        most, most_bytes = _chunk_limits(task)
        begin = first
        while begin < end:
            stop = min(bisect_left(group.starts, group.starts[begin] + most_bytes, begin, end), begin + most)
            chunk = Group(group.data, group.starts[begin:stop], group.sizes[begin:stop], group.offsets[begin:stop])
            yield from self._read_chunk(task, chunk, prepared, unsigned, on_fault)
            begin = stop

    def _read_chunk(
        self, task: ReadTask, chunk: Group, prepared: Prepared, unsigned: bool, on_fault: OnFault
    ) -> Iterator[AnyBatch]:
        place = Place(task.node, task.span.segment, chunk.offsets)
        first = 0
        while first < len(chunk.starts):
            index, batch, faults, misfit = self._decode(task.typed, chunk, prepared, first, unsigned, place)
            for table_id, count in index.skipped.items():
                self.skipped[table_id.hex()] = self.skipped.get(table_id.hex(), 0) + count
            for fault in faults:
                before = bisect_left(batch.column("offset"), int(chunk.offsets[fault.entry]))
                if before:
                    yield batch.slice(0, before)
                batch = batch.slice(before)
                _report(chunk, fault.entry, explain_value(fault, place), place, on_fault)
            if len(batch):
                yield batch
            if misfit is not None and task.typed is not None:
                raise explain_misfit(misfit, task.typed.table, place)
            stopped = index.stopped
            if stopped.status != Status.OK:
                _report(chunk, stopped.entry, explain(index, chunk.data, prepared, place), place, on_fault)
            first = stopped.entry + 1

    def _decode(
        self, typed: TypedTable | None, chunk: Group, prepared: Prepared, first: int, unsigned: bool, place: Place
    ) -> tuple[Index, AnyBatch, list[ValueFault], Misfit | None]:
        """What the entries from number `first` on give, up to the first that does not decode."""
        what = chunk.data, chunk.starts, chunk.sizes
        if typed is None:
            index = scan_now()(*what, prepared.scan_tables, first, unsigned)
            batch, faults = build_now(len(index.rows))(index, chunk.data, prepared, place)
            return index, batch, faults, None
        from tailer.rows.typed.choice import read_typed

        index, made = read_typed(*what, prepared, first, unsigned, place, typed)
        for name, count in made.ignored.items():
            self.left_out[name] = self.left_out.get(name, 0) + count
        return index, made.batch, made.faults, made.misfit

    def _prepare(self, definitions: DefinitionsById, selection: Selection, complete: bool) -> Prepared:
        if self._prepared is None or definitions is not self._definitions or selection != self._selection:
            self._prepared = prepare(
                definitions,
                selection.ids(definitions),
                unread=system_tables().keys() - definitions.keys(),
                skip_unknown=complete or bool(selection.tables),
                previous=self._prepared,
            )
            self._definitions, self._selection = definitions, selection
        return self._prepared


def unknown_notice(count: int) -> str:
    """What is said of transactions that are not delivered because nothing tells what they hold."""
    return (
        f"{count} transactions began before the oldest segment that there was at the start: they belong to the history "
        "that is not known, and were not delivered"
    )


def _chunk_limits(task: ReadTask) -> tuple[int, int]:
    """Entries and bytes of a chunk."""
    return (CHUNK_ENTRIES, CHUNK_BYTES) if task.typed is None else (TYPED_CHUNK_ENTRIES, TYPED_CHUNK_BYTES)


def _entry_end(group: Group, number: int) -> int:
    return int(group.offsets[number] + group.sizes[number]) + ENTRY_OVERHEAD


def _placed(error: DefinitionError, at: Position) -> DefinitionError:
    """A definition that cannot be used, told with the first entry that would be read by it."""
    if error.at is not None:
        return error
    return DefinitionError(error.what, at=at, expected=error.expected, found=error.found, remedy=error.remedy)


def _report(chunk: Group, entry: int, error: CdcError, place: Place, on_fault: OnFault) -> None:
    at: Position = place.of(entry)
    on_fault(at, error, entry_bytes(chunk, entry))
