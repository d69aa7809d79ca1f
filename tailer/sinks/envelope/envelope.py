"""From a batch of change rows to messages: the one door of this package. Knows which format makes what of a row.

What a message has besides its value is the same in all formats: key, headers, and tombstones behind deletes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailer.rows.arrow_texts import joined
from tailer.schema.typed import TypedTable
from tailer.sinks.envelope.changes import Changes
from tailer.sinks.envelope.debezium import CONNECTOR, Debezium
from tailer.sinks.envelope.generic import GenericChanges
from tailer.sinks.envelope.messages import Messages
from tailer.sinks.envelope.typed import TypedChanges
from tailer.sinks.table_text import Tables


@dataclass(frozen=True, slots=True)
class EnvelopeOptions:
    """`format`: one of FORMATS. `name`: by which readers tell sources apart (`source.name`).

    `tombstones`: a message without value behind each that deletes one row, with the same key.
    """

    format: str = "rows"
    name: str = CONNECTOR
    tombstones: bool = False


class Envelope:
    """Makes messages of batches. `typed`: rows are of that typed form; None: of the generic one.

    `tables` is asked for definitions by table id. Without one a table's rows are messages too, as long as nothing in
    them was changed by element.
    """

    def __init__(self, options: EnvelopeOptions, tables: Tables, typed: TypedTable | None = None) -> None:
        self._options = options
        self._tables = tables
        self._typed = typed
        self._values = FORMATS[options.format]

    def messages(self, batch: pa.RecordBatch, at_ms: int) -> Messages:
        """The messages of the rows, in order. `at_ms`: the time that those say which tell when they were made.

        DefinitionError for rows whose table has to be known and is not.
        """
        changes = self._changes(batch)
        keyspace, table = changes.names()
        made = Messages(
            row=pa.array(np.arange(len(changes))),
            keyspace=keyspace,
            table=table,
            key=changes.key,
            value=self._values(changes, self._options, at_ms),
            token=changes.column("token"),
            op=changes.column("op"),
            event_id=changes.column("event_id"),
            node=changes.column("node"),
            position=joined(changes.text("segment"), ":", changes.text("offset")).cast(pa.string()),
        )
        return with_tombstones(made, changes.deletes_row) if self._options.tombstones else made

    def _changes(self, batch: pa.RecordBatch) -> Changes:
        if self._typed is None:
            return GenericChanges(batch, self._tables)
        return TypedChanges(batch, self._tables, self._typed)


def with_tombstones(messages: Messages, deletes_row: pa.Array) -> Messages:
    """A message without value behind each that deletes one row, for topics that keep the last of each key."""
    deletes = np.asarray(deletes_row)
    if not deletes.any():
        return messages
    times = np.where(deletes, 2, 1)
    rows = pa.array(np.repeat(np.arange(len(messages)), times))
    again = np.zeros(len(rows), np.bool_)
    again[np.cumsum(times)[deletes] - 1] = True
    columns: dict[str, Any] = {name: getattr(messages, name).take(rows) for name in Messages.__slots__}
    columns["value"] = pc.if_else(pa.array(again), pa.scalar(None, columns["value"].type), columns["value"])
    return Messages(**columns)


@cache
def version() -> str:
    """The installed distribution's."""
    try:
        return metadata.version("cdc-tail")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _rows(changes: Changes, options: EnvelopeOptions, at_ms: int) -> pa.Array:
    return changes.lines()


def _debezium(changes: Changes, options: EnvelopeOptions, at_ms: int) -> pa.Array:
    return Debezium(changes, version(), options.name).values(at_ms)


Values = Callable[[Changes, EnvelopeOptions, int], pa.Array]
FORMATS: Final[Mapping[str, Values]] = {"rows": _rows, "debezium": _debezium}
"""By the word of `--format`: what makes the values."""
