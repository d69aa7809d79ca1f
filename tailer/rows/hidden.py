"""An index whose masked values are hidden: it points at what stands for them, behind the bytes that were scanned.

The one place where values are hashed or cut. Rows of every form, by either twin, are made of index and bytes, and so
have nothing else in any column: keys, bounds of ranges, elements and the token with them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tailer.rows.prepared import Prepared, PreparedTable
from tailer.rows.table_masks import Hide, TableMasks
from tailer.scan.index import CELL_DELETED, COMPLEX_DELETION, NULL_LENGTH, Index, Lines
from tailer.scan.key import join_partition_key, split_partition_key
from tailer.types import Shape

Numbers = npt.NDArray[np.int64]


def hidden(index: Index, data: bytes, prepared: Prepared) -> tuple[Index, bytes]:
    """The same lines with other values, and the bytes that they count in: `data`, and what is new behind it."""
    work = _Hiding(index, data)
    for number in prepared.masked:
        table = prepared.tables[number]
        if table.masks is not None:
            work.hide(number, table, table.masks)
    return work.done()


class _Hiding:
    """One index, copied where it is written to."""

    def __init__(self, index: Index, data: bytes) -> None:
        self._index = index
        self._data = data
        self._behind = bytearray()
        self._updates, self._values, self._cells = index.updates.copy(), index.values.copy(), index.cells.copy()

    def done(self) -> tuple[Index, bytes]:
        index = replace(self._index, updates=self._updates, values=self._values, cells=self._cells)
        return index, self._data + bytes(self._behind) if self._behind else self._data

    def hide(self, number: int, table: PreparedTable, masks: TableMasks) -> None:
        """All values of one table that are not to be seen."""
        updates = np.flatnonzero(self._index.updates["table"] == number)
        if not len(updates):
            return
        if any(masks.key):
            whole = _of_key(masks.key)
            self._point(self._updates, updates, "key_off", "key_len", whole)
        rows = self._index.rows[np.isin(self._index.rows["update"], updates)]
        for place, hide in enumerate(masks.clustering):
            if hide is not None:
                lines = rows["clustering_at"][rows["clustering_n"] > place] + place
                there = lines[self._values["len"][lines] != NULL_LENGTH]
                self._point(self._values, there, "off", "len", hide)
        if masks.columns:
            self._hide_cells(rows, table, masks)

    def _hide_cells(self, rows: Lines, table: PreparedTable, masks: TableMasks) -> None:
        lines = _run_of(rows["cells_at"], rows["cells_n"])
        columns, flags = self._cells["column"][lines], self._cells["flags"][lines]
        for number, hide in masks.columns.items():
            shape = table.columns[number].type.shape
            mine = columns == number
            if shape in (Shape.SET, Shape.MAP):
                paths = lines[mine & (flags & COMPLEX_DELETION == 0)]
                self._point(self._cells, paths, "path_off", "path_len", hide)
            if shape is not Shape.SET:
                values = lines[mine & (flags & (CELL_DELETED | COMPLEX_DELETION) == 0)]
                self._point(self._cells, values, "value_off", "value_len", hide)

    def _point(self, lines: Lines, at: npt.NDArray[Any], off: str, length: str, hide: Hide) -> None:
        """Those lines point at what stands for their values; of equal values that is there once."""
        known: dict[bytes, tuple[int, int]] = {}
        places = []
        for start, size in zip(lines[off][at].tolist(), lines[length][at].tolist(), strict=True):
            value = self._data[start : start + size]
            place = known.get(value)
            if place is None:
                shown = hide(value)
                place = known[value] = len(self._data) + len(self._behind), len(shown)
                self._behind += shown
            places.append(place)
        if places:
            lines[off][at], lines[length][at] = np.array(places, np.int64).T


def _of_key(hides: tuple[Hide | None, ...]) -> Hide:
    """A whole partition key, of which some columns are hidden. One that is none stays: it gives no row."""

    def hide(key: bytes) -> bytes:
        try:
            values = split_partition_key(key, len(hides))
        except ValueError:
            return key
        return join_partition_key(
            [value if each is None else each(value) for each, value in zip(hides, values, strict=True)]
        )

    return hide


def _run_of(first: Numbers, count: Numbers) -> Numbers:
    """The numbers of all lines of these runs."""
    begin = np.cumsum(count) - count
    return np.repeat(first - begin, count) + np.arange(int(count.sum()))
