"""`_deltas`, `_cells` and `_range` of straight rows as Arrow arrays: see `deltas`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailer.jit.addresses import address_of
from tailer.rows.generic.compiled import work as w
from tailer.rows.generic.compiled.arrays import TEXT_BYTES_MAX
from tailer.rows.generic.compiled.tables import TABLE_BYTES, tables_of
from tailer.rows.prepared import Prepared
from tailer.rows.typed.arrays import text_array
from tailer.rows.typed.columns import too_long
from tailer.rows.typed.compiled import deltas as d
from tailer.rows.typed.compiled.straight import DELETE_RANGE
from tailer.rows.typed.compiled.straight_rows import Lines, StraightRows
from tailer.types.compiled.values import write_value

Numbers = npt.NDArray[Any]

_ROW_LETTERS: Final = 64
_ELEMENT_LETTERS: Final = 64
_RANGE_LETTERS: Final = 128
"""How much text is expected; what is wrong costs only that it is copied."""


def row_texts(
    prepared: Prepared, table: int, lines: Lines, straight: StraightRows, has_deltas: bool
) -> dict[str, pa.Array]:
    """Those that there are; rows are marked whose values do not print here. `lines`: the index's own.

    `has_deltas`: whether the table has columns that `_deltas` may tell of.
    """
    has_ranges = straight.ops >> DELETE_RANGE & 1
    if not (has_deltas or straight.has_cells or has_ranges):
        return {}
    # `tables` and `block` hold what lies at the addresses in `work`.
    tables, block = tables_of(prepared), np.zeros(w.SIZE, np.int64)
    block[w.DATA], block[w.WRITER], block[w.VALUES] = lines.base, write_value, address_of(lines.values)
    work = _work(straight)
    work[d.BLOCK : d.TABLE] = address_of(block), address_of(lines.rows), address_of(lines.cells)
    work[d.TABLE], work[d.HAS_CELLS] = address_of(tables.tables) + TABLE_BYTES * table, straight.has_cells
    made: dict[str, pa.Array] = {}
    if has_deltas:
        expected = _ROW_LETTERS * straight.rows + _ELEMENT_LETTERS * len(lines.cells)
        made["deltas"] = _texts(work, d.DELTAS, expected)
    if work[d.HAS_CELLS]:
        made["cells"] = _texts(work, d.TIMES, _ROW_LETTERS * straight.rows)
    if has_ranges:
        made["range"] = _texts(work, d.RANGES, _RANGE_LETTERS * straight.rows)
    return made


def _work(straight: StraightRows) -> Numbers:
    work = np.zeros(d.SIZE, np.int64)
    by_row = (straight.index_row, straight.op, straight.ts, straight.ttl, straight.expires)
    work[d.INDEX_ROW : d.ROWS] = [address_of(array) for array in by_row]
    work[d.ROWS], work[d.BAD] = straight.rows, straight.places.bad
    return work


def _texts(work: Numbers, what: int, expected: int) -> pa.Array:
    """The texts of all rows. `expected`: how many letters they may have."""
    rows = int(work[d.ROWS])
    ends, valid = np.empty(rows + 1, np.int32), np.empty(rows, np.uint8)
    letters = np.empty(min(expected, TEXT_BYTES_MAX), np.uint8)
    work[d.OFFSETS : d.BAD] = address_of(ends), address_of(valid)
    work[d.WHAT], work[d.NEXT] = what, 0
    work[d.BEGIN : d.LIMIT + 1] = _extent(letters)
    while d.put_deltas(address_of(work)):
        if len(letters) == TEXT_BYTES_MAX:
            raise too_long(_NAMES[what])
        more = np.empty(min(2 * len(letters), TEXT_BYTES_MAX), np.uint8)
        more[: len(letters)] = letters
        letters = more
        work[d.BEGIN : d.LIMIT + 1] = _extent(letters)
    # In place: a copy would need both in memory at once.
    letters.resize(ends[-1], refcheck=False)
    return text_array(pa.string(), ends, letters, valid, int(np.count_nonzero(valid)))


_NAMES: Final = {d.DELTAS: "_deltas", d.TIMES: "_cells", d.RANGES: "_range"}


def _extent(letters: Numbers) -> tuple[int, int]:
    begin = address_of(letters)
    return begin, begin + len(letters)
