"""The typed form of one table as a value: its columns as a run fixed them. Complete in itself, so that it can travel.

Knows no Arrow and no row; definitions in, names and type texts out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from tailer.errors import UsageError
from tailer.schema.column_type import column_type
from tailer.schema.model import Column, ColumnKind, TableDefinition, TypeField
from tailer.schema.record_definitions import with_removed
from tailer.schema.rows import BASE_TS
from tailer.schema.typed_columns import (
    EarlierColumn,
    column_key,
    columns_of,
    dropped_name,
    live_key,
    same_values,
)
from tailer.types import CqlType
from tailer.types.cql import Decimals

META: Final = (
    "op", "set", "deltas", "table_id", "is_static", "range", "write_ts", "ttl", "expires_at", "cells", "token", "node",
    "segment", "offset", "row", "event_id", "txn", "attrs",
)  # fmt: skip
"""What stands behind the table's own columns, in order; each with the prefix in front of its name."""

OnSchemaChange = Literal["fail", "ignore"]


class TypedColumn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of the table's own columns; `type` is CQL text.

    `since`: when an earlier column of its name was dropped. `of`: the name in the table, where the form has another one
    for it, as a later column has the name (`typed_columns`). `types`: its user-defined types, where the form's are
    others by now.
    """

    name: str
    kind: ColumnKind
    type: str
    since: int | None = None
    of: str = ""
    types: Mapping[str, tuple[TypeField, ...]] = {}

    @property
    def is_earlier(self) -> bool:
        """Whether a later column, or none, has its name in the table."""
        return bool(self.of)

    @property
    def source(self) -> str:
        """Its name in the table."""
        return self.of or self.name


class TypedTable(msgspec.Struct, frozen=True):
    """`columns`: partition key, clustering, static and regular of the newest definition, those that were added later
    behind the others, then those dropped since.

    `on_change`: what becomes of columns that were added or re-typed later. `decimals`: see `tailer.types.values`.
    `id`: of the newest definition. `earlier`: by `column_key` the form's name of a column whose name another one has.
    """

    table: str
    columns: tuple[TypedColumn, ...]
    types: Mapping[str, tuple[TypeField, ...]] = {}
    prefix: str = "_"
    decimals: Decimals = "decimal"
    on_change: OnSchemaChange = "fail"
    id: str = ""
    earlier: Mapping[str, str] = {}

    @property
    def meta(self) -> tuple[str, ...]:
        """The names of the columns behind the table's own."""
        return tuple(self.prefix + name for name in META)

    def type_of(self, column: TypedColumn) -> CqlType:
        """The type of one of its columns."""
        return column_type(column, {**self.types, **column.types} if column.types else self.types)

    def names_in(self, definition: TableDefinition) -> dict[str, str]:
        """The form's names of columns that have another name in a definition of the table."""
        keys = ((column.name, column_key(definition.id, column)) for column in definition.data_columns)
        return {name: self.earlier[key] for name, key in keys if key in self.earlier}

    def renamed(self, definition: TableDefinition) -> TableDefinition:
        """A definition with the names that its columns have in the form, where it is one of the table."""
        names = self.names_in(definition) if definition.name == self.table else {}
        if not names:
            return definition
        columns = tuple(
            msgspec.structs.replace(column, name=names[column.name], raw=column.name_bytes.hex())
            if column.name in names and column.kind in ("static", "regular")
            else column
            for column in definition.columns
        )
        return msgspec.structs.replace(definition, columns=columns)


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
    columns = [
        TypedColumn(column.name, column.kind, column.type, column.dropped_time)
        for column in (*newest.partition_key, *newest.clustering, *data)
    ]
    types: Mapping[str, tuple[TypeField, ...]] = {}
    for definition in (*older, newest):
        types = with_removed(definition.types, types) if native else {**types, **definition.types}
    made = TypedTable(
        newest.name, tuple(columns), types, options.prefix, options.decimals, options.on_change, newest.id
    )
    made = with_earlier_columns(made, columns_of([*older, newest]), _order(older, newest), native=native)
    check_names(made, options)
    return made


def with_earlier_columns(
    form: TypedTable, found: Sequence[EarlierColumn], order: Sequence[str], *, native: bool = False
) -> TypedTable:
    """The form with columns for what has no place in those that it has. `order`: of their names."""
    columns = {column.name: column for column in form.columns}
    keys = {column.name for column in form.columns if column.kind not in ("static", "regular")}
    # The latest one of a name has the name itself, where no column has it today.
    places = {name: number for number, name in enumerate(order)}
    latest_first = [*reversed(found)]
    latest_first.sort(key=lambda each: places[each.column.name])
    renamed = dict(form.earlier)
    for each in latest_first:
        name, type_ = each.column.name, each.type
        taken = columns.get(name)
        is_new = taken is None
        if taken is not None and (name in keys or not _holds(form, taken, each, native)):
            name = dropped_name(name, type_)
            while name in columns and columns[name].of != each.column.name:
                name += "_"
            is_new = name not in columns
            renamed |= dict.fromkeys(sorted(each.keys), name)
        if is_new:
            of = "" if name == each.column.name else each.column.name
            own = each.own_types(form.types, native)
            columns[name] = TypedColumn(name, each.column.kind, each.column.type, each.column.dropped_time, of, own)
    return msgspec.structs.replace(form, columns=tuple(columns.values()), earlier=renamed)


def _holds(form: TypedTable, taken: TypedColumn, each: EarlierColumn, native: bool) -> bool:
    """Whether a column's values go into the form's column of its name: it is the same one, or one of the same type."""
    if live_key(form.id, taken.name, taken.type, taken.since) in each.keys:
        return True
    return same_values(each.type, form.type_of(taken), native)


def _order(older: Sequence[TableDefinition], newest: TableDefinition) -> list[str]:
    """The names of data columns, those of newer definitions first."""
    return list(dict.fromkeys(c.name for each in reversed([*older, newest]) for c in each.data_columns))


def _live(definition: TableDefinition, kind: ColumnKind) -> list[Column]:
    return [column for column in definition.columns if column.kind == kind and not column.dropped]


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
