"""Change rows one by one, for formats that spell each value anew. Slower than columns; knows no format."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any, Final, NamedTuple

from tailer.errors import SinkError
from tailer.position import Position
from tailer.sinks.envelope.changes import Changes

_COLUMNS: Final = (
    "table_id", "op", "is_static", "range", "cells", "write_ts", "ttl", "expires_at", "node", "segment", "offset",
    "event_id", "txn", "attrs",
)  # fmt: skip


class RowValues(NamedTuple):
    """One change row; those that `Changes` makes are UTF-8 bytes, the others as the generic form has them."""

    partition: bytes
    clustering: bytes
    assigned: bytes
    deltas: bytes | None
    deletes_row: bool
    puts: bool
    former: bytes | None
    partial: bool
    keyspace: str
    table: str
    table_id: str
    op: str
    is_static: bool
    range: str | None
    cells: str | None
    write_ts: int | None
    ttl: int | None
    expires_at: int | None
    node: str | None
    segment: int | None
    offset: int | None
    event_id: str | None
    txn: str | None
    attrs: str | None
    extras: dict[str, Any]
    """The columns behind all others, by name."""

    @property
    def write_ms(self) -> int | None:
        """`write_ts` in milliseconds, rounded down."""
        return None if self.write_ts is None else self.write_ts // 1000

    def misfit(self, error: Exception) -> SinkError:
        """The error for a value that its column's definition, or the format, does not fit."""
        return SinkError(
            f"a row of {self.keyspace}.{self.table} does not fit the table's definition, or the format: {error}",
            at=None if self.segment is None or self.offset is None else Position(self.segment, self.offset),
            remedy="The formats rows and debezium, without a schema, have every value.",
        )


def rows_of(changes: Changes) -> Iterator[RowValues]:
    """The rows in order."""
    fields = (changes.partition, changes.clustering, changes.assigned, changes.deltas)
    made = (*fields, changes.deletes_row, changes.puts, changes.former, changes.partial)
    columns = [*made, *changes.names(), *map(changes.column, _COLUMNS)]
    extras = changes.extras
    names, more = [name for name, _ in extras], (values.to_pylist() for _, values in extras)
    added = zip(*more, strict=True) if extras else repeat((), len(changes))
    for values, said in zip(zip(*(column.to_pylist() for column in columns), strict=True), added, strict=True):
        yield RowValues._make((*values, dict(zip(names, said, strict=True))))
