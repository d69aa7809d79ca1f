"""The range reader: a span and its definitions in, change rows out. Stateless: the same task gives the same rows.

Knows no sidecar, no position to save and no sink; what cannot be delivered goes to `on_fault`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tailer.change.batch import ChangeBatch
from tailer.change.build import build
from tailer.change.compile import Compiled, compile_definitions
from tailer.change.explain import explain, explain_value
from tailer.change.place import Place
from tailer.change.schema_row import schema_batch
from tailer.errors import CdcError, DefinitionError
from tailer.format.index import Status
from tailer.format.scan import scan
from tailer.limits import ENTRY_OVERHEAD
from tailer.position import Position, Span
from tailer.schema.builtin import system_tables
from tailer.schema.model import TableDefinition
from tailer.selection import Selection
from tailer.source.group import Group, OnFault, entry_bytes, read_groups
from tailer.source.segment import SegmentFile

CHUNK_ENTRIES: Final = 2048
"""Entries of one scan and build: bounds the rows that are in memory at once."""

Definitions = Mapping[str, TableDefinition]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of definitions inside a span, made by the entry that ends at `end` (logical): later ones see it."""

    end: int
    definitions: Definitions


@dataclass(frozen=True, slots=True)
class ReadTask:
    """All that decides the rows of a span. `definitions` as of its start, by table id; `changes` those inside it.

    `complete`: definitions are known to be complete, so an unknown table cannot be a wanted one. `skips`: what a
    consumer decided to leave out, as (logical offset, bytes): an entry, the rest of a section, or a whole one.
    """

    node: str
    span: Span
    definitions: Definitions
    changes: tuple[Change, ...]
    selection: Selection
    complete: bool = False
    schema_changes: bool = False
    skips: tuple[tuple[int, int], ...] = ()


class Reader:
    """Reads tasks; keeps compiled definitions from one task to the next."""

    def __init__(self) -> None:
        self.skipped: dict[str, int] = {}
        self._definitions: Definitions | None = None
        self._selection: Selection | None = None
        self._compiled: Compiled | None = None

    def read(self, task: ReadTask, file: SegmentFile, on_fault: OnFault) -> Iterator[ChangeBatch]:
        """The task's rows, in log order, in batches of bounded size."""
        header = file.header()
        unsigned = header is not None and header.version >= 8
        for group in read_groups(file, task.span, on_fault, task.skips):
            yield from self._read_group(task, group, unsigned, on_fault)

    def _read_group(self, task: ReadTask, group: Group, unsigned: bool, on_fault: OnFault) -> Iterator[ChangeBatch]:
        definitions = task.definitions
        first = 0
        for change in task.changes:
            edge = bisect_left(group.offsets, change.end)
            yield from self._read_entries(task, group, first, edge, definitions, unsigned, on_fault)
            if task.schema_changes and first < edge and _entry_end(group, edge - 1) == change.end:
                place = Place(task.node, task.span.segment, [group.offsets[edge - 1]])
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
        definitions: Definitions,
        unsigned: bool,
        on_fault: OnFault,
    ) -> Iterator[ChangeBatch]:
        if first >= end:
            return
        try:
            compiled = self._compile(definitions, task.selection, task.complete)
        except DefinitionError as error:
            raise _placed(error, Position(task.span.segment, group.offsets[first])) from None
        for begin in range(first, end, CHUNK_ENTRIES):
            stop = min(begin + CHUNK_ENTRIES, end)
            chunk = Group(group.data, group.starts[begin:stop], group.sizes[begin:stop], group.offsets[begin:stop])
            yield from self._read_chunk(task, chunk, compiled, unsigned, on_fault)

    def _read_chunk(
        self, task: ReadTask, chunk: Group, compiled: Compiled, unsigned: bool, on_fault: OnFault
    ) -> Iterator[ChangeBatch]:
        place = Place(task.node, task.span.segment, chunk.offsets)
        first = 0
        while first < len(chunk.starts):
            index = scan(chunk.data, chunk.starts, chunk.sizes, compiled.scan_tables, first, unsigned)
            for table_id, count in index.skipped.items():
                self.skipped[table_id.hex()] = self.skipped.get(table_id.hex(), 0) + count
            built = build(index, chunk.data, compiled, place)
            batch = built.batch
            for fault in built.faults:
                before = bisect_left(batch.column("offset"), chunk.offsets[fault.entry])
                if before:
                    yield batch.slice(0, before)
                batch = batch.slice(before)
                _report(chunk, fault.entry, explain_value(fault, place), place, on_fault)
            if len(batch):
                yield batch
            stopped = index.stopped
            if stopped.status != Status.OK:
                _report(chunk, stopped.entry, explain(index, chunk.data, compiled, place), place, on_fault)
            first = stopped.entry + 1

    def _compile(self, definitions: Definitions, selection: Selection, complete: bool) -> Compiled:
        if self._compiled is None or definitions is not self._definitions or selection != self._selection:
            self._compiled = compile_definitions(
                definitions,
                selection.ids(definitions),
                unread=system_tables().keys() - definitions.keys(),
                skip_unknown=complete or bool(selection.tables),
                previous=self._compiled,
            )
            self._definitions, self._selection = definitions, selection
        return self._compiled


def _entry_end(group: Group, number: int) -> int:
    return group.offsets[number] + group.sizes[number] + ENTRY_OVERHEAD


def _placed(error: DefinitionError, at: Position) -> DefinitionError:
    """A definition that cannot be used, told with the first entry that would be read by it."""
    if error.at is not None:
        return error
    return DefinitionError(error.what, at=at, expected=error.expected, found=error.found, remedy=error.remedy)


def _report(chunk: Group, entry: int, error: CdcError, place: Place, on_fault: OnFault) -> None:
    at: Position = place.of(entry)
    on_fault(at, error, entry_bytes(chunk, entry))
