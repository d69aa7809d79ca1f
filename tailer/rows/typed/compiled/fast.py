"""Typed rows column by column: the twin of `plain` that makes the same batch from arrays and compiled kernels.

What is not straight (a deletion with values, elements removed from a whole value, columns of another type than the
form's) is left to the plain twin, an entry with a fault as a whole; order is kept.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailer.limits import OFFSET_MAX
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.rows.typed.batch import TypedBatch, TypedBuilt
from tailer.rows.typed.columns import Column, Source
from tailer.rows.typed.compiled.blocks import block_arrays
from tailer.rows.typed.compiled.multi import elements_array, multi_columns, straightened
from tailer.rows.typed.compiled.nested import column_array
from tailer.rows.typed.compiled.sparse_arrays import SparseValues, sparse_array, sparse_values
from tailer.rows.typed.compiled.straight import CHANGES, SLOW
from tailer.rows.typed.compiled.straight_rows import Lines, StraightRows, Table, straight_rows
from tailer.rows.typed.compiled.texts import row_texts
from tailer.rows.typed.compiled.wide import is_wide, most_values, sparse_rows
from tailer.rows.typed.compiled.woven import woven
from tailer.rows.typed.form import MISSING, Bound, Form, FormColumn
from tailer.rows.typed.meta import meta_arrays
from tailer.rows.typed.plain import build_plain
from tailer.rows.typed.subset import subset
from tailer.scan.index import Index
from tailer.scan.tables import NO_COLUMN
from tailer.schema.typed import META
from tailer.types import Shape

Numbers = npt.NDArray[Any]


def build_fast(index: Index, data: bytes, prepared: Prepared, place: Place, form: Form) -> TypedBuilt:
    """The same as `build_plain`."""
    if len(data) > OFFSET_MAX:
        return build_plain(index, data, prepared, place, form)
    build = _Build(index, data, prepared, place, form)
    while (built := build.attempt(None)) is None:
        pass
    return built


def build_chosen(
    index: Index, data: bytes, prepared: Prepared, place: Place, form: Form, one_row: Chosen | None
) -> TypedBuilt | None:
    """The same with rows that were chosen before and are not in the index; None where some of those have a fault."""
    build = _Build(index, data, prepared, place, form)
    while (built := build.attempt(one_row)) is None:
        if build.is_bad(one_row):
            return None
    return built


class _Part(NamedTuple):
    """Rows of one kind, with offset and number of each."""

    offset: Numbers
    number: Numbers
    batch: pa.RecordBatch


class Chosen(NamedTuple):
    """The straight rows of one table with its number, its columns by the form's. `has_deltas`: see `row_texts`."""

    bound: Bound
    straight: StraightRows
    number: int
    has_deltas: bool


