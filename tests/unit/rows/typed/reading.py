"""Every table of a folder in its typed form, read once: both builds over each scan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailer.definitions.history import DefinitionHistory
from tailer.errors import DefinitionError
from tailer.options.tail import TailOptions
from tailer.reading.mutations import MutationEntries
from tailer.reading.payload import Entries
from tailer.reading.reader import Reader
from tailer.reading.task import ReadTask
from tailer.rows.choice import AnyBatch, Decoded
from tailer.rows.generic.build import ValueFault
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.rows.typed.batch import TypedBatch, TypedBuilt
from tailer.rows.typed.compiled.fast import build_fast
from tailer.rows.typed.compiled.one_row import read_one_row
from tailer.rows.typed.form import Form, form_of
from tailer.rows.typed.plain import build_plain
from tailer.scan.index import Index
from tailer.scan.mutation.scan import scan
from tailer.schema.typed import TypedOptions, TypedTable, typed_table
from tailer.segments.group import Group, OnFault
from tailer.tail.follow import steps
from tailer.tail.tail import Tail
from tests.helpers.tails import tail_parts

OPTIONS = TypedOptions(decimals="string", case_sensitive=True)


class TypedReader(Reader):
    """A reader that makes the typed form of every delivered table beside the generic rows."""

    def __init__(self, history: DefinitionHistory) -> None:
        super().__init__()
        self.history = history
        self.batches: dict[str, list[TypedBatch]] = {}
        self.faults: dict[str, list[ValueFault]] = {}
        self._met: set[str] = set()

    def _read_entries(self, task: ReadTask, entries: Entries, on_fault: OnFault) -> Iterator[AnyBatch]:
        assert isinstance(entries, MutationEntries)
        yield from super()._read_entries(task, _Both(entries, task.node, self), on_fault)

    def read_chunk(self, chunk: Group, prepared: Prepared, unsigned: bool, place: Place) -> None:
        index = scan(chunk.data, chunk.starts, chunk.sizes, prepared.scan_tables, 0, unsigned)
        present = set(index.updates["table"].tolist())
        for number, table in enumerate(prepared.tables):
            # A table of which a chunk has nothing gives nothing; that is looked at once for each.
            if table.delivered and (number in present or table.definition.id not in self._met):
                self._met.add(table.definition.id)
                form = form_of(self._typed(table.definition.id))
                same_one_row(index, chunk, only(prepared, number), unsigned, place, form)

    def decode(self, chunk: Group, prepared: Prepared, first: int, unsigned: bool, place: Place) -> None:
        data = chunk.data
        index = scan(data, chunk.starts, chunk.sizes, prepared.scan_tables, first, unsigned)
        present = set(index.updates["table"].tolist())
        for number, table in enumerate(prepared.tables):
            if table.delivered and number in present:
                alone = only(prepared, number)
                form = form_of(self._typed(table.definition.id))
                plain = build_plain(index, data, alone, place, form)
                same_built(build_fast(index, data, alone, place, form), plain)
                assert plain.misfit is None
                self.batches.setdefault(table.definition.id, []).append(plain.batch)
                self.faults.setdefault(table.definition.id, []).extend(plain.faults)

    def _typed(self, table_id: str) -> TypedTable:
        """Of one table id alone, by all that is known of it."""
        changes = [event.changed[table_id] for event in self.history.events if table_id in event.changed]
        return typed_table(changes[-1], changes, OPTIONS)


class _Both(Entries):
    """Entries whose chunks are typed as well."""

    def __init__(self, entries: MutationEntries, node: str, reader: TypedReader) -> None:
        super().__init__(entries.group, entries.segment, entries.prepared)
        self.entries = entries
        self.node = node
        self.reader = reader

    def decode(self, chunk: Group, first: int) -> Decoded:
        how = self.entries.unsigned, Place(self.node, self.segment, chunk.offsets)
        if first == 0:
            self.reader.read_chunk(chunk, self.entries.prepared, *how)
        self.reader.decode(chunk, self.entries.prepared, first, *how)
        return self.entries.decode(chunk, first)

    def explain(self, decoded: Decoded, place: Place) -> DefinitionError:
        return self.entries.explain(decoded, place)


def only(prepared: Prepared, number: int) -> Prepared:
    """The same, with one delivered table."""
    tables = tuple(replace(table, delivered=at == number) for at, table in enumerate(prepared.tables))
    kept = prepared.tables[number]
    return replace(prepared, tables=tables, delivered={kept.definition.id: tables[number]})


def same_one_row(
    index: Index, chunk: Group, prepared: Prepared, unsigned: bool, place: Place, form: Form
) -> tuple[Index, TypedBuilt] | None:
    """What scan and build make together is what they make one after the other, where it is anything."""
    found = read_one_row(chunk.data, chunk.starts, chunk.sizes, prepared, 0, unsigned, place, form)
    if found is not None:
        assert found[0].stopped == index.stopped
        assert found[0].skipped == index.skipped
        same_built(found[1], build_plain(index, chunk.data, prepared, place, form))
    return found


def read_typed(folder: Path, **options: Any) -> TypedReader:
    parts = tail_parts(folder, TailOptions(stopped=True, **options), writes=False)
    reader = TypedReader(parts.definitions.history)
    with Tail(replace(parts, reader=reader)) as tail:
        for segment in parts.survey.segments():
            parts.reacher.learn(segment)
        parts.definitions.learn_collected(None)
        for step in steps(tail, once=True, say=lambda line: None):
            for task in step.tasks:
                for _ in tail.read(task):
                    pass
            tail.advance(step)
    return reader


def same_built(have: TypedBuilt, want: TypedBuilt) -> None:
    """Both builds gave the same."""
    assert have[1:] == want[1:]
    have.batch.batch.validate(full=True)
    same_batches(have.batch, want.batch)


def same_batches(have: TypedBatch, want: TypedBatch) -> None:
    """The same rows to the bit, but for the payload of not-a-number."""
    assert have.batch.schema == want.batch.schema
    for name, mine, its in zip(have.batch.schema.names, have.batch.columns, want.batch.columns, strict=True):
        if not mine.equals(its):
            assert repr(plain_values(mine)) == repr(plain_values(its)), name


def plain_values(values: pa.Array) -> list[Any]:
    """Python values; dates and timestamps as the integers that they are made of."""
    found: list[Any] = values.cast(plain_type(values.type)).to_pylist()
    return found


def plain_type(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_):
        return pa.int64()
    if pa.types.is_date32(type_):
        return pa.int32()
    if pa.types.is_map(type_):
        return pa.map_(plain_type(type_.key_type), plain_type(type_.item_type))
    if pa.types.is_list(type_):
        return pa.list_(plain_type(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([(part.name, plain_type(part.type)) for part in type_])
    return type_


def rows_of(batches: Iterable[TypedBatch]) -> list[Mapping[str, Any]]:
    """All rows as plain values by column name."""
    return rows_of_arrow(batch.batch for batch in batches)


def rows_of_arrow(batches: Iterable[pa.RecordBatch]) -> list[Mapping[str, Any]]:
    """The same of what Arrow has."""
    rows: list[Mapping[str, Any]] = []
    for batch in batches:
        columns = [plain_values(values) for values in batch.columns]
        names = batch.schema.names
        rows += [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return rows
