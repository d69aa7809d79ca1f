"""A part of an index as an index of its own. Knows numbers only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tailer.scan.index import Index, Lines


def subset(index: Index, wanted: npt.NDArray[np.bool_]) -> Index:
    """The index with the rows of that mask alone, and what belongs to them. Entries keep their numbers."""
    rows = index.rows[wanted]
    used, rows["update"] = np.unique(rows["update"], return_inverse=True)
    values, rows["clustering_at"] = _gathered(index.values, rows["clustering_at"], rows["clustering_n"])
    cells, rows["cells_at"] = _gathered(index.cells, rows["cells_at"], rows["cells_n"])
    return replace(index, updates=index.updates[used], rows=rows, values=values, cells=cells)


def _gathered(lines: Lines, first: npt.NDArray[Any], count: npt.NDArray[Any]) -> tuple[Lines, npt.NDArray[np.int64]]:
    """The runs of lines one behind the other, and where each begins now."""
    begin = np.cumsum(count) - count
    places = np.repeat(first - begin, count) + np.arange(int(count.sum()))
    return lines[places], begin
