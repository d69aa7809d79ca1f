"""The current state of a table: its rows put together from its changes, as SELECT would give them.

    current_state(spark, "/var/lib/cassandra/cdc_raw", "shop.orders")          from a log folder
    rebuild(changes, table_definition("/var/lib/cassandra/cdc_raw", "shop.orders"))      from changes landed before

See docs/tables.md for the rules.
"""

from __future__ import annotations

import functools
import os
import time
from datetime import datetime
from typing import TYPE_CHECKING, Final

from tailer.errors import UsageError
from tailer.rebuild import Table
from tailer.rebuild.changes import NEEDED
from tailer.rebuild.table import plan_of
from tailer.schema.model import TableDefinition
from tailer.spark.arrow_map import map_in_arrow
from tailer.spark.frames import check_changes, rows_of, rows_of_name
from tailer.spark.known_table import check_read, find_table
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
    partial: bool = False,
    **options: str,
) -> DataFrame:
    """The rows of `keyspace.table` by all changes that the log folder holds now.

    `path`: a folder, or `NODE=DIR,NODE=DIR`: changes of all nodes count together. `options`: those of the data source
    (`schemaFile`, `server`, `stateDir`, `stopped`, …). The others: see `rebuild`. The folder is read twice, once
    for truncations alone. LossError where it does not hold every change since the table was created, unless `partial`.
    """
    found = find_table(path, table, options)
    if not partial:
        found.check()
    # It is known by now: nobody has to look for it again.
    reader = spark.read.format("cdc_tail").options(**{**options, "tables": table, "tablesMayCome": "true"})
    changes = reader.load(os.fspath(path))
    return rebuild(changes, found.table, at=at, decimals=decimals, on_misfit=on_misfit, partial=True)


def rebuild(
    changes: DataFrame,
    table: Table | TableDefinition,
    *,
    at: int | datetime | None = None,
    decimals: Decimals = "decimal",
    on_misfit: OnMisfit = "fail",
    partial: bool = False,
) -> DataFrame:
    """The rows of a table by its change rows, in the columns and types of the typed form.

    `changes`: rows of the generic form, of any tables and nodes, in any order, repeated or not; read from the log, or
    from where they were landed. `at`: the time (seconds since 1970, or a datetime) at which cells with a TTL are alive
    or not; now, if not given. `decimals`: `string` for decimals and varints of any size. `on_misfit`: a value that its
    Spark type has no room for is an error, or `null`. Lazy: the errors of what the
    rows hold (`[CDC-3] …`) come when the frame is used. Changes that are read from a log folder, not from where they
    were landed, are a LossError where the folder does not hold all since the table was created, unless `partial`.
    """
    given = table if isinstance(table, Table) else Table.of(table)
    if not partial:
        check_read(changes, given.definition)
    task = Rebuilding(given, seconds_of(at), decimals, on_misfit=on_misfit)
    packed = packed_facts(_not_truncated(changes_of(changes, given), given), task)
    ordered = packed.repartition("partition").sortWithinPartitions("partition")
    schema = own_schema(given, decimals, changes.sparkSession)
    return map_in_arrow(ordered, functools.partial(rebuild_rows, encoded(task)), schema)


def table_definition(path: str | os.PathLike[str], table: str, **options: str) -> Table:
    """What is known now of `keyspace.table`: its newest definition and what rebuilding needs of earlier ones.

    From the journal beside the log, the log itself, `schemaFile` and `server`, options as those of the data source.
    Writes nothing. DefinitionError if nothing defines the table.
    """
    return find_table(path, table, options).table


def seconds_of(at: float | datetime | None) -> int:
    """A time in seconds since 1970."""
    if at is None:
        return int(time.time())
    return int(at.timestamp()) if isinstance(at, datetime) else int(at)


def changes_of(changes: DataFrame, table: Table) -> DataFrame:
    """The table's rows among generic change rows. UsageError for a frame of another form."""
    check_changes(changes, NEEDED)
    return rows_of(changes, table, NEEDED)


def named_changes(changes: DataFrame, table: Table) -> DataFrame:
    """The table's change rows, and those of others that had its name: see `rows_of_name`. UsageError for a frame of
    another form."""
    check_changes(changes, NEEDED)
    return rows_of_name(changes, table, NEEDED)


def packed_facts(changes: DataFrame, task: Rebuilding) -> DataFrame:
    """What the changes of the task's table say, row by row of the table."""
    return map_in_arrow(changes, functools.partial(pack_changes, encoded(task)), PACKED)


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


def _not_truncated(changes: DataFrame, table: Table) -> DataFrame:
    """The changes that no TRUNCATE of their node voids, and no DROP before the table was made again with its id."""
    from pyspark.sql import functions as F

    place = [F.get_json_object("range", f"$.before.{name}").cast("long").alias(name) for name in ("segment", "offset")]
    truncates = changes.where(F.col("op") == "truncate").select("node", F.struct(*place).alias("place"))
    if not table.definition.dropped:
        drops = changes.where((F.col("op") == "schema") & F.col("columns").isNull())
        truncates = truncates.unionByName(drops.select("node", F.struct("segment", "offset").alias("place")))
    latest = truncates.groupBy("node").agg(F.max("place").alias(_BEFORE))
    stands = F.col(_BEFORE).isNull() | (F.struct("segment", "offset") >= F.col(_BEFORE))
    return changes.join(F.broadcast(latest), "node", "left").where(stands).drop(_BEFORE)
