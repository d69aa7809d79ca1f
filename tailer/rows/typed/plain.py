"""Typed rows one value after another: the twin that says what `fast` must give.

What a typed row shares with a change row (`_op`, `_cells`, `_range`, times, place) is taken from the change rows
themselves; here are the table's own columns, `_set` and `_deltas`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pyarrow as pa

from tailer.rows.batch import COLUMNS
from tailer.rows.explain import Misfit
from tailer.rows.generic.build import ValueFault, build
from tailer.rows.generic.collections import multi_texts
from tailer.rows.generic.times import CELL_WIDTH, Cell, RowTimes, split_cells
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared, PreparedColumn
from tailer.rows.typed.batch import TypedBatch, TypedBuilt
from tailer.rows.typed.form import MISSING, Bound, Form
from tailer.rows.typed.relaid import relaid_elements, relay
from tailer.scan.index import (
    CELL_DELETED,
    COMPLEX_DELETION,
    HAS_DELETION,
    HAS_TIMESTAMP,
    RANGE_END,
    ROW_LINE,
    STATIC_ROW,
    Index,
    as_numbers,
)
from tailer.scan.key import split_partition_key
from tailer.schema.typed import META
from tailer.types import CqlType, Shape

_SHARED: Final = tuple((COLUMNS.index(name) if name in COLUMNS else -1) for name in META)
"""Where a change row has what stands behind a typed row's own columns; `set` and `deltas` it has not."""

_OFFSET: Final = COLUMNS.index("offset")
_ROW: Final = COLUMNS.index("row")
_NO_TIMES: Final[RowTimes] = (0, None, None)


class _Own(NamedTuple):
    """The table's own columns of one row, `_set` and `_deltas`."""

    values: tuple[Any, ...]
    assigned: list[str] | None = None
    deltas: str | None = None


def build_plain(index: Index, data: bytes, prepared: Prepared, place: Place, form: Form) -> TypedBuilt:
    """The typed rows of the delivered tables in `index`, a scan of `data` with `prepared.scan_tables`."""
    built = build(index, data, prepared, place)
    walk = _Walk(index, data, prepared, place, form)
    walk.run({fault.entry for fault in built.faults})
    end = len(place.offsets) if walk.misfit is None else walk.misfit.entry
    faults = sorted(fault for fault in (*built.faults, *walk.faults) if fault.entry < end)
    without = _Left(index, place, [fault.entry for fault in faults], end)
    blank = _Own((None,) * len(form.columns))
    rows: list[tuple[Any, ...]] = []
    shared: Iterator[tuple[Any, ...]] = built.batch.rows()
    for row in shared:
        at = row[_OFFSET], row[_ROW]
        if without.is_behind(at):
            break
        if at not in without:
            rows.append(_typed_row(row, walk.rows.get(at, blank)))
    return TypedBuilt(TypedBatch(form, _record_batch(form, rows)), faults, walk.misfit, walk.ignored)


def _typed_row(row: tuple[Any, ...], own: _Own) -> tuple[Any, ...]:
    added = {"set": own.assigned, "deltas": own.deltas}
    meta = (added[name] if at < 0 else row[at] for name, at in zip(META, _SHARED, strict=True))
    return *own.values, *meta


