"""The typed form of one table as a value: its columns as a run fixed them. Complete in itself, so that it can travel.

Knows no Arrow and no row; definitions in, names and type texts out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from tailer.errors import UsageError
from tailer.schema.model import Column, ColumnKind, TableDefinition, TypeField
from tailer.schema.record_definitions import with_removed
from tailer.schema.rows import BASE_TS
from tailer.types.cql import Decimals

META: Final = (
    "op", "set", "deltas", "table_id", "is_static", "range", "write_ts", "ttl", "expires_at", "cells", "token", "node",
    "segment", "offset", "row", "event_id", "txn", "attrs",
)  # fmt: skip
"""What stands behind the table's own columns, in order; each with the prefix in front of its name."""

OnSchemaChange = Literal["fail", "ignore"]


class TypedColumn(msgspec.Struct, frozen=True):
    """One of the table's own columns; `type` is CQL text."""

    name: str
    kind: ColumnKind
    type: str


class TypedTable(msgspec.Struct, frozen=True):
    """`columns`: partition key, clustering, static and regular of the newest definition, those that were added later
    behind the others, then those dropped since.

    `on_change`: what becomes of columns that were added or re-typed later. `decimals`: see `tailer.types.values`.
    """

    table: str
    columns: tuple[TypedColumn, ...]
    types: Mapping[str, tuple[TypeField, ...]] = {}
    prefix: str = "_"
    decimals: Decimals = "decimal"
    on_change: OnSchemaChange = "fail"

    @property
    def meta(self) -> tuple[str, ...]:
        """The names of the columns behind the table's own."""
        return tuple(self.prefix + name for name in META)


class TypedOptions(msgspec.Struct, frozen=True):
    """How a typed form is made of definitions. `case_sensitive`: names that are equal but for case are told apart.

    `more`: columns that rows get behind those of the form.
    """

    prefix: str = "_"
    decimals: Decimals = "decimal"
    on_change: OnSchemaChange = "fail"
    case_sensitive: bool = False
    more: tuple[str, ...] = ()


def typed_table(
    newest: TableDefinition,
    earlier: Iterable[TableDefinition],
    options: TypedOptions,
    ages: Mapping[str, int] = MappingProxyType({}),
    *,
    native: bool = False,
) -> TypedTable:
    """The typed form by the newest definition; `earlier` has the ones whose rows may still come, oldest first.

    `ages`: when each column came, as numbers to compare; one that is not in there is older than all others. A column
    that was added stands behind those that were there. `native`: those of a native log, whose user-defined types keep
    fields that were removed, too. UsageError for names that clash.
    """
    older = list(earlier)
    data = [*_live(newest, "static"), *_live(newest, "regular")]
    data.sort(key=lambda column: ages.get(column.name, BASE_TS))
    columns = [*newest.partition_key, *newest.clustering, *data]
    known = {column.name for column in columns}
    gone: dict[str, Column] = {}
    for definition in reversed([*older, newest]):
        for column in definition.data_columns:
            if column.name not in known and any(_has_live(each, column.name) for each in older):
                gone.setdefault(column.name, column)
    types: Mapping[str, tuple[TypeField, ...]] = {}
    for definition in (*older, newest):
        types = with_removed(definition.types, types) if native else {**types, **definition.types}
    made = TypedTable(
        newest.name,
        tuple(TypedColumn(column.name, column.kind, column.type) for column in (*columns, *gone.values())),
        types,
        options.prefix,
        options.decimals,
        options.on_change,
    )
    check_names(made, options)
    return made


def _live(definition: TableDefinition, kind: ColumnKind) -> list[Column]:
    return [column for column in definition.columns if column.kind == kind and not column.dropped]


def _has_live(definition: TableDefinition, name: str) -> bool:
    return any(column.name == name and not column.dropped for column in definition.data_columns)


def check_names(table: TypedTable, options: TypedOptions) -> None:
    """UsageError where columns of the table, or one of them and one of the change, cannot be told apart."""
    own = [column.name for column in table.columns]
    folded = str if options.case_sensitive else str.casefold
    meta = {folded(name) for name in (*table.meta, *(table.prefix + name for name in options.more))}
    for name in own:
        if folded(name) in meta:
            raise UsageError(
                f'column "{name}" of {table.table} has the name of a column of the change itself',
                remedy="Choose another prefix for those with meta_prefix (--meta-prefix; metaPrefix in Spark).",
            )
    again = [name for name, count in Counter(map(folded, own)).items() if count > 1]
    if again:
        same = [name for name in own if folded(name) == again[0]]
        raise UsageError(
            f"the names of {len(same)} columns of {table.table} are equal but for case: {', '.join(same)}",
            remedy=(
                "Tell them apart with case_sensitive=True; in Spark set spark.sql.caseSensitive=true in the session, "
                "and as an option of the source, which cannot see the session's."
            ),
        )
