"""Messages in columns, and one by one. Knows no format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa


class Message(NamedTuple):
    """One message. `row`: the number of its row in the batch. `value`: None for a tombstone."""

    row: int
    topic: str
    key: bytes
    value: bytes | None
    headers: list[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages in the order in which they are to be sent, as Arrow columns of one length.

    `row`: the number of each one's row in the batch it was made of. `topic`, `op`, `event_id`, `node`, `position` are
    text: `op` as the change row has it, `position` where the change stands, as `segment:offset`. `key` and `value` are
    bytes; a null value is a tombstone, which stands behind the message of its row.
    """

    row: pa.Array
    topic: pa.Array
    key: pa.Array
    value: pa.Array
    op: pa.Array
    event_id: pa.Array
    node: pa.Array
    position: pa.Array

    def __len__(self) -> int:
        return len(self.row)

    def __iter__(self) -> Iterator[Message]:
        columns = (self.row, self.topic, self.key, self.value, self.event_id, self.node, self.position)
        for row, topic, key, value, event_id, node, position in zip(
            *(each.to_pylist() for each in columns), strict=True
        ):
            headers = [("event_id", event_id.encode()), ("node", node.encode()), ("position", position.encode())]
            yield Message(row, topic, key, value, headers)

    def lines(self) -> bytes:
        """The values as lines, each ended by a newline; tombstones have none. For formats that are JSON."""
        if self.value.null_count:
            return b"".join(value + b"\n" for value in self.value.to_pylist() if value is not None)
        from tailer.rows.arrow_texts import joined, letters

        return letters(joined(self.value, "\n")).tobytes()