def _record_batch(form: Form, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [()] * len(form.schema)
    arrays = [pa.array(list(values), field.type) for values, field in zip(columns, form.schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=form.schema)


class _Left:
    """Change rows that are left out, told by offset and number: those of entries with faults, all from `end` on.

    In a transaction all offsets are the same: numbers tell there, and elsewhere offsets, as not every number of a
    mutation has a line in the index.
    """

    def __init__(self, index: Index, place: Place, entries: list[int], end: int) -> None:
        offsets = place.numbers()
        self._offsets: set[int] = set()
        self._rows: set[tuple[int, int]] = set()
        self._stop: tuple[int, int] | None = None
        if place.txn is None:
            self._offsets = {offsets[entry] for entry in entries}
            if end < len(offsets):
                self._stop = offsets[end], 0
            return
        # The end of a range has the number of the row behind it.
        lines = index.rows[index.rows["kind"] != RANGE_END]
        of_line, numbers = index.updates["entry"][lines["update"]], lines["number"]
        for entry in entries:
            self._rows |= {(offsets[entry], number) for number in numbers[of_line == entry].tolist()}
        behind = numbers[of_line >= end]
        if len(behind):
            self._stop = offsets[end], int(behind.min())

    def is_behind(self, at: tuple[int, int]) -> bool:
        return self._stop is not None and at >= self._stop

    def __contains__(self, at: tuple[int, int]) -> bool:
        return at[0] in self._offsets or at in self._rows


class _MisfitError(Exception):
    """Not an error for anybody: what a row needs has no column here, and the form says to stop."""


class _Walk:
    """One walk over the index. `rows`: the own columns by offset and number of the change row."""

    def __init__(self, index: Index, data: bytes, prepared: Prepared, place: Place, form: Form) -> None:
        self.index = index
        self.data = data
        self.prepared = prepared
        self.offsets = place.numbers()
        self.form = form
        self.values = as_numbers(index.values)
        self.cells = as_numbers(index.cells)
        self.rows: dict[tuple[int, int], _Own] = {}
        self.faults: list[ValueFault] = []
        self.misfit: Misfit | None = None
        self.ignored: dict[str, int] = {}

    def run(self, without: set[int]) -> None:
        """All lines but those of the entries `without`; ends at the first misfit."""
        updates = self.index.updates.tolist()
        failed = set(without)
        current, ignored = -1, self.ignored
        for line in self.index.rows.tolist():
            entry, number, key_off, key_len = updates[line[0]]
            table = self.prepared.tables[number]
            if entry in failed or not table.delivered:
                continue
            if entry != current:
                current, ignored = entry, dict(self.ignored)
            try:
                bound = self.form.bind(table)
                if bound.misfit is not None:
                    raise _MisfitError(bound.misfit, True)
                key = self.data[key_off : key_off + key_len]
                for row_number, own in self._line(bound, key, line):
                    self.rows[self.offsets[entry], row_number] = own
            except ValueError as error:
                failed.add(entry)
                self.ignored = ignored
                self.faults.append(ValueFault.of(entry, error))
            except _MisfitError as error:
                self.misfit = Misfit(entry, *error.args)
                return

    def _line(self, bound: Bound, key: bytes, line: tuple[int, ...]) -> Iterator[tuple[int, _Own]]:
        """The change rows of one line, by number."""
        _, number, kind, flags, _, _, _, _, values_at, values_n, cells_at, cells_n = line
        if kind == RANGE_END:
            return
        columns = self.form.columns
        values: list[Any] = [None] * len(columns)
        for slot, part in zip(bound.key, split_partition_key(key, len(bound.key)), strict=True):
            values[slot] = columns[slot].read(part)
        if kind not in (ROW_LINE, STATIC_ROW):
            yield number, _Own(tuple(values))
            return
        for slot, at in zip(bound.clustering, range(2 * values_at, 2 * (values_at + values_n), 2), strict=False):
            off, length = self.values[at], self.values[at + 1]
            values[slot] = columns[slot].read(self.data[off : off + length]) if length >= 0 else None
        if flags & HAS_DELETION:
            yield number, _Own(tuple(values))
            if not (flags & HAS_TIMESTAMP or cells_n):
                return
            number += 1
        yield number, self._with_cells(bound, values, cells_at, cells_n)

    def _with_cells(self, bound: Bound, values: list[Any], cells_at: int, cells_n: int) -> _Own:
        assigned: list[str] = []
        deltas: list[str] = []
        for cells in _by_column(self.cells, cells_at, cells_n):
            number = cells[0][0]
            column, slot = bound.table.columns[number], bound.slots[number]
            moved = column.type if number in bound.moved else None
            if slot == MISSING:
                self._leave_out(column)
                continue
            if column.multi:
                deltas.append(column.label + multi_texts(column.type, cells, self.data, _NO_TIMES)[0])
                if cells[0][1] & COMPLEX_DELETION:
                    assigned.append(column.name)
                    values[slot] = self._elements(slot, cells[1:], moved)
                continue
            if len(cells) > 1:
                raise ValueError("a row with two values of one column")
            cell = cells[0]
            value = None if cell[1] & CELL_DELETED else self.data[cell[7] : cell[7] + cell[8]]
            assigned.append(column.name)
            if value is not None and moved is not None and (lay_out := relay(moved, self.form.columns[slot].type)):
                value = lay_out(value)
            values[slot] = None if value is None else self.form.columns[slot].read(value)
            if column.type.shape is Shape.COUNTER:
                deltas.append(column.label + ("null" if value is None else column.json(value)))
        return _Own(tuple(values), assigned, "{" + ",".join(deltas) + "}" if deltas else None)

    def _elements(self, slot: int, cells: list[Cell], moved: CqlType | None) -> Any:
        column = self.form.columns[slot]
        assert column.read_elements is not None
        pairs = [
            (self.data[path_off : path_off + path_len], self.data[value_off : value_off + value_len])
            for _, flags, _, _, _, path_off, path_len, value_off, value_len in cells
            if not flags & CELL_DELETED
        ]
        return column.read_elements(pairs if moved is None else relaid_elements(moved, column.type, pairs))

    def _leave_out(self, column: PreparedColumn) -> None:
        if not self.form.tolerant:
            raise _MisfitError(f'a column "{column.name}" of type {column.type.text}')
        self.ignored[column.name] = self.ignored.get(column.name, 0) + 1


def _by_column(flat: list[int], at: int, count: int) -> list[list[Cell]]:
    """A row's cells, those of one column together. ValueError for a column that comes twice."""
    found: dict[int, list[Cell]] = {}
    last = -1
    for cell in split_cells(flat[at * CELL_WIDTH : (at + count) * CELL_WIDTH]):
        if cell[0] != last and cell[0] in found:
            raise ValueError("a row with two values of one column")
        last = cell[0]
        found.setdefault(last, []).append(cell)
    return list(found.values())