class _Build:
    """One build. `forced`: entries that the plain twin takes whole; each attempt may find more of them."""

    def __init__(self, index: Index, data: bytes, prepared: Prepared, place: Place, form: Form) -> None:
        self.index = index
        self.data = data
        self.prepared = prepared
        self.place = place
        self.offsets = np.asarray(place.offsets, np.int64)
        self.form = form
        self.lines = Lines(index, data, self.offsets)
        self.source = Source(data, self.lines.base)
        self.forced = np.zeros(len(self.offsets), np.uint8)

    def attempt(self, one_row: Chosen | None) -> TypedBuilt | None:
        """The rows; None where entries turned out to have faults, and it is to be tried again without them."""
        slow = np.zeros(len(self.index.rows), np.uint8)
        chosen = self._choose(slow, one_row) if len(slow) else []
        if one_row is not None:
            chosen = _with_noted(one_row, chosen)
        rest = self._slow_rows(slow)
        if rest is not None and self._force(_doubtful(rest)):
            return None
        end = len(self.offsets) if rest is None or rest.misfit is None else rest.misfit.entry
        parts: list[_Part] = []
        for each in chosen:
            part = self._part(each, end)
            if part is None:
                return None
            parts.append(part)
        if rest is None:
            return TypedBuilt(TypedBatch(self.form, self._merged(parts)), [], None, {})
        if len(rest.batch):
            parts.append(self._plain_part(rest.batch.batch))
        return rest._replace(batch=TypedBatch(self.form, self._merged(parts)))

    def is_bad(self, chosen: Chosen | None) -> bool:
        """Whether some of its rows have a fault."""
        return chosen is not None and bool(self.forced[chosen.straight.entry].any())

    def _choose(self, slow: Numbers, noted: Chosen | None) -> list[Chosen]:
        """The rows to be made column by column, by table; all others that are wanted are marked in `slow`."""
        chosen: list[Chosen] = []
        for number in self._tables():
            table = self.prepared.tables[number]
            bound = self.form.bind(table) if table.delivered else None
            if bound is not None and bound.misfit is None and table.truncations == NO_COLUMN:
                part = self._straight(number, bound, slow, noted)
                if part.straight.rows:
                    chosen.append(part)
            elif table.delivered or table.truncations != NO_COLUMN:
                slow |= self.lines.updates[self.lines.rows[:, 0], 1] == number
        return chosen

    def _straight(self, number: int, bound: Bound, slow: Numbers, noted: Chosen | None) -> Chosen:
        """The rows of one table that are plain; the others of it are marked in `slow`.

        Those that will be woven into `noted` ones lie as those do.
        """
        marks = multi_columns(bound)
        lines, is_multi = self.lines, bool(marks.any())
        has_deltas = is_multi or any(column.type.shape is Shape.COUNTER for column in bound.table.columns)
        if is_multi:
            lines = straightened(lines, number, marks)
        columns = len(self.form.columns)
        is_sparse = not is_multi and is_wide(most_values(lines), columns)
        find = sparse_rows if is_sparse and (noted is None or noted.number != number) else straight_rows
        straight = find(lines, table_of(number, bound, columns, marks), self.forced, slow)
        return Chosen(bound, straight, number, has_deltas)

    def _tables(self) -> list[int]:
        """The numbers of the tables that updates are of."""
        if len(self.prepared.tables) == 1:
            return [0]
        found: list[int] = np.flatnonzero(np.bincount(self.lines.updates[:, 1])).tolist()
        return found

    def _force(self, entries: set[int]) -> bool:
        """Leaves entries to the plain twin; whether one of them was not before."""
        fresh = [entry for entry in entries if not self.forced[entry]]
        self.forced[fresh] = 1
        return bool(fresh)

    def _slow_rows(self, slow: Numbers) -> TypedBuilt | None:
        if not slow.any():
            return None
        rest = subset(self.index, slow.astype(bool))
        return build_plain(rest, self.data, self.prepared, self.place, self.form)

    def _part(self, chosen: Chosen, end: int) -> _Part | None:
        """The straight rows of the entries before `end`; None where some of them have a fault."""
        bound, straight, number, has_deltas = chosen
        if straight.entry[-1] >= end:
            straight = straight.cut(int(np.searchsorted(straight.entry, end)))
            if not straight.rows:
                return _Part(straight.offset, straight.number, self._no_rows())
        arrays = self._columns(bound, straight)
        texts = row_texts(self.prepared, number, self.lines, straight, has_deltas)
        if straight.bad.view(np.bool_).any():
            self._force(set(straight.entry[straight.bad.astype(bool)].tolist()))
            return None
        arrays += meta_arrays(self.form, bound.table.table_id, self.place, straight, texts)
        return _Part(straight.offset, straight.number, pa.RecordBatch.from_arrays(arrays, schema=self.form.schema))

    def _columns(self, bound: Bound, straight: StraightRows) -> list[pa.Array]:
        """The table's own columns."""
        slots = range(len(self.form.columns))
        few = sparse_values(straight, len(slots))
        if few is None:
            made = block_arrays(self.form, self.source, straight)
            return [made[slot] if slot in made else self._column(slot, slot, straight) for slot in slots]
        keys = (*bound.key, *bound.clustering)
        first = len(straight.off) - len(keys)
        lines = {slot: first + at if straight.sparse else slot for at, slot in enumerate(keys)}
        return [
            self._column(slot, lines[slot], straight) if slot in lines else self._sparse_column(slot, few.of(slot))
            for slot in slots
        ]

    def _sparse_column(self, slot: int, few: SparseValues) -> pa.Array:
        column = self.form.columns[slot]
        if not len(few.rows):
            return self.form.repeated.array(column.name, column.arrow, None, len(few.bad))
        return sparse_array(column, self.source, few, partial(self._dense, column))

    def _column(self, slot: int, line: int, straight: StraightRows) -> pa.Array:
        """`line`: that of `off` and `length`."""
        column, off, length = self.form.columns[slot], straight.off[line], straight.length[line]
        if length[0] < 0 and (length < 0).all():
            return self.form.repeated.array(column.name, column.arrow, None, len(length))
        where = straight.places
        at = where.off + line * where.line, where.length + line * where.line, where.bad
        return self._dense(column, Column(off, length, straight.bad, at))

    def _dense(self, column: FormColumn, held: Column) -> pa.Array:
        if column.type.complex:
            return elements_array(column, self.source, self.lines.cells, held)
        return column_array(column, self.source, held)

    def _plain_part(self, batch: pa.RecordBatch) -> _Part:
        own = len(self.form.columns)
        offsets, numbers = (batch.column(own + META.index(name)).to_numpy() for name in ("offset", "row"))
        return _Part(offsets, numbers, batch)

    def _merged(self, parts: list[_Part]) -> pa.RecordBatch:
        """All rows in log order."""
        parts = [part for part in parts if part.batch.num_rows]
        if not parts:
            return self._no_rows()
        if len(parts) == 1:
            return parts[0].batch
        offsets, numbers = (np.concatenate([part[at] for part in parts]) for at in range(2))
        order = np.lexsort((numbers, offsets))
        table = pa.Table.from_batches([part.batch for part in parts]).combine_chunks()
        return table.take(pa.array(order)).to_batches()[0]

    def _no_rows(self) -> pa.RecordBatch:
        arrays = [pa.array([], field.type) for field in self.form.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.form.schema)


