"""The current state of a table: its rows put together from its changes, as SELECT would give them.

    current_state(spark, "/var/lib/cassandra/cdc_raw", "shop.orders")          from a log folder
    rebuild(changes, table_definition("/var/lib/cassandra/cdc_raw", "shop.orders"))      from changes landed before

See docs/tables.md for the rules.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from tailer.definitions.history import DefinitionHistory
from tailer.definitions.named_tables import nothing_defines
from tailer.definitions.whole_folder import learn
from tailer.errors import UsageError
from tailer.options.to_spark import parse_options
from tailer.position import Position
from tailer.rebuild import Table
from tailer.rebuild.changes import NEEDED
from tailer.rebuild.table import plan_of
from tailer.schema.model import TableDefinition
from tailer.spark.arrow_map import map_in_arrow
from tailer.spark.rebuilding import PACKED, Rebuilding, encoded, pack_changes, rebuild_rows
from tailer.types.cql import Decimals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from tailer.rebuild.arrow import OnMisfit

_BEFORE: Final = "_before"


def current_state(
    spark: SparkSession,
    path: str | os.PathLike[str],
    table: str,
    *,
    at: int | datetime | None = None,
    decimals: Decimals = "decimal",
    on_misfit: OnMisfit = "fail",
    **options: str,
) -> DataFrame:
    """The rows of `keyspace.table` by all changes that the log folder holds now.

    `path`: a folder, or `NODE=DIR,NODE=DIR`: changes of all nodes count together. `options`: those of the data source
    (`schemaFile`, `server`, `stateDir`, `stopped`, …). The others: see `rebuild`. The folder is read twice, once
    for truncations alone.
    """
    definition = table_definition(path, table, **options)
    # It is known by now: nobody has to look for it again.
    reader = spark.read.format("cdc_tail").options(**{**options, "tables": table, "tablesMayCome": "true"})
    return rebuild(reader.load(os.fspath(path)), definition, at=at, decimals=decimals, on_misfit=on_misfit)


def rebuild(
    changes: DataFrame,
    table: Table | TableDefinition,
    *,
    at: int | datetime | None = None,
    decimals: Decimals = "decimal",
    on_misfit: OnMisfit = "fail",
) -> DataFrame:
    """The rows of a table by its change rows, in the columns and types of the typed form.

    `changes`: rows of the generic form, of any tables and nodes, in any order, repeated or not; read from the log, or
    from where they were landed. `at`: the time (seconds since 1970, or a datetime) at which cells with a TTL are alive
    or not; now, if not given. `decimals`: `string` for decimals and varints of any size. `on_misfit`: a value that its
    Spark type has no room for is an error, or `null`. Lazy: the errors of what the
    rows hold (`[CDC-3] …`) come when the frame is used.
    """
    given = table if isinstance(table, Table) else Table.of(table)
    task = Rebuilding(given, seconds_of(at), decimals, on_misfit=on_misfit)
    packed = packed_facts(_not_truncated(changes_of(changes, given)), task)
    ordered = packed.repartition("partition").sortWithinPartitions("partition")
    schema = own_schema(given, decimals, changes.sparkSession)
    return map_in_arrow(ordered, partial(rebuild_rows, encoded(task)), schema)


def table_definition(path: str | os.PathLike[str], table: str, **options: str) -> Table:
    """What is known now of `keyspace.table`: its newest definition and what rebuilding needs of earlier ones.

    From the journal beside the log, the log itself, `schemaFile` and `server`, options as those of the data source.
    Writes nothing. DefinitionError if nothing defines the table.
    """
    source = parse_options({**options, "path": os.fspath(path)})
    found: list[tuple[tuple[bool, Position], Table]] = []
    known: list[TableDefinition] = []
    errors = []
    keys = source.tail.keys()
    for node, folder in source.folders:
        learnt = learn(folder, source.of(node, once=True), keys)
        errors += learnt.errors
        known += learnt.history.newest.values()
        found += _known(learnt.history, table)
    if not found:
        if errors:
            raise errors[0]
        raise nothing_defines((table,), known, may_come=False, file=os.fspath(path))
    return max(found, key=lambda each: each[0])[1]


def seconds_of(at: float | datetime | None) -> int:
    """A time in seconds since 1970."""
    if at is None:
        return int(time.time())
    return int(at.timestamp()) if isinstance(at, datetime) else int(at)


def changes_of(changes: DataFrame, table: Table) -> DataFrame:
    """The table's rows among generic change rows. UsageError for a frame of another form."""
    from pyspark.sql import functions as F

    missing = [name for name in NEEDED if name not in changes.columns]
    if missing:
        raise UsageError(
            "these are no change rows of the generic form",
            expected=f"the columns {', '.join(NEEDED)}",
            found=f"no {missing[0]}",
            remedy="Read them with format('cdc_tail') without the option `table`.",
        )
    return changes.where(F.col("table_id") == str(UUID(table.definition.id))).select(*NEEDED)


def packed_facts(changes: DataFrame, task: Rebuilding) -> DataFrame:
    """What the changes of the task's table say, row by row of the table."""
    return map_in_arrow(changes, partial(pack_changes, encoded(task)), PACKED)


def own_schema(table: Table, decimals: Decimals, spark: SparkSession) -> StructType:
    """The Spark schema of the table's own columns. UsageError for names that Spark cannot tell apart."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from tailer.rebuild.arrow import row_columns

    schema = from_arrow_schema(row_columns(plan_of(table), decimals).schema)
    sensitive = spark.conf.get("spark.sql.caseSensitive", "false") == "true"
    names = schema.names if sensitive else [name.casefold() for name in schema.names]
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise UsageError(
            f"the names of columns of {table.name} are equal but for case: {again}",
            remedy="Tell them apart with spark.sql.caseSensitive=true.",
        )
    return schema


def _not_truncated(changes: DataFrame) -> DataFrame:
    """The changes that no TRUNCATE of their node voids."""
    from pyspark.sql import functions as F

    place = [F.get_json_object("range", f"$.before.{name}").cast("long").alias(name) for name in ("segment", "offset")]
    truncates = changes.where(F.col("op") == "truncate").select("node", F.struct(*place).alias("place"))
    latest = truncates.groupBy("node").agg(F.max("place").alias(_BEFORE))
    stands = F.col(_BEFORE).isNull() | (F.struct("segment", "offset") >= F.col(_BEFORE))
    return changes.join(F.broadcast(latest), "node", "left").where(stands).drop(_BEFORE)


def _known(history: DefinitionHistory, name: str) -> Iterable[tuple[tuple[bool, Position], Table]]:
    """Every table that had the name, with a key that is greatest for the one that has it now."""
    for id, newest in history.newest.items():
        if newest.name == name:
            event = history.source_of(id)
            earlier = [held for each in history.events for held in each.changed.values() if held.id == id]
            since = Position(0, 0) if event is None else event.at
            yield (not newest.dropped, since), Table.of(newest, earlier, native=history.is_native(id))
