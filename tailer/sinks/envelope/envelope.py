"""From a batch of change rows to messages: the one door of this package. Knows which format makes what of a row.

What a message has besides its value is the same in all formats: topic, key, headers, and tombstones behind deletes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailer.rows.arrow_texts import joined
from tailer.schema.typed import TypedTable
from tailer.sinks.envelope.changes import Changes
from tailer.sinks.envelope.generic import GenericChanges
from tailer.sinks.envelope.messages import Messages
from tailer.sinks.envelope.topics import Topics
from tailer.sinks.table_text import Tables


@dataclass(frozen=True, slots=True)
class EnvelopeOptions:
    """`format`: one of FORMATS. `name`: `source.name`, by which readers tell sources apart. `topic`: see `Topics`.

    `tombstones`: a message without value behind each that deletes one row, with the same key.
    """

    format: str = "rows"
    name: str = "cdc-tail"
    topic: str = "{keyspace}.{table}"
    tombstones: bool = False


class Envelope:
    """Makes messages of batches. `typed`: rows are of that typed form; None: of the generic one."""

    def __init__(self, options: EnvelopeOptions, tables: Tables, typed: TypedTable | None = None) -> None:
        self._options = options
        self._tables = tables
        self._typed = typed
        self._topics = Topics(options.topic)
        self._values = FORMATS[options.format]

    def messages(self, batch: pa.RecordBatch, at_ms: int) -> Messages:
        """The messages of the rows, in order. `at_ms`: the time that those say which tell when they were made."""
        changes = GenericChanges(batch, self._tables)
        made = Messages(
            row=pa.array(np.arange(len(changes))),
            topic=self._topic(changes),
            key=changes.key,
            value=self._values(changes, self._options, at_ms),
            op=changes.column("op"),
            event_id=changes.column("event_id"),
            node=changes.column("node"),
            position=joined(changes.text("segment"), ":", changes.text("offset")).cast(pa.string()),
        )
        return with_tombstones(made) if self._options.tombstones else made

    def _topic(self, changes: Changes) -> pa.Array:
        keyspace, table = changes.names()
        known = joined(keyspace, "\0", table).dictionary_encode()
        topics = [self._topics.of(*name.split("\0")) for name in known.dictionary.to_pylist()]
        return pa.array(topics, pa.string()).take(known.indices)


def with_tombstones(messages: Messages) -> Messages:
    """A message without value behind each that deletes one row, for topics that keep the last of each key."""
    deletes = np.asarray(pc.equal(messages.op, "delete_row"))
    if not deletes.any():
        return messages
    times = np.where(deletes, 2, 1)
    rows = np.repeat(np.arange(len(messages)), times)
    again = np.zeros(len(rows), np.bool_)
    again[np.cumsum(times)[deletes] - 1] = True
    columns = {name: getattr(messages, name).take(pa.array(rows)) for name in Messages.__slots__}
    columns["value"] = pc.if_else(pa.array(again), pa.scalar(None, columns["value"].type), columns["value"])
    return Messages(**columns)


def _rows(changes: Changes, options: EnvelopeOptions, at_ms: int) -> pa.Array:
    return changes.lines()


Values = Callable[[Changes, EnvelopeOptions, int], pa.Array]
FORMATS: Final[Mapping[str, Values]] = {"rows": _rows}
"""By the word of `--format`: what makes the values."""
