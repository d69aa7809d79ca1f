"""Changes merged into a table that is kept somewhere: last write wins, exact for late and repeated rows.

What merges is here, and what is asked of the place (`Kept`); the places are `delta.py` and `iceberg.py`. Beside the
table's own columns stand `_partition`, `_row` (its identity), `_live`, `_until` (when something in it expires) and
`_state` (what later changes have to be compared with). See docs/tables.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol
from uuid import UUID

from tailer.errors import RefusedError, UsageError
from tailer.rebuild import Table
from tailer.rebuild.changes import NEEDED
from tailer.rebuild.table import latest_places
from tailer.schema.model import TableDefinition
from tailer.schema.table_ids import created_before
from tailer.spark.arrow_map import ArrowMap, map_in_arrow
from tailer.spark.frames import rows_of
from tailer.spark.kept_columns import NO_MIGRATION, Migration, migration, same_key
from tailer.spark.merged import KeptImages, Merged, pack_merged, unpack_merged
from tailer.spark.newest import is_later_life, successor, truncations_of, with_schema_rows
from tailer.spark.rebuilding import STORED, TABLE_ROW, Rebuilding, encoded, merge_rows, rebuild_rows
from tailer.spark.state import named_changes, own_schema, packed_facts, seconds_of
from tailer.types.cql import Decimals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from tailer.rebuild.arrow import OnMisfit

_MERGED: Final = "partition binary, row binary, facts binary, live boolean, until long"


class Kept(Protocol):
    """A table of a lakehouse, as merging needs it. Opened by its name or path; it may not be there yet."""

    target: str
    """Its name or path, for errors."""

    def __init__(self, spark: SparkSession, target: str) -> None: ...

    def is_there(self) -> bool: ...

    def read(self) -> DataFrame: ...

    def prepare(self, schema: StructType, renamed: Sequence[tuple[str, str]] = ()) -> None:
        """Makes the table, or alters its columns (`kept_columns`). `renamed`: columns of the key, before and after."""
        ...

    def begin_again(self, schema: StructType) -> None:
        """An empty table with these columns instead of what is there, in one commit."""
        ...

    def merge(self, merged: DataFrame, same: tuple[str, ...], gone: str, emptied: Sequence[str] = ()) -> None:
        """In one commit: rows that are equal in the columns `same` are exchanged, or go where the column `gone` is
        null; rows that there are not yet come, unless it is. The columns `emptied` become null in exchanged rows."""
        ...

    def own(self, rows: DataFrame, schema: StructType) -> DataFrame:
        """The columns of `schema` of its rows, in those types: a place may keep a type as a wider one."""
        ...


class Merging:
    """What any merge into a kept table has; one writer for each.

    The table is made with the first batch. `target`: its name or path; `table`: the definition
    (`table_definition`), or a function that gives the newest one, asked for each batch. `decimals`, `on_misfit`: as in
    `rebuild`. `prefix`: of the columns beside the table's own (`PREFIX`, if not given).
    """

    PREFIX: ClassVar[str]
    place: ClassVar[type[Kept]]
    beside: ClassVar[tuple[str, ...]]
    """The columns behind the table's own, each with the prefix."""

    def __init__(
        self,
        spark: SparkSession,
        target: str,
        table: Table | TableDefinition | Callable[[], Table],
        *,
        decimals: Decimals = "decimal",
        on_misfit: OnMisfit = "fail",
        prefix: str | None = None,
    ) -> None:
        self._spark = spark
        self._kept = self.place(spark, target)
        self._decimals = decimals
        self._on_misfit = on_misfit
        self._prefix = self.PREFIX if prefix is None else prefix
        self._ask = table if callable(table) else None
        self._schema: StructType | None = None
        self._former: tuple[str, ...] = ()
        self._table = table if isinstance(table, Table) else None
        if isinstance(table, TableDefinition):
            self._table = Table.of(table)

    def _newest(self) -> Table:
        if self._ask is not None:
            asked = self._ask()
            self._table = asked if self._table is None else successor(self._table, asked, self._former)
        assert self._table is not None
        return self._table

    def _go_on(self, known: Merged | KeptImages) -> None:
        """Take up what the kept table holds: the one that is given may be an earlier one."""
        self._former = known.former
        self._table = known.table if self._table is None else successor(known.table, self._table, known.former)

    def _prepare(self, table: Table, change: Migration) -> StructType:
        """Sees to it that the kept table has the columns that the table needs; gives them."""
        own = own_schema(table, self._decimals, self._spark)
        schema = _with_beside(own, self._prefix, self.beside)
        if schema != self._schema:
            self._kept.prepare(schema, change.renamed)
            self._schema = schema
        return schema

    def _check_ids(self, ids: Iterable[str], table: Table, what: str, remedy: str) -> None:
        """RefusedError where one of the ids, which stand in a batch under the table's name, is of a later table."""
        known = {table.definition.id, *table.former, *self._former}
        others = {id for id in ids if id not in known and not created_before(id, table.definition.id)}
        if others:
            raise RefusedError(
                f"{what} of another table with the name {table.name}: it was dropped and created again",
                file=self._kept.target,
                expected=f"table id {table.definition.id}",
                found=min(others),
                remedy=f"Give a function that asks for the newest definition (table_definition){remedy}.",
            )

    @staticmethod
    def _is_other(known: Table, table: Table, is_again: bool) -> bool:
        """Whether nothing that is kept can be of this table. `is_again`: it was created again with its id."""
        before, after = known.definition, table.definition
        return before.id != after.id or (is_again and not same_key(before, after))

    def _begin_again(self, table: Table, known: Table) -> None:
        """For another table of the name: what is kept of the one before goes."""
        self._former = tuple({*self._former, known.definition.id} - {table.definition.id})
        self._schema = _with_beside(own_schema(table, self._decimals, self._spark), self._prefix, self.beside)
        self._kept.begin_again(self._schema)

    def _store(self, frame: DataFrame, task: ArrowMap, schema: StructType, emptied: Sequence[str] = ()) -> None:
        """What the task makes of the frame, partition by partition, into the kept table, in one commit."""
        ordered = frame.repartition("partition").sortWithinPartitions("partition")
        merged = map_in_arrow(ordered, task, schema).persist()
        try:
            if not merged.isEmpty():
                same = (self._prefix + "partition", self._prefix + "row")
                self._kept.merge(merged, same, self._prefix + "state", emptied)
        finally:
            merged.unpersist()


