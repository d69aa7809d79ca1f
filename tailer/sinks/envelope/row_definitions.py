"""Which definition each row of a batch is written by: the one that was in force at its place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tailer.schema.model import TableDefinition
from tailer.sinks.in_force import Versions
from tailer.sinks.table_text import Tables


class RowDefinitions(NamedTuple):
    """`found`: each definition of the rows; None for the rows of a table that nothing defines. `number`: in `found`, of
    each row's."""

    found: list[TableDefinition | None]
    number: np.ndarray[tuple[int], np.dtype[np.int64]]


def definitions_of(
    ids: pa.Array, places: tuple[pa.Array, pa.Array], tables: Tables, versions: Versions
) -> RowDefinitions:
    """The definitions of rows by their tables' ids and their places. A row without a place has the newest one."""
    known = ids.dictionary_encode()
    table_of = known.indices.to_numpy()
    found: list[TableDefinition | None] = []
    number = np.zeros(len(ids), np.int64)
    for table, id in enumerate(known.dictionary.to_pylist()):
        digits = id.replace("-", "")
        newest, held = tables(digits), versions(digits)
        rows = np.flatnonzero(table_of == table)
        if len(held) < 2:
            number[rows] = len(found)
            found.append(newest)
            continue
        first, second = (_numbers(each, rows) for each in places)
        counts = np.zeros(len(rows), np.int64)
        for high, low in (each.begins for each in held[1:]):
            counts += (first > high) | ((first == high) & (second >= low))
        for count in np.unique(counts).tolist():
            number[rows[counts == count]] = len(found)
            found.append(newest if count == len(held) - 1 else held[count].definition)
    return RowDefinitions(found, number)


def _numbers(
    values: pa.Array, rows: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    known = values.take(pa.array(rows)).fill_null(np.iinfo(np.int64).max)
    return np.asarray(known, np.int64)
