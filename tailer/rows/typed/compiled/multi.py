"""Non-frozen columns: straight as columns of one cell are; where rows assign them whole, made of their elements.

What the cells of such a column look like there is in `straight_multi`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailer.jit.addresses import address_of
from tailer.rows.typed.arrays import list_array, map_array, struct_array
from tailer.rows.typed.columns import Column, Source
from tailer.rows.typed.compiled import straight_multi as m
from tailer.rows.typed.compiled.nested import field_arrays, has_plain_keys, key_marks, no_places, part_array
from tailer.rows.typed.compiled.straight_rows import Lines
from tailer.rows.typed.form import MISSING, Bound, FormColumn
from tailer.scan.compiled import lines as ln

Numbers = npt.NDArray[Any]


def multi_columns(bound: Bound) -> Numbers:
    """A byte a column, whether it is one of those."""
    described = zip(bound.table.columns, bound.slots, bound.same, strict=True)
    return np.array([same and slot != MISSING and column.multi for column, slot, same in described], np.uint8)


def straightened(lines: Lines, table: int, marks: Numbers) -> Lines:
    """The lines as `straight` is to see them; only for rows of that table. `marks`: those of `multi_columns`."""
    rows, cells = lines.rows.copy(), np.empty_like(lines.cells)
    work = np.zeros(m.SIZE, np.int64)
    work[m.UPDATES : m.CELLS + 1] = [address_of(array) for array in (lines.updates, lines.rows, lines.cells)]
    work[m.ROW_COUNT : m.COLUMNS + 1] = len(rows), table, len(marks)
    work[m.MARKS : m.SIZE] = [address_of(array) for array in (marks, rows, cells)]
    m.straighten(address_of(work))
    return lines.with_cells(rows, cells)


def elements_array(column: FormColumn, source: Source, cells: Numbers, places: Column) -> pa.Array:
    """The column's values; rows whose elements are no values are marked. `places`: those of straightened cells."""
    kind = column.type.kind
    if kind == "udt":
        return _structs(column, source, cells, places)
    ends = np.zeros(len(places.off) + 1, np.int32)
    np.cumsum(np.maximum(places.length, 0), out=ends[1:])
    if kind == "map" and not has_plain_keys(column.type):
        return _one_by_one(column, source, cells, places, ends)
    valid = (places.length > 0).view(np.uint8)
    count = int(np.count_nonzero(valid))
    parts = [_elements(field, cells, places, ends) for field in _FIELDS[kind]]
    if kind == "map":
        key_marks(column.parts[0], source, parts[0], ends, places.bad)
    made = [
        part_array(part, source, elements, ends, places) for part, elements in zip(column.parts, parts, strict=True)
    ]
    if kind == "map":
        return map_array(column.arrow, ends, made, valid, count)
    return list_array(column.arrow, ends, made[0], valid, count)


_FIELDS: Final = {"list": (ln.C_VALUE,), "set": (ln.C_PATH,), "map": (ln.C_PATH, ln.C_VALUE)}
"""What of the elements' cells is a part of the value."""


def _elements(field: int, cells: Numbers, places: Column, ends: Numbers) -> Column:
    off, length, _ = places.places
    made = no_places(int(ends[-1]))
    m.put_elements(field, address_of(cells), off, length, len(places.off), *made.places[:2])
    return made


def _structs(column: FormColumn, source: Source, cells: Numbers, places: Column) -> pa.Array:
    rows, fields = len(places.off), len(column.parts)
    memory = np.zeros(8 * fields * rows, np.uint8)
    memory[4 * fields * rows :].fill(0xFF)
    base = address_of(memory)
    off, length, bad = places.places
    m.put_fields(fields, source.base, address_of(cells), off, length, rows, base, base + 4 * fields * rows, bad)
    valid = (places.length > 0).view(np.uint8)
    made = field_arrays(column, source, memory, places)
    return struct_array(column.arrow, made, valid, int(np.count_nonzero(valid)))


def _one_by_one(column: FormColumn, source: Source, cells: Numbers, places: Column, ends: Numbers) -> pa.Array:
    read, data = column.read_elements, source.data
    assert read is not None
    parts = [
        [data[off : off + length] for off, length in zip(made.off.tolist(), made.length.tolist(), strict=True)]
        for made in (_elements(field, cells, places, ends) for field in (ln.C_PATH, ln.C_VALUE))
    ]
    pairs = list(zip(*parts, strict=True))
    values: list[Any] = []
    for row, begin in enumerate(ends[:-1].tolist()):
        value = None
        try:
            value = read(pairs[begin : ends[row + 1]])
        except ValueError:
            places.bad[row] = 1
        values.append(value)
    return pa.array(values, column.arrow)