class TableMerge(Merging):
    """Merges change rows into one kept table; call it as `foreachBatch` does.

    `schema` rows in the batch (`includeSchemaChanges`) count as definitions too. `now`: the clock by which cells with a
    TTL expire. The others: as `Merging` says.
    """

    beside = STORED

    def __init__(
        self,
        spark: SparkSession,
        target: str,
        table: Table | TableDefinition | Callable[[], Table],
        *,
        decimals: Decimals = "decimal",
        on_misfit: OnMisfit = "fail",
        prefix: str | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(spark, target, table, decimals=decimals, on_misfit=on_misfit, prefix=prefix)
        self._now = now
        self._known: Merged | None = None

    def __call__(self, changes: DataFrame, batch_id: int) -> None:
        """Merge a micro-batch of generic change rows. Given again, or with rows known already, it changes nothing."""
        self._begin()
        table = self._newest()
        found = named_changes(changes, table).persist()
        try:
            rare = [row.asDict() for row in found.where("op in ('truncate', 'schema')").collect()]
            table = with_schema_rows(table, rare, self._former)
            self._check_others(found, rare, table)
            mine = rows_of(found, table, NEEDED)
            if mine.isEmpty() and self._is_as_known(table):
                return
            own = str(UUID(table.definition.id))
            self._merge(mine, table, truncations_of(row for row in rare if row["table_id"] == own))
        finally:
            found.unpersist()

    def _is_as_known(self, table: Table) -> bool:
        """Whether a batch without rows of the table changes nothing."""
        return self._known is None or self._known.table == table

    def _check_others(self, found: DataFrame, rare: Iterable[Mapping[str, Any]], table: Table) -> None:
        """RefusedError for rows of a later table of the name that nothing defines. What is asked for is the newest."""
        if self._ask is not None:
            return
        told = {UUID(row["table_id"]).hex for row in rare if row["op"] == "schema"}
        known = set() if self._known is None else {self._known.table.definition.id}
        self._check_ids(ids_in(found) - told - known, table, "rows", ", or read the changes with includeSchemaChanges")

    def refresh(self, *, everything: bool = False) -> None:
        """Bring up to date what has expired since it was merged; `everything`: every row, by the newest definition."""
        table = self._newest()
        self._merge(None, table, {}, renewed=everything)

    def _merge(
        self, changes: DataFrame | None, table: Table, truncations: dict[str, tuple[int, int]], *, renewed: bool = False
    ) -> None:
        known, change = self._begin(), NO_MIGRATION
        if known is not None and self._is_other(known.table, table, is_later_life(known.table, table)):
            self._begin_again(table, known.table)
            known = None
        if known is not None:
            truncations = latest_places(known.truncations, truncations)
            table = successor(known.table, table)
            change = migration(known.table.definition, table.definition)
        schema = self._prepare(table, change)
        news = Merged(table, truncations, self._decimals, self._on_misfit, former=self._former)
        retold = change.renewed or (
            known is not None and (known.table.ended, known.table.born) != (table.ended, table.born)
        )
        task = Rebuilding(
            table, int(self._now()), self._decimals, truncations, renewed or retold, self._prefix, self._on_misfit
        )
        everywhere = task.renewed or (known is not None and known.truncations != truncations)
        frame = self._frame(changes, task, None if known == news else news, everywhere)
        self._store(frame, partial(merge_rows, encoded(task)), schema, change.emptied)
        self._table, self._known = table, news

    def _begin(self) -> Merged | None:
        """What the kept table holds of the table; asked of it once, for nobody else writes it."""
        if self._known is None and self._kept.is_there():
            self._known = _known(self._kept, self._prefix)
            if self._known is not None:
                self._go_on(self._known)
        return self._known

    def _frame(self, changes: DataFrame | None, task: Rebuilding, news: Merged | None, everywhere: bool) -> DataFrame:
        """News, and of the partitions that they touch what is stored."""
        from pyspark.sql import functions as F

        stored = self._kept.read().select(*(F.col(self._prefix + name) for name in _ORDER))
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
        return reduce(type(stored).unionByName, [*parts, stored])


def ids_in(frame: DataFrame) -> set[str]:
    """The ids of the tables that a frame has rows of, as definitions have them."""
    return {UUID(row[0]).hex for row in frame.select("table_id").distinct().collect()}


def kept_rows(kept: Kept, spark: SparkSession, at: float | datetime | None, prefix: str) -> DataFrame:
    """The rows of the table that a `TableMerge` keeps: those alive at `at` (now, if not given), its own columns only.

    Rows in which something expired since they were merged are put together anew.
    """
    from pyspark.sql import functions as F

    known = _known(kept, prefix) if kept.is_there() else None
    if known is None:
        raise UsageError("no table that changes are merged into", found=kept.target, remedy="Merge a batch first.")
    task = Rebuilding(known.table, seconds_of(at), known.decimals, on_misfit=known.on_misfit)
    schema = own_schema(known.table, task.decimals, spark)
    stored = kept.read()
    partition = prefix + "partition"
    expired = stored.where(F.col(prefix + "until") <= F.lit(task.at)).select(partition).distinct()
    sound = kept.own(stored.where(F.col(prefix + "live")).join(expired, partition, "left_anti"), schema)
    stale = stored.join(expired, partition, "left_semi").select(*(prefix + name for name in _ORDER[:3]))
    ordered = stale.toDF("partition", "row", "facts").repartition("partition").sortWithinPartitions("partition")
    return sound.union(map_in_arrow(ordered, partial(rebuild_rows, encoded(task)), schema))


_ORDER: Final = ("partition", "row", "state", "live", "until")


def _known(kept: Kept, prefix: str) -> Merged | None:
    from pyspark.sql import functions as F

    frame = kept.read()
    if prefix + "state" not in frame.columns:
        return None
    check_beside(frame, [prefix + name for name in TableMerge.beside], kept.target, "changes")
    row = frame.where(F.col(prefix + "partition") == F.lit(TABLE_ROW)).select(prefix + "state").first()
    return None if row is None else unpack_merged(bytes(row[0]), kept.target)


def check_beside(frame: DataFrame, names: Iterable[str], target: str, what: str) -> None:
    """RefusedError where the kept table has not these columns: it is kept otherwise."""
    missing = set(names) - set(frame.columns)
    if missing:
        raise RefusedError(
            f"this is no table that {what} are merged into",
            file=target,
            found=f"no column {min(missing)}",
            remedy="Merge them into a table of its own.",
        )


def _with_beside(own: StructType, prefix: str, beside: Iterable[str]) -> StructType:
    from pyspark.sql.types import BinaryType, BooleanType, DataType, LongType, StructField, StructType

    kinds: dict[str, DataType] = {"live": BooleanType(), "complete": BooleanType(), "until": LongType()}
    added = [StructField(prefix + name, kinds.get(name, BinaryType())) for name in beside]
    clash = {name.casefold() for name in own.names} & {field.name.casefold() for field in added}
    if clash:
        raise UsageError(
            f'the table has a column "{min(clash)}", a name that is needed beside it',
            remedy="Choose another prefix for those: prefix='__'.",
        )
    return StructType([*own.fields, *added])
