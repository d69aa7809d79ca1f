"""From a batch of change rows to messages: the one door of this package. Knows which format makes what of a row.

What a message has besides its value is the same in all formats: key, headers, and tombstones behind deletes.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailer.errors import UsageError
from tailer.rows.arrow_texts import joined
from tailer.schema.typed import TypedTable
from tailer.sinks.envelope.cassandra import Connector
from tailer.sinks.envelope.changes import Changes
from tailer.sinks.envelope.debezium import Debezium
from tailer.sinks.envelope.debezium_schema import DebeziumWithSchema
from tailer.sinks.envelope.generic import GenericChanges
from tailer.sinks.envelope.images import ImageChanges
from tailer.sinks.envelope.messages import Messages
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.sinks.envelope.registry import HttpRegistry
from tailer.sinks.envelope.topics import TopicNames
from tailer.sinks.envelope.typed import TypedChanges
from tailer.sinks.in_force import Versions, no_versions
from tailer.sinks.table_text import Tables

FORMATS: Final = ("rows", "debezium", "debezium-cassandra")
"""The words of `--format` whose values are JSON."""

AVRO: Final = "debezium-avro"

IMAGE_FORMATS: Final = ("rows", "debezium", AVRO)
"""Those that images have too."""


class Format(Protocol):
    """Makes the keys and values of messages."""

    def made(self, changes: Changes, at_ms: int) -> tuple[pa.Array, pa.Array]:
        """Both in columns of bytes; see `Envelope.messages`."""
        ...


class Envelope:
    """Makes messages of batches. `typed`: rows are of that typed form; None: of the generic one. `images`: they are
    images, with those formats that IMAGE_FORMATS names.

    `tables` is asked for newest definitions by table id, `versions` for all that a table had: each row is written by
    the one that was in force for it. Without a definition a table's rows are messages too, as long as nothing in them
    was changed by element.
    """

    def __init__(
        self,
        options: EnvelopeOptions,
        tables: Tables,
        typed: TypedTable | None = None,
        *,
        images: bool = False,
        versions: Versions = no_versions,
    ) -> None:
        if images and options.format not in IMAGE_FORMATS:
            raise UsageError("--format with --image", expected=" or ".join(IMAGE_FORMATS), found=options.format)
        self._images = images
        self._options = options
        self._tables = tables
        self._versions = versions
        self._typed = typed
        self._format = _format(options)

    def messages(self, batch: pa.RecordBatch, at_ms: int) -> Messages:
        """The messages of the rows, in order. `at_ms`: the time that those say which tell when they were made.

        DefinitionError for rows whose table has to be known and is not.
        """
        changes = self._changes(batch)
        keyspace, table = changes.names()
        key, value = self._format.made(changes, at_ms)
        made = Messages(
            row=pa.array(np.arange(len(changes))),
            keyspace=keyspace,
            table=table,
            key=key,
            value=value,
            token=changes.column("token"),
            op=changes.column("op"),
            event_id=changes.ids,
            node=changes.column("node"),
            position=joined(changes.text("segment"), ":", changes.text("offset")).cast(pa.string()),
        )
        return with_tombstones(made, changes.deletes_row) if self._options.tombstones else made

    def _changes(self, batch: pa.RecordBatch) -> Changes:
        if self._images:
            return ImageChanges(batch, self._tables, self._versions)
        if self._typed is None:
            return GenericChanges(batch, self._tables, self._versions)
        return TypedChanges(batch, self._tables, self._typed, self._versions)


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


class _Rows:
    """The format `rows`: change rows as `--output json` prints them."""

    def made(self, changes: Changes, at_ms: int) -> tuple[pa.Array, pa.Array]:
        return changes.key, changes.lines()


def _format(options: EnvelopeOptions) -> Format:
    if options.with_schema and options.format != "debezium":
        raise UsageError("--with-schema", expected="--format debezium", found=f"--format {options.format}")
    if options.registry is not None and options.format != AVRO:
        raise UsageError("--registry", expected=f"--format {AVRO}", found=f"--format {options.format}")
    match options.format:
        case "rows":
            return _Rows()
        case "debezium":
            return (DebeziumWithSchema if options.with_schema else Debezium)(version(), options.name)
        case "debezium-cassandra":
            return Connector(version(), options.name)
        case "debezium-avro":
            return _avro(options)
    raise UsageError("--format", expected=" or ".join((*FORMATS, AVRO)), found=repr(options.format))


def _avro(options: EnvelopeOptions) -> Format:
    try:
        from tailer.sinks.envelope.avro import DebeziumAvro
    except ImportError as error:
        raise UsageError(
            f"--format {AVRO} needs the package {error.name}", remedy="Install it: pip install 'cdc-tail[avro]'."
        ) from error
    registry = None if options.registry is None else HttpRegistry(options.registry)
    topics = TopicNames(options.topic, options.node)
    return DebeziumAvro(version(), options.name, topics, registry, options.registry_ids)
