"""Change rows of a query as messages for Spark's own Kafka sink.

    changes = spark.readStream.format("cdc_tail").load("/var/lib/cassandra/cdc_raw")
    envelope(changes, format="debezium").writeStream.format("kafka").option("kafka.bootstrap.servers", …).start()

The same messages as `cdc-tail follow --to kafka` sends; see docs/envelope.md.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from tailer.errors import DefinitionError, UsageError
from tailer.rebuild import Table
from tailer.rows.batch import COLUMNS
from tailer.schema.extras import ORIGIN, PRIMARY, extra_columns
from tailer.schema.model import TableDefinition
from tailer.schema.typed import META, TypedColumn, TypedTable
from tailer.schema.typed_columns import dropped_name
from tailer.sinks.envelope.options import EnvelopeOptions
from tailer.spark.arrow_map import map_in_arrow
from tailer.spark.errors import told
from tailer.typed_decode import decode_json
from tailer.types import parse_type

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

MESSAGE: Final = "topic string, key binary, value binary, headers array<struct<key:string,value:binary>>"
"""What Spark's Kafka sink takes."""


_DROPPED: Final = "_dropped_"
"""Stands in the name of an earlier column of a name between that name and its type (`dropped_name`)."""

_EXTRAS: Final = extra_columns(with_origin=True, with_primary=True)
_MORE: Final = ((), ORIGIN, (PRIMARY,), _EXTRAS)
"""What may stand behind all other columns."""


class Job(msgspec.Struct, frozen=True):
    """What a task needs."""

    options: EnvelopeOptions
    definitions: dict[str, TableDefinition]
    typed: TypedTable | None


def envelope(
    changes: DataFrame,
    tables: Table | TableDefinition | Iterable[Table | TableDefinition] = (),
    *,
    format: str = "debezium",
    topic: str = "{keyspace}.{table}",
    name: str = "cdc-tail",
    tombstones: bool = False,
    with_schema: bool = False,
) -> DataFrame:
    """Messages of change rows: the columns `topic`, `key`, `value` and `headers`.

    `changes`: rows of the generic form, or of the typed form of one table. `tables`: definitions
    (`table_definition`), which `debezium-cassandra`, `with_schema` and the typed form need of every table, the other
    formats of tables with counters, or with collections and user-defined types that are not frozen. `topic`: with
    {keyspace} and {table} for their names. The others: as the options of `follow`.
    """
    given = [tables] if isinstance(tables, (Table, TableDefinition)) else list(tables)
    known = [each if isinstance(each, Table) else Table.of(each) for each in given]
    options = EnvelopeOptions(format, name, topic, tombstones=tombstones, with_schema=with_schema)
    typed = typed_of(changes, known)
    job = Job(options, {each.definition.id: each.definition for each in known}, typed)
    more = [name for name in _EXTRAS if name in changes.columns]
    frame = changes.select(*COLUMNS, *more) if typed is None else changes
    return map_in_arrow(frame, functools.partial(made_messages, msgspec.json.encode(job)), MESSAGE)


def typed_of(changes: DataFrame, tables: Sequence[Table]) -> TypedTable | None:
    """The typed form of a frame, by its columns; None for the generic one."""
    names = changes.columns
    if set(COLUMNS) <= set(names):
        return None
    parts = next(filter(None, (_parts(names, more) for more in _MORE)), None)
    if parts is None:
        raise UsageError(
            "these are no change rows",
            expected="the columns of the generic form or of the typed one, all of them",
            found=", ".join(names),
        )
    if len(tables) != 1:
        raise UsageError("rows of the typed form need the definition of their table", expected=1, found=len(tables))
    return _fitting(changes, tables[0], *parts)


class _Parts(NamedTuple):
    """The columns of a typed form: the table's own, what stands in front of the change's, and those behind them all."""

    own: Sequence[str]
    prefix: str
    more: Sequence[str]


