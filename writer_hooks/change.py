"""Changes: rows of one table that are written together, and their record. Knows no file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from tailer.errors import UsageError
from tailer.scan.record.record import encode_attrs, encode_change
from tailer.scan.record.valid import is_time
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
    change, in types of JSON (and bytes). `rows`: arrays, or such as are encoded already.
    """

    table: RowsTable
    rows: Sequence[Array | msgspec.Raw]
    late: Sequence[Late] = ()
    write_ts: int | None = None
    attrs: Mapping[str, Any] | None = None

    def encode(self, txn: int | None, write_ts: int) -> bytes:
        """The change's record, an entry's payload. UsageError for a time or attributes that no reader would take."""
        if self.write_ts is not None and not is_time(write_ts):
            raise self._refused_ts(write_ts)
        for each in self.late:
            if not each.settle(write_ts):
                raise self._refused_ts(write_ts)
        attrs = None if self.attrs is None else self._packed_attrs(self.attrs)
        table = self.table
        return encode_change(table.id, table.fp, txn, write_ts, self.rows, attrs)

    def _packed_attrs(self, attrs: Mapping[str, Any]) -> msgspec.Raw:
        try:
            return encode_attrs(attrs)
        except ValueError as error:
            raise UsageError(
                f"attrs of a change of {self.table.name}: {error}",
                expected="a dict by text, of types of JSON (and bytes)",
                found=f"{attrs!r:.80}",
            ) from None

    def _refused_ts(self, write_ts: object) -> UsageError:
        return UsageError(
            f"write_ts of a change of {self.table.name}",
            expected="whole microseconds since 1970, in 64 bits (with a ttl: such that it ends in 1970 or later)",
            found=repr(write_ts),
        )

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
        return Change(self.table, [*self.rows, *other.rows], late, write_ts, attrs)
