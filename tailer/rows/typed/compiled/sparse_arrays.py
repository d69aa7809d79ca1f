"""The Arrow arrays of columns that few of the rows set, as wide tables have them: nothing is done for each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailer.jit.addresses import address_of
from tailer.rows.typed.columns import FIXED, TEXTS, ZERO, Column, Source, mark_no_texts, too_long
from tailer.rows.typed.compiled import sparse as s
from tailer.rows.typed.compiled.decode import TOO_LONG
from tailer.rows.typed.compiled.straight_rows import StraightRows
from tailer.rows.typed.form import FormColumn
from tailer.types.forms import BOOLEAN

Numbers = npt.NDArray[Any]

_SHARE: Final = 8
"""Rows are few if there are so many times more."""

Dense = Callable[[Column], pa.Array]
"""Makes the array of any values from where they lie."""


class SparseValues(NamedTuple):
    """Row and place of each value of a slot; marks of all rows; the addresses of the four."""

    rows: Numbers
    off: Numbers
    length: Numbers
    bad: Numbers
    at: tuple[int, int, int, int]


class Sparse(NamedTuple):
    """The same of all slots; those of slot n from `begins[n]` to `begins[n + 1]`."""

    begins: list[int]
    values: SparseValues

    def of(self, slot: int) -> SparseValues:
        """Those of one."""
        begin, end = self.begins[slot : slot + 2]
        rows, off, length, bad, at = self.values
        further = at[0] + 4 * begin, at[1] + 4 * begin, at[2] + 4 * begin, at[3]
        return SparseValues(rows[begin:end], off[begin:end], length[begin:end], bad, further)


def sparse_values(straight: StraightRows, slots: int) -> Sparse | None:
    """None where it is not worth while: the rows all set the same columns, or many of them."""
    held = len(straight.sets)
    if not straight.sparse and (not straight.mixed or held * _SHARE > slots * straight.rows):
        return None
    begins, rows, off, length = (np.zeros(slots + 1, np.int32), *(np.empty(held, np.int32) for _ in range(3)))
    work = np.zeros(s.SIZE, np.int64)
    work[s.SETS : s.ROWS + 1] = address_of(straight.sets), address_of(straight.ends), straight.rows
    work[s.OFF : s.LINE + 1] = straight.places.off, straight.places.length, straight.places.line
    work[s.SLOTS : s.IS_SPARSE + 1] = slots, straight.sparse
    work[s.BEGINS :] = [address_of(array) for array in (begins, rows, off, length)]
    s.rows_by_slot(address_of(work))
    at = address_of(rows), address_of(off), address_of(length), straight.places.bad
    return Sparse(begins.tolist(), SparseValues(rows, off, length, straight.bad, at))


def sparse_array(column: FormColumn, source: Source, few: SparseValues, dense: Dense) -> pa.Array:
    """The column's values, of which there are none but these; rows are marked whose value is none."""
    kind, rows = column.type.kind, len(few.bad)
    if len(few.rows) == rows:
        return dense(Column(few.off, few.length, few.bad, few.at[1:]))
    if len(few.rows) * _SHARE <= rows:
        if kind in FIXED:
            return _fixed(*FIXED[kind], column, source, few)
        if kind in TEXTS:
            return _texts(column, source, few)
    return _spread(few, dense)


def _fixed(form: int, width: int, column: FormColumn, source: Source, few: SparseValues) -> pa.Array:
    rows = len(few.bad)
    values, bits = np.zeros(width * rows, np.uint8), np.zeros((rows + 7) // 8, np.uint8)
    at, off, length, bad = few.at
    held = address_of(values), address_of(bits)
    count = s.put_sparse(form, source.base, off, length, at, len(few.rows), *held, bad)
    if form == BOOLEAN:
        values = np.packbits(values, bitorder="little")
    return pa.Array.from_buffers(column.arrow, rows, [pa.py_buffer(bits), pa.py_buffer(values)], rows - count)


def _texts(column: FormColumn, source: Source, few: SparseValues) -> pa.Array:
    rows, kind = len(few.bad), column.type.kind
    ends, bits = np.empty(rows + 1, np.int32), np.zeros((rows + 7) // 8, np.uint8)
    at, off, length, _ = few.at
    held, ends_at = (at, len(few.rows)), address_of(ends)
    count = s.put_sparse_ends(length, *held, rows, int(kind in ZERO), ends_at, address_of(bits))
    if count == TOO_LONG:
        raise too_long(column.name)
    letters = np.empty(ends[-1], np.uint8)
    beyond = s.put_sparse_texts(source.base, off, *held, ends_at, address_of(letters))
    buffers = [pa.py_buffer(bits), pa.py_buffer(ends), pa.py_buffer(letters)]
    made = pa.Array.from_buffers(column.arrow, rows, buffers, rows - count)
    mark_no_texts(column.type, made, ends, letters, beyond, few.bad)
    return made


def _spread(few: SparseValues, dense: Dense) -> pa.Array:
    """Made of the few rows alone, then put among the others."""
    bad = np.zeros(len(few.rows), np.uint8)
    made = dense(Column(few.off, few.length, bad, (*few.at[1:3], address_of(bad))))
    few.bad[few.rows[bad.view(np.bool_)]] = 1
    numbers = np.full(len(few.bad), -1, np.int64)
    numbers[few.rows] = np.arange(len(few.rows))
    return made.take(pa.array(numbers, mask=numbers < 0))