def _parts(names: Sequence[str], more: Sequence[str]) -> _Parts | None:
    """How a form has these columns, if `more` are behind all others; None where they are no form's."""
    begin, end = len(names) - len(more) - len(META), len(names) - len(more)
    if begin < 1:
        return None
    prefix = names[begin].removesuffix(META[0])
    fits = [*names[begin:end], *names[end:]] == [prefix + each for each in (*META, *more)]
    return _Parts(names[:begin], prefix, more) if fits else None


def _fitting(changes: DataFrame, table: Table, own: Sequence[str], prefix: str, more: Sequence[str]) -> TypedTable:
    """The typed form with these columns, whichever way the frame has decimals."""
    from tailer.spark.form import form_schema

    definition = table.definition
    columns = tuple(_column(name, table) for name in own)
    have = [field.dataType.simpleString() for field in changes.schema]
    for decimals in ("decimal", "string"):
        typed = TypedTable(definition.name, columns, definition.types, prefix, decimals)
        if [field.dataType.simpleString() for field in form_schema(typed, more)] == have:
            return typed
    raise UsageError(
        f"the columns of {definition.name} have other types than its definition says",
        remedy="Give the definition that the rows were read by, and all columns as they came.",
    )


def _column(name: str, table: Table) -> TypedColumn:
    """The column with this name in the typed form. UsageError for a name that the table never had."""
    columns = sorted(table.definition.columns, key=lambda column: not column.dropped)
    known = {column.name: column for column in columns}
    if name in known:
        return TypedColumn(name, known[name].kind, known[name].type)
    # `typed_table` adds underscores where another column has the name already.
    base, _, kind = name.rstrip("_").rpartition(_DROPPED)
    if base in known:
        for type_ in (*table.types.get(base, ()), kind):
            with suppress(DefinitionError):
                if dropped_name(base, parse_type(type_, table.definition.types)) == name.rstrip("_"):
                    return TypedColumn(name, known[base].kind, type_, of=base)
    raise UsageError(
        f"a column of {table.name}",
        expected=", ".join(known),
        found=repr(name),
        remedy="Give the table as table_definition gives it: that knows the types that its columns had before.",
    )


def made_messages(job: bytes, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """In a task: a batch of messages for each batch of rows."""
    from tailer.sinks.envelope.envelope import Envelope
    from tailer.sinks.envelope.topics import TopicNames

    with told():
        known = decode_json(job, Job)
        made = Envelope(known.options, known.definitions.get, known.typed)
        topics = TopicNames(known.options.topic, "")
        for batch in batches:
            yield _columns(made.messages(_as_declared(batch, known.typed), time.time_ns() // 1_000_000), topics)


def _as_declared(batch: pyarrow.RecordBatch, typed: TypedTable | None) -> pyarrow.RecordBatch:
    """The batch with the types that rows have in Arrow: Spark names its own time zone, and other parts of lists."""
    import pyarrow

    from tailer.rows.batch import arrow_schema
    from tailer.rows.typed.form import form_of

    schema = arrow_schema() if typed is None else form_of(typed).schema
    # Those behind all others are texts and flags, which Spark has as they are.
    for number in range(len(schema), batch.num_columns):
        schema = schema.append(batch.schema.field(number))
    columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _columns(messages: Any, topics: Any) -> pyarrow.RecordBatch:
    import numpy as np
    import pyarrow as pa

    names = pa.array(map(topics.of, messages.keyspace.to_pylist(), messages.table.to_pylist()), pa.string())
    told = (messages.event_id, messages.node, messages.position)
    texts = pa.concat_arrays([each.cast(pa.binary()) for each in told])
    rows = len(messages)
    by_row = pa.array(np.arange(3 * rows).reshape(3, rows).T.ravel())
    labels = pa.array(["event_id", "node", "position"] * rows, pa.string())
    header = pa.StructArray.from_arrays([labels, texts.take(by_row)], ["key", "value"])
    headers = pa.ListArray.from_arrays(pa.array(np.arange(0, 3 * rows + 1, 3, dtype=np.int32)), header)
    return pa.RecordBatch.from_arrays(
        [names, messages.key, messages.value, headers], ["topic", "key", "value", "headers"]
    )
