"""A table kept in Delta Lake as its changes come: last write wins, exact for late and repeated rows.

    merge = DeltaMerge(spark, "/lake/orders", table_definition("/var/lib/cassandra/cdc_raw", "shop.orders"))
    changes.writeStream.foreachBatch(merge).option("checkpointLocation", …).start()
    live_rows(spark, "/lake/orders").show()

Beside the table's own columns stand `_partition`, `_row` (its identity), `_live`, `_until` (when something in it
expires) and `_state` (what later changes have to be compared with). See docs/tables.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tailer.errors import RefusedError, UsageError
from tailer.position import Position
from tailer.rebuild import Table
from tailer.rebuild.changes import truncation
from tailer.schema.model import Column, TableDefinition
from tailer.spark.arrow_map import map_in_arrow
from tailer.spark.merged import Merged, pack_merged, unpack_merged
from tailer.spark.rebuilding import STORED, TABLE_ROW, Rebuilding, encoded, merge_rows, rebuild_rows
from tailer.spark.state import changes_of, own_schema, packed_facts, seconds_of
from tailer.types.cql import Decimals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from tailer.rebuild.arrow import OnMisfit

_MERGED: Final = "partition binary, row binary, facts binary, live boolean, until long"


class DeltaMerge:
    """Merges change rows into one Delta table; call it as `foreachBatch` does. One writer for each Delta table.

    `target`: a path, or the name of a table in the catalog; it is made with the first batch. `table`: the definition
    (`table_definition`), or a function that gives the newest one, asked for each batch; `schema` rows in the batch
    (`includeSchemaChanges`) count as well. `decimals`, `on_misfit`: as in `rebuild`. `now`: the clock by which cells
    with a TTL expire.
    """

    def __init__(
        self,
        spark: SparkSession,
        target: str,
        table: Table | TableDefinition | Callable[[], Table],
        *,
        decimals: Decimals = "decimal",
        on_misfit: OnMisfit = "fail",
        prefix: str = "_",
        now: Callable[[], float] = time.time,
    ) -> None:
        _delta_table()
        self._spark = spark
        self._target = target
        self._decimals = decimals
        self._on_misfit = on_misfit
        self._prefix = prefix
        self._now = now
        self._ask = table if callable(table) else None
        self._known: Merged | None = None
        self._schema: StructType | None = None
        self._table = table if isinstance(table, Table) else None
        if isinstance(table, TableDefinition):
            self._table = Table.of(table)

    def __call__(self, changes: DataFrame, batch_id: int) -> None:
        """Merge a micro-batch of generic change rows. Given again, or with rows known already, it changes nothing."""
        table = self._newest()
        mine = changes_of(changes, table).persist()
        try:
            if mine.isEmpty():
                return
            rare = [row.asDict() for row in mine.where("op in ('truncate', 'schema')").collect()]
            table = _with_schema_rows(table, rare)
            self._merge(mine, table, _truncations(rare))
        finally:
            mine.unpersist()

    def refresh(self, *, everything: bool = False) -> None:
        """Bring up to date what has expired since it was merged; `everything`: every row, by the newest definition."""
        table = self._newest()
        self._merge(None, table, {}, renewed=everything)

    def _newest(self) -> Table:
        if self._ask is not None:
            asked = self._ask()
            self._table = asked if self._table is None else _newer(self._table, asked)
        assert self._table is not None
        return self._table

    def _merge(
        self, changes: DataFrame | None, table: Table, truncations: dict[str, tuple[int, int]], *, renewed: bool = False
    ) -> None:
        known = self._begin()
        if known is not None:
            _check_same(known.table, table, self._target)
            truncations = _later(known.truncations, truncations)
            table = _newer(known.table, table)
        schema = self._prepare(table)
        news = Merged(table, truncations, self._decimals, self._on_misfit)
        retold = known is not None and _reshaped(known.table, table)
        task = Rebuilding(
            table, int(self._now()), self._decimals, truncations, renewed or retold, self._prefix, self._on_misfit
        )
        everywhere = task.renewed or (known is not None and known.truncations != truncations)
        frame = self._frame(changes, task, None if known == news else news, everywhere)
        merged = map_in_arrow(frame, partial(merge_rows, encoded(task)), schema).persist()
        try:
            if not merged.isEmpty():
                self._store(merged)
        finally:
            merged.unpersist()
        self._table, self._known = table, news

    def _begin(self) -> Merged | None:
        """What the Delta table holds of the table; asked of it once, for nobody else writes it."""
        if self._known is None and _is_there(self._spark, self._target):
            self._known = _known(self._spark, self._target, self._prefix)
        return self._known

    def _prepare(self, table: Table) -> StructType:
        """Sees to it that the Delta table has the columns that the table needs; gives them."""
        schema = _stored_schema(own_schema(table, self._decimals, self._spark), self._prefix)
        if schema != self._schema:
            _prepare(self._spark, self._target, schema)
            self._schema = schema
        return schema

    def _frame(self, changes: DataFrame | None, task: Rebuilding, news: Merged | None, everywhere: bool) -> DataFrame:
        """News, and of the partitions that they touch what is stored; sorted by partition."""
        from pyspark.sql import functions as F

        stored = _read(self._spark, self._target).select(*(F.col(self._prefix + name) for name in _ORDER))
        stored = stored.toDF("partition", "row", "facts", "live", "until").where(F.col("partition") != F.lit(TABLE_ROW))
        parts = []
        if news is not None:
            row = (TABLE_ROW, TABLE_ROW, pack_merged(news), None, None)
            parts.append(self._spark.createDataFrame([row], _MERGED))
        if changes is not None:
            packed = packed_facts(changes, task).selectExpr(
                "*", "cast(null as boolean) live", "cast(null as long) until"
            )
            parts.append(packed)
            if not everywhere:
                stored = stored.join(packed.select("partition").distinct(), "partition", "left_semi")
        elif not everywhere:
            expired = stored.where(F.col("until") <= F.lit(task.at)).select("partition").distinct()
            stored = stored.join(expired, "partition", "left_semi")
        frame = reduce(type(stored).unionByName, [*parts, stored])
        return frame.repartition("partition").sortWithinPartitions("partition")

    def _store(self, merged: DataFrame) -> None:
        same = " and ".join(f"old.`{self._prefix}{name}` = new.`{self._prefix}{name}`" for name in ("partition", "row"))
        gone = f"new.`{self._prefix}state` is null"
        target = _open(self._spark, self._target).alias("old")
        merge = target.merge(merged.alias("new"), same).whenMatchedDelete(gone).whenMatchedUpdateAll()
        merge.whenNotMatchedInsertAll(f"not ({gone})").execute()


def live_rows(spark: SparkSession, target: str, *, at: int | datetime | None = None, prefix: str = "_") -> DataFrame:
    """The rows of the table that a `DeltaMerge` keeps: those alive at `at` (now, if not given), its own columns only.

    Rows in which something expired since they were merged are put together anew.
    """
    from pyspark.sql import functions as F

    known = _known(spark, target, prefix)
    if known is None:
        raise UsageError("no table that DeltaMerge keeps", found=target, remedy="Merge a batch into it first.")
    task = Rebuilding(known.table, seconds_of(at), known.decimals, on_misfit=known.on_misfit)
    schema = own_schema(known.table, task.decimals, spark)
    stored = _read(spark, target)
    partition = prefix + "partition"
    expired = stored.where(F.col(prefix + "until") <= F.lit(task.at)).select(partition).distinct()
    sound = stored.where(F.col(prefix + "live")).join(expired, partition, "left_anti").select(*(_quoted(schema.names)))
    stale = stored.join(expired, partition, "left_semi").select(*(prefix + name for name in _ORDER[:3]))
    ordered = stale.toDF("partition", "row", "facts").repartition("partition").sortWithinPartitions("partition")
    return sound.union(map_in_arrow(ordered, partial(rebuild_rows, encoded(task)), schema))


_ORDER: Final = ("partition", "row", "state", "live", "until")


def _delta_table() -> Any:
    try:
        from delta.tables import DeltaTable
    except ImportError:
        raise UsageError(
            "merging into a Delta table needs the package delta-spark",
            remedy="Install it with pip install 'cdc-tail[delta]', in the Spark version that it names.",
        ) from None
    return DeltaTable


def _is_path(target: str) -> bool:
    return "/" in target


def _open(spark: SparkSession, target: str) -> Any:
    kind = _delta_table()
    return kind.forPath(spark, target) if _is_path(target) else kind.forName(spark, target)


def _is_there(spark: SparkSession, target: str) -> bool:
    if _is_path(target):
        return bool(_delta_table().isDeltaTable(spark, target))
    return spark.catalog.tableExists(target)


def _read(spark: SparkSession, target: str) -> DataFrame:
    frame: DataFrame = _open(spark, target).toDF()
    return frame


def _prepare(spark: SparkSession, target: str, schema: StructType) -> None:
    """Makes the table, and adds the columns and fields that it lacks."""
    maker = _delta_table().createIfNotExists(spark)
    maker = maker.location(target) if _is_path(target) else maker.tableName(target)
    maker.addColumns(schema).execute()
    there = {field.name.casefold(): field.dataType for field in _read(spark, target).schema}
    if any(there.get(field.name.casefold()) != field.dataType for field in schema):
        writer = spark.createDataFrame([], schema).write.format("delta").mode("append").option("mergeSchema", "true")
        if _is_path(target):
            writer.save(target)
        else:
            writer.saveAsTable(target)


def _known(spark: SparkSession, target: str, prefix: str) -> Merged | None:
    from pyspark.sql import functions as F

    frame = _read(spark, target)
    if prefix + "state" not in frame.columns:
        return None
    row = frame.where(F.col(prefix + "partition") == F.lit(TABLE_ROW)).select(prefix + "state").first()
    return None if row is None else unpack_merged(bytes(row[0]), target)


def _stored_schema(own: StructType, prefix: str) -> StructType:
    from pyspark.sql.types import BinaryType, BooleanType, DataType, LongType, StructField, StructType

    kinds: dict[str, DataType] = {"live": BooleanType(), "until": LongType()}
    added = [StructField(prefix + name, kinds.get(name, BinaryType())) for name in STORED]
    clash = {name.casefold() for name in own.names} & {field.name.casefold() for field in added}
    if clash:
        raise UsageError(
            f'the table has a column "{min(clash)}", a name that is needed beside it',
            remedy="Choose another prefix for those: DeltaMerge(…, prefix='__').",
        )
    return StructType([*own.fields, *added])


def _truncations(rows: Iterable[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for row in rows:
        told = truncation(row)
        if told is not None:
            found = _later(found, dict([told]))
    return found


def _later(known: dict[str, tuple[int, int]], told: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return {node: max(known.get(node, (0, 0)), told.get(node, (0, 0))) for node in sorted({*known, *told})}


def _with_schema_rows(table: Table, rows: Iterable[dict[str, Any]]) -> Table:
    told = [row for row in rows if row["op"] == "schema" and row["columns"] is not None]
    for row in sorted(told, key=lambda row: Position(row["segment"], row["offset"])):
        table = _newer(table, Table.of(msgspec.json.decode(row["columns"], type=TableDefinition)))
    return table


def _newer(known: Table, told: Table) -> Table:
    """The table by the newer definition of the two; what was told wins where neither tells more."""
    if _age(known) > _age(told):
        known, told = told, known
    return known.succeeded_by(told)


def _age(table: Table) -> tuple[int, ...]:
    """Columns and fields are only ever added: one that is dropped stays as such."""
    columns, types = table.definition.columns, table.definition.types
    dropped = [column.dropped_time or 0 for column in columns]
    return len(columns), sum(map(len, types.values())), max(dropped, default=0), -sum(c.dropped for c in columns)


def _check_same(known: Table, told: Table, target: str) -> None:
    if known.definition.id != told.definition.id:
        raise RefusedError(
            f"the Delta table keeps another table than today's {told.name}, which was dropped and created again",
            file=target,
            expected=f"table id {known.definition.id}",
            found=told.definition.id,
            remedy="Merge the new one into a Delta table of its own.",
        )


def _reshaped(before: Table, after: Table) -> bool:
    """Whether rows that are stored mean something else now: a column was renamed, dropped, or is back."""
    return _shape(before) != [column for column in _shape(after) if column[0] in {name for name, *_ in _shape(before)}]


def _shape(table: Table) -> list[tuple[Any, ...]]:
    def told(column: Column) -> tuple[Any, ...]:
        return column.name, column.kind, column.position, column.dropped, column.dropped_time

    return sorted(map(told, table.definition.columns))


def _quoted(names: Iterable[str]) -> list[str]:
    return ["`" + name.replace("`", "``") + "`" for name in names]
