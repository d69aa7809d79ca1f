"""Changes: rows of one table that are written together, and their record. Knows no file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from tailer.errors import UsageError
from tailer.scan.record.record import encode_change
from writer_hooks.cell_arrays import Array, Late


class RowsTable(Protocol):
    """What a change has to know of its table (`declared_table.Table`): the two halves of its key, and the rest."""

    name: str
    id: bytes
    fp: bytes
    cdc: bool
    definition: bytes


class Change(msgspec.Struct):
    """Rows of one table, as `Table.insert`, `update`, `delete` and their like make them. Append it once.

    `write_ts`: microseconds since the epoch, by default the time of the append. `attrs`: what the program says of the
    change, in types of JSON (and bytes).
    """

    table: RowsTable
    rows: list[Array]
    late: Sequence[Late] = ()
    write_ts: int | None = None
    attrs: Mapping[str, Any] | None = None

    def encode(self, txn: int | None, write_ts: int) -> bytes:
        """The change's record, an entry's payload."""
        for each in self.late:
            each.settle(write_ts)
        table = self.table
        return encode_change(table.id, table.fp, txn, write_ts, self.rows, self.attrs)

    def __and__(self, other: Change) -> Change:
        """Both changes' rows in one, in this order: they are delivered together or not at all."""
        if other.table is not self.table:
            raise UsageError(
                "a change has rows of one table",
                expected=self.table.name,
                found=other.table.name,
                remedy="Write changes of several tables in a transaction.",
            )
        write_ts = self.write_ts if self.write_ts is not None else other.write_ts
        late = [*self.late, *other.late]
        attrs = {**(self.attrs or {}), **(other.attrs or {})} or None
        return Change(self.table, self.rows + other.rows, late, write_ts, attrs)
