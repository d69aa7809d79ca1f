"""Build: index and bytes to change rows (architecture section 4). Knows the output and no format.

Rows come in log order. A value that is none of its type fails its entry as a whole, and no other.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tailer.rows.batch import Batch, ChangeBatch, Row
from tailer.rows.generic.ranges import OpenRange
from tailer.rows.generic.times import CELL_WIDTH, Cell
from tailer.rows.generic.truncate import live_truncations, truncate_rows
from tailer.rows.generic.update import ROW_WIDTH, UpdateRows
from tailer.rows.place import Place, txn_at
from tailer.rows.prepared import Prepared, PreparedTable
from tailer.scan.index import PARTITION_DELETION, ROW_LINE, STATIC_ROW, UPDATE_FIELDS, Index, as_numbers
from tailer.scan.key import split_partition_key
from tailer.scan.tables import NO_COLUMN
from tailer.types import murmur3_token
from tailer.types.texts import OddTextError

_UPDATE_WIDTH: Final = len(UPDATE_FIELDS)


class ValueFault(NamedTuple):
    """An entry (by its number) with a value that is none of its type, and why. It gives no row. `odd_key`: the value is
    a key that the run does not deliver."""

    entry: int
    reason: str
    odd_key: bool = False

    @classmethod
    def of(cls, entry: int, error: ValueError) -> ValueFault:
        return cls(entry, str(error), isinstance(error, OddTextError))


class Built(NamedTuple):
    """The change rows of a scan, without those of the entries that `faults` names, in log order."""

    batch: Batch
    faults: list[ValueFault]


def build(index: Index, data: bytes, prepared: Prepared, place: Place) -> Built:
    """The change rows of the delivered tables in `index`, a scan of `data` with `prepared.scan_tables`."""
    builder = _Builder(index, data, prepared, place)
    at = 0
    while at < len(builder.lines):
        try:
            at = builder.add_lines(at)
        except ValueError as error:
            at = builder.drop_entry(error)
    return Built(ChangeBatch.of(builder.rows), builder.faults)


class _Builder:
    """One build's state; the index as flat lists.

    `entry` is the entry being built, `mark` the number of rows before it, `begun` where the update's lines begin.
    `keys`: JSON and token of each table's partition keys met.
    """

    def __init__(self, index: Index, data: bytes, prepared: Prepared, place: Place) -> None:
        self.data = data
        self.prepared = prepared
        self.place = place
        self.offsets = place.numbers()
        self.updates = as_numbers(index.updates)
        self.lines = as_numbers(index.rows)
        self.cells = as_numbers(index.cells)
        self.update = UpdateRows(data, as_numbers(index.values), self.cells, place.node, place.segment)
        self.keys: list[dict[bytes, tuple[str, int]]] = [{} for _ in prepared.tables]
        self.rows: list[Row] = []
        self.faults: list[ValueFault] = []
        self.entry = -1
        self.mark = self.begun = 0

    def add_lines(self, first: int) -> int:
        """The rows of all lines from `first` on, which begins an entry; where they end. ValueError for a bad value."""
        lines, rows, update = self.lines, self.rows, self.update
        current = -1
        delivered = False
        open_range = OpenRange()
        for at in range(first, len(lines), ROW_WIDTH):
            line = lines[at : at + ROW_WIDTH]
            if line[0] != current:
                current = line[0]
                self.begun = at
                delivered = self._begin(current)
            if not delivered:
                continue
            kind = line[2]
            if kind == ROW_LINE:
                update.add_row(line, rows)
            elif kind == STATIC_ROW:
                update.add_row(line, rows, is_static=True)
            elif kind == PARTITION_DELETION:
                rows.append(update.deletion("delete_partition", line[1], line[7]))
            else:
                open_range.add_bound(line, update, rows)
        return len(lines)

    def drop_entry(self, error: ValueError) -> int:
        """Takes back the rows of the entry being built, and notes why; where the next entry's lines begin."""
        del self.rows[self.mark :]
        self.faults.append(ValueFault.of(self.entry, error))
        at = self.begun
        while at < len(self.lines) and self.updates[self.lines[at] * _UPDATE_WIDTH] == self.entry:
            at += ROW_WIDTH
        return at

    def _begin(self, number: int) -> bool:
        """Turns to the update of that number; whether its rows are delivered."""
        at = number * _UPDATE_WIDTH
        entry, table_number, key_off, key_len = self.updates[at : at + _UPDATE_WIDTH]
        if entry != self.entry:
            self.entry = entry
            self.mark = len(self.rows)
        table = self.prepared.tables[table_number]
        if table.truncations != NO_COLUMN:
            self._add_truncations(number, table)
        if not table.delivered:
            return False
        key = self.data[key_off : key_off + key_len]
        known = self.keys[table_number].get(key)
        if known is None:
            known = self.keys[table_number][key] = _key_text(table, key), murmur3_token(key)
        offset = self.offsets[entry]
        self.update.begin(table, offset, *known, self.place.attrs.get(entry), txn_at(self.place.txn, offset))
        return True

    def _add_truncations(self, number: int, table: PreparedTable) -> None:
        truncations: list[Cell] = []
        at = self.begun
        while at < len(self.lines) and self.lines[at] == number:
            cells_at, cells_n = self.lines[at + ROW_WIDTH - 2 : at + ROW_WIDTH]
            cells = self.cells[cells_at * CELL_WIDTH : (cells_at + cells_n) * CELL_WIDTH]
            truncations += live_truncations(cells, table.truncations)
            at += ROW_WIDTH
        if truncations:
            # The scan has numbered the update's own rows behind them.
            first = self.lines[self.begun + 1] - len(truncations)
            node, position = self.place.node, self.place.of(self.entry)
            self.rows += truncate_rows(truncations, self.data, first, self.prepared.delivered, node, position)


def _key_text(table: PreparedTable, key: bytes) -> str:
    values = split_partition_key(key, len(table.key))
    texts = [column.label + column.json(value) for column, value in zip(table.key, values, strict=True)]
    return "{" + ",".join(texts) + "}"
