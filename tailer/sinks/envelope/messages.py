"""Messages in columns, and one by one. Knows no format and no topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from tailer.rows.arrow_texts import joined, letters

Headers = Sequence[tuple[str, bytes]]


class Message(NamedTuple):
    """One message. `row`: the number of its row in the batch. The others: see `Messages`."""

    row: int
    keyspace: str
    table: str
    key: bytes | None
    value: bytes | None
    token: int | None
    headers: Headers


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages in the order in which they are to be sent, as Arrow columns of one length.

    `row`: the number of each one's row in the batch it was made of. `op` and `token` are the change row's. `position`:
    where the change stands, as `segment:offset`. `key` and `value` are bytes: a change of no partition (`truncate`,
    `schema`) has no key, and a null value is a tombstone, which stands behind the message of its row.
    """

    row: pa.Array
    keyspace: pa.Array
    table: pa.Array
    key: pa.Array
    value: pa.Array
    token: pa.Array
    op: pa.Array
    event_id: pa.Array
    node: pa.Array
    position: pa.Array

    def __len__(self) -> int:
        return len(self.row)

    def __iter__(self) -> Iterator[Message]:
        columns = (self.row, self.keyspace, self.table, self.key, self.value, self.token)
        headed = (self.event_id, self.node, self.position)
        values = [each.to_pylist() for each in (*columns, *(each.cast(pa.binary()) for each in headed))]
        for row, keyspace, table, key, value, token, event_id, node, position in zip(*values, strict=True):
            headers = (("event_id", event_id), ("node", node), ("position", position))
            yield Message(row, keyspace, table, key, value, token, headers)

    def lines(self) -> bytes:
        """The values as lines, each ended by a newline; tombstones have none. For formats that are JSON."""
        return letters(joined(self.value.drop_null(), "\n")).tobytes()
