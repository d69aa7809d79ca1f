"""Decoded rows without types: names, bytes and timestamps, for whoever follows tables of the log itself.

Made for `system_schema`, whose rows become definitions; nothing here knows what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tailer.change.compile import Compiled, CompiledTable
from tailer.change.times import CELL_WIDTH, split_cells
from tailer.format.index import (
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

Values = tuple[bytes | None, ...]
"""Clustering values, or the prefix of them that a bound has; None is null."""


class NeutralCell(NamedTuple):
    """A cell: `path` only in non-frozen columns, `value` None if deleted. A complex deletion has neither."""

    column: str
    path: bytes | None
    value: bytes | None
    ts: int


class NeutralRange(NamedTuple):
    """Rows from `start` to `end` in clustering order; an empty prefix is an open side."""

    start: Values
    start_inclusive: bool
    end: Values
    end_inclusive: bool


@dataclass(frozen=True, slots=True)
class NeutralRow:
    """One row, partition deletion or range deletion of a followed table; timestamps in µs, None where there is none.

    `range_deletion` goes with `range`. `entry` is the number of its entry in the scan.
    """

    entry: int
    keyspace: str
    table: str
    key: bytes
    clustering: Values = ()
    liveness: int | None = None
    row_deletion: int | None = None
    partition_deletion: int | None = None
    range_deletion: int | None = None
    range: NeutralRange | None = None
    cells: list[NeutralCell] = field(default_factory=list)


def neutral_rows(index: Index, data: bytes, compiled: Compiled) -> Iterator[NeutralRow]:
    """The rows of the followed tables in `index`, a scan of `data`, in log order; a range comes where it ends."""
    source = _Source(data, as_numbers(index.values), as_numbers(index.cells))
    start: tuple[Values, bool, int] = (), True, 0
    for line in index.rows.tolist():
        update, _, kind, flags, ts, _, _, deletion, values_at, values_n, cells_at, cells_n = line
        entry, number, key_off, key_len = index.updates[update].item()
        table = compiled.tables[number]
        if not table.followed:
            continue
        place = (entry, table.definition.keyspace, table.definition.table, data[key_off : key_off + key_len])
        values = source.values_of(values_at, values_n)
        if kind == PARTITION_DELETION:
            yield NeutralRow(*place, partition_deletion=deletion)
        elif kind in (ROW_LINE, STATIC_ROW):
            liveness = ts if flags & HAS_TIMESTAMP else None
            row_deletion = deletion if flags & HAS_DELETION else None
            yield NeutralRow(*place, values, liveness, row_deletion, cells=source.cells_of(table, cells_at, cells_n))
        else:
            if kind != RANGE_START:
                bounds = NeutralRange(start[0], start[1], values, not values or bool(flags & CLOSE_INCLUSIVE))
                yield NeutralRow(*place, range_deletion=start[2], range=bounds)
            if kind != RANGE_END:
                start = values, not values or bool(flags & OPEN_INCLUSIVE), ts


class _Source(NamedTuple):
    data: bytes
    values: list[int]
    cells: list[int]

    def values_of(self, at: int, count: int) -> Values:
        numbers = self.values[2 * at : 2 * (at + count)]
        lines = zip(numbers[::2], numbers[1::2], strict=True)
        return tuple(self.data[off : off + length] if length >= 0 else None for off, length in lines)

    def cells_of(self, table: CompiledTable, at: int, count: int) -> list[NeutralCell]:
        cells: list[NeutralCell] = []
        lines = split_cells(self.cells[at * CELL_WIDTH : (at + count) * CELL_WIDTH])
        for number, flags, ts, _, _, path_off, path_len, value_off, value_len in lines:
            column = table.columns[number]
            has_path = column.multi and not flags & COMPLEX_DELETION
            path = self.data[path_off : path_off + path_len] if has_path else None
            gone = flags & (CELL_DELETED | COMPLEX_DELETION)
            value = None if gone else self.data[value_off : value_off + value_len]
            cells.append(NeutralCell(column.name, path, value, ts))
        return cells
