"""Decoded rows without types: names, bytes and timestamps, for whoever follows tables of the log itself.

Made for `system_schema`, whose rows become definitions; nothing here knows what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tailer.rows.generic.times import CELL_WIDTH, split_cells
from tailer.rows.prepared import Prepared, PreparedTable
from tailer.scan.index import (
    CELL_DELETED,
    CLOSE_INCLUSIVE,
    COMPLEX_DELETION,
    HAS_DELETION,
    HAS_TIMESTAMP,
    OPEN_INCLUSIVE,
    PARTITION_DELETION,
    RANGE_END,
    RANGE_START,
    ROW_LINE,
    STATIC_ROW,
    Index,
    as_numbers,
)
from tailer.schema.decode import RawCell, RawRange, RawRow

Values = tuple[bytes | None, ...]
"""Clustering values, or the prefix of them that a bound has; None is null."""


def neutral_rows(index: Index, data: bytes, prepared: Prepared) -> Iterator[RawRow]:
    """The rows of the followed tables in `index`, a scan of `data`, in log order; a range comes where it ends."""
    source = _Source(data, as_numbers(index.values), as_numbers(index.cells))
    start: tuple[Values, bool, int] = (), True, 0
    for line in index.rows.tolist():
        update, _, kind, flags, ts, _, _, deletion, values_at, values_n, cells_at, cells_n = line
        _, number, key_off, key_len = index.updates[update].item()
        table = prepared.tables[number]
        if not table.followed:
            continue
        place = (table.definition.table, data[key_off : key_off + key_len])
        values = source.values_of(values_at, values_n)
        if kind == PARTITION_DELETION:
            yield RawRow(*place, partition_deletion=deletion)
        elif kind in (ROW_LINE, STATIC_ROW):
            liveness = ts if flags & HAS_TIMESTAMP else None
            row_deletion = deletion if flags & HAS_DELETION else None
            yield RawRow(*place, values, liveness, row_deletion, cells=tuple(source.cells_of(table, cells_at, cells_n)))
        else:
            if kind != RANGE_START:
                closed = not values or bool(flags & CLOSE_INCLUSIVE)
                yield RawRow(*place, range=RawRange(_known(start[0]), start[1], _known(values), closed, start[2]))
            if kind != RANGE_END:
                start = values, not values or bool(flags & OPEN_INCLUSIVE), ts


def _known(values: Values) -> tuple[bytes, ...]:
    """A bound's values; null, which no table of `system_schema` has, as empty."""
    return tuple(value or b"" for value in values)


class _Source(NamedTuple):
    data: bytes
    values: list[int]
    cells: list[int]

    def values_of(self, at: int, count: int) -> Values:
        numbers = self.values[2 * at : 2 * (at + count)]
        lines = zip(numbers[::2], numbers[1::2], strict=True)
        return tuple(self.data[off : off + length] if length >= 0 else None for off, length in lines)

    def cells_of(self, table: PreparedTable, at: int, count: int) -> list[RawCell]:
        cells: list[RawCell] = []
        lines = split_cells(self.cells[at * CELL_WIDTH : (at + count) * CELL_WIDTH])
        for number, flags, ts, _, _, path_off, path_len, value_off, value_len in lines:
            column = table.columns[number]
            has_path = column.multi and not flags & COMPLEX_DELETION
            path = self.data[path_off : path_off + path_len] if has_path else None
            gone = flags & (CELL_DELETED | COMPLEX_DELETION)
            value = None if gone else self.data[value_off : value_off + value_len]
            cells.append(RawCell(column.name, path, value, ts))
        return cells
