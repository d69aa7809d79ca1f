"""The straight rows of a table of many columns of which each row has few: see `sparse_cells`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tailer.jit.addresses import address_of
from tailer.rows.typed.compiled import sparse_cells as s
from tailer.rows.typed.compiled.straight import SLOW
from tailer.rows.typed.compiled.straight_rows import Lines, StraightRows, Table, straight_rows
from tailer.scan.compiled import lines as ln

Numbers = npt.NDArray[Any]

COLUMNS_LEAST: Final = 24
"""Of a table that may be called wide."""

_SHARE: Final = 4


def most_values(lines: Lines) -> int:
    """The most that a row has."""
    return int(lines.rows[:, ln.R_CELLS_N].max(initial=0))


def is_wide(values: int, columns: int) -> bool:
    """Whether there are many columns, and so many values, the most that a row has, are no good part of them."""
    return columns >= COLUMNS_LEAST and _SHARE * values <= columns


def sparse_rows(lines: Lines, table: Table, forced: Numbers, slow: Numbers) -> StraightRows:
    """`straight_rows` for a wide table; the lines of `off` and `length` are of a row's values by their places.

    Behind them are those of the key, then of the clustering columns, in order.
    """
    width, keys, clustering = most_values(lines), len(table.key), len(table.clustering)
    cells, seen = np.empty_like(lines.cells), np.full(len(table.slots), -1, np.int32)
    work = np.zeros(s.SIZE, np.int64)
    work[s.UPDATES : s.CELLS + 1] = [address_of(array) for array in (lines.updates, lines.rows, lines.cells)]
    work[s.ROW_COUNT : s.SLOTS + 1] = len(lines.rows), table.number, address_of(table.slots)
    work[s.WIDTH : s.TO_CELLS + 1] = width, address_of(seen), address_of(cells)
    s.put_places(address_of(work))
    slots = np.arange(width + 1, dtype=np.int32)
    slots[width] = SLOW
    places = np.arange(width, width + keys + clustering, dtype=np.int64)
    by_place = Table(table.number, slots, places[:keys], places[keys:], width + len(places))
    straight = straight_rows(lines.with_cells(lines.rows, cells), by_place, forced, slow)
    sets, ends = straight.sets, straight.ends
    work[s.SLOW_ROWS : s.SIZE] = address_of(slow), address_of(ends), address_of(sets)
    counted = s.real_slots(address_of(work))
    assert counted == straight.rows, f"{counted} straight rows, where there are {straight.rows}"
    return straight._replace(mixed=True, sparse=True)
