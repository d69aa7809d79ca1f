"""Some entries of an index as an index of their own, for the plain build. Knows no value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tailer.scan.index import Index
from tailer.types.compiled.plan import Numbers


def lines_of_entries(index: Index, entries: Numbers) -> Index:
    """The lines of those entries only; what they need of the other kinds of line is numbered anew."""
    of_entries = np.isin(index.updates["entry"], entries)
    rows = index.rows[of_entries[index.rows["update"]]].copy()
    rows["update"] = (np.cumsum(of_entries) - 1)[rows["update"]]
    cells = index.cells[_runs(rows["cells_at"], rows["cells_n"])]
    values = index.values[_runs(rows["clustering_at"], rows["clustering_n"])]
    rows["cells_at"] = _begins(rows["cells_n"])
    rows["clustering_at"] = _begins(rows["clustering_n"])
    return replace(index, updates=index.updates[of_entries], rows=rows, cells=cells, values=values)


def _begins(counts: Any) -> Numbers:
    begins: Numbers = np.cumsum(counts) - counts
    return begins


def _runs(begins: Any, counts: Any) -> Numbers:
    """The numbers of all lines of the runs, one run behind the other."""
    total = int(counts.sum())
    runs: Numbers = np.repeat(begins - _begins(counts), counts) + np.arange(total)
    return runs