def _doubtful(rest: TypedBuilt) -> set[int]:
    """Entries that the plain twin must see whole: one with a misfit may have a fault in a straight row."""
    found = {fault.entry for fault in rest.faults}
    return found if rest.misfit is None else found | {rest.misfit.entry}


def _with_noted(noted: Chosen, chosen: list[Chosen]) -> list[Chosen]:
    """The rows of the index with those that the scan noted by the column."""
    same = [each for each in chosen if each.number == noted.number]
    if same:
        noted = same[0]._replace(straight=woven(noted.straight, same[0].straight))
    return [noted, *(each for each in chosen if each.number != noted.number)]


_ONE_CELL: Final = (Shape.SIMPLE, Shape.COUNTER)


def table_of(number: int, bound: Bound, columns: int, marks: Numbers, one_cell: tuple[Shape, ...] = _ONE_CELL) -> Table:
    """A table to find straight rows of, with SLOW for columns whose values need the plain twin.

    The marked ones come twice more, behind all of them: as they are assigned whole, and where elements are changed.
    """
    described = zip(bound.table.columns, bound.slots, bound.same, strict=True)
    slots = [
        slot if same and slot != MISSING and column.type.shape in one_cell else SLOW for column, slot, same in described
    ]
    marked = list(zip(bound.slots, marks.tolist(), strict=True))
    slots += [slot if mark else SLOW for slot, mark in marked]
    slots += [CHANGES - slot if mark else SLOW for slot, mark in marked]
    key, clustering = np.array(bound.key, np.int64), np.array(bound.clustering, np.int64)
    return Table(number, np.array(slots, np.int32), key, clustering, columns)
