"""Change rows as messages for a topic: key, value, headers, and what decides the partition.

The key is the primary key as JSON. The partition goes by the token of the partition key alone, so that a deletion of a
whole partition or range of the table stays in order with the rows that it is of. Knows no topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from tailer.schema.typed import TypedTable
from tailer.sinks.base import Rows
from tailer.sinks.kafka.record_size import Headers
from tailer.sinks.table_text import Tables
from tailer.sinks.typed_rows import TypedRows

_META: Final = ("op", "table_id", "token", "node", "segment", "offset", "event_id")
_GENERIC: Final = ("keyspace", "table", "partition_key", "clustering")


class Message(NamedTuple):
    """`row`: its number in the batch. `value`: None for a tombstone."""

    row: int
    keyspace: str
    table: str
    key: bytes | None
    value: bytes | None
    token: int | None
    headers: Headers


class Messages:
    """Makes them of batches. `typed`: rows are of that form. `tombstones`: one behind each deletion of a row."""

    def __init__(self, typed: TypedTable | None, tables: Tables, *, tombstones: bool) -> None:
        self._typed = typed
        self._rows = None if typed is None else TypedRows(typed)
        self._tables = tables
        self._tombstones = tombstones

    def of(self, batch: Rows) -> Iterator[Message]:
        """In the order of the rows."""
        lines = batch.json_lines().split(b"\n")
        arrow = batch.to_arrow()
        prefix = "" if self._typed is None else self._typed.prefix
        meta = [arrow.column(prefix + name).to_pylist() for name in _META]
        for row, (line, key, *told) in enumerate(zip(lines, self._keys(arrow, lines), *meta, strict=False)):
            op, table_id, token, node, segment, offset, event_id = told
            keyspace, table, text = key
            headers = (
                ("event_id", event_id.encode()),
                ("node", node.encode()),
                ("position", f"{segment}:{offset}".encode()),
            )
            yield Message(row, keyspace, table, text, line, token, headers)
            if self._tombstones and text is not None and self._of_one_row(op, table_id):
                yield Message(row, keyspace, table, text, None, token, headers)

    def _keys(self, arrow: Any, lines: Sequence[bytes]) -> Iterator[tuple[str, str, bytes | None]]:
        """Keyspace and table of each row, and its key."""
        if self._typed is None or self._rows is None:
            for keyspace, table, partition, clustering in zip(
                *(arrow.column(name).to_pylist() for name in _GENERIC), strict=True
            ):
                yield keyspace, table, _joined(partition, clustering)
            return
        keyspace, _, table = self._typed.table.partition(".")
        for line in lines[: arrow.num_rows]:
            row = self._rows.read(line)
            fields = {**(row.partition_key or {}), **(row.clustering or {})}
            yield keyspace, table, msgspec.json.encode(fields) if fields else None

    def _of_one_row(self, op: str, table_id: str) -> bool:
        """Whether a change deletes the one row that has its key, and no others besides."""
        if op != "delete_partition":
            return op == "delete_row"
        definition = self._tables(table_id.replace("-", ""))
        return definition is not None and not definition.clustering


def _joined(partition: str | None, clustering: str | None) -> bytes | None:
    """The columns of both objects in one; None for a change that is of no partition."""
    if partition is None:
        return None
    if clustering is None or clustering == "{}":
        return partition.encode()
    return f"{partition[:-1]},{clustering[1:]}".encode()
