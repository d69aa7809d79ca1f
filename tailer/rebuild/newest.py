"""Of two definitions of one table the newer one: several nodes tell the same history, each in its own time."""

from __future__ import annotations

import msgspec

from tailer.rebuild.table import Table
from tailer.schema.migration import types_in
from tailer.schema.model import Column, TableDefinition, TypeField


def newer(known: Table, told: Table) -> Table:
    """The table by the newer definition of the two; what was told wins where neither tells more.

    A node that was down takes over the schema as a whole: its definitions have the newest columns from then on, and
    fields of user-defined types as its log shows them. So a type may be newer in the definition that is older. A column
    may be, too: what a node's log does not show is known of its server, and from an earlier position on than in other
    logs.
    """
    if _age(known) > _age(told):
        known, told = told, known
    if not told.native:
        told = msgspec.structs.replace(told, definition=_with_newer_columns(told.definition, known.definition))
    longer = {} if told.native else _longer_types(known.definition, told.definition)
    if longer:
        definition = msgspec.structs.replace(told.definition, types={**told.definition.types, **longer})
        told = msgspec.structs.replace(told, definition=definition)
    return known.succeeded_by(told)


def _with_newer_columns(newest: TableDefinition, older: TableDefinition) -> TableDefinition:
    """The newest definition, with each column of the older one that is newer, or that it does not have."""
    keys = {column.name for column in newest.columns if column.kind not in ("static", "regular")}
    held = {column.name: column for column in newest.data_columns}
    newer_ones = {
        column.name: column
        for column in older.data_columns
        if column.name not in keys and (column.name not in held or _changed(column) > _changed(held[column.name]))
    }
    if not newer_ones:
        return newest
    columns = [newer_ones.pop(column.name, column) if column.name in held else column for column in newest.columns]
    columns += newer_ones.values()
    return msgspec.structs.replace(newest, columns=tuple(columns), types={**older.types, **newest.types})


def _changed(column: Column) -> tuple[int, bool]:
    """When a column changed last (µs), 0 for one that was never dropped; whether it was dropped then.

    A DROP always has a time. Without one, the column of an earlier table of the name ended: that is older than any.
    """
    time = column.added_time or column.dropped_at or column.dropped_time
    return (-1 if column.dropped else 0) if time is None else time, column.dropped


def _longer_types(older: TableDefinition, newest: TableDefinition) -> dict[str, tuple[TypeField, ...]]:
    """The types that have more fields in the older definition. A type is never dropped while a column uses it: one of
    a live column of both is the same one."""
    live = [{(c.name, c.type, c.added_time) for c in each.columns if not c.dropped} for each in (older, newest)]
    used = {name for _, type_, _ in live[0] & live[1] for name in types_in(type_, older)}
    found = {name: older.types[name] for name in used & newest.types.keys() if name in older.types}
    return {name: fields for name, fields in found.items() if len(fields) > len(newest.types[name])}


def _age(table: Table) -> tuple[int, ...]:
    """Columns and fields are only ever added: one that is dropped stays as such, but for one whose name a key column
    was given since.

    The sum of the times at which columns were dropped and added again decides next, not the newest. These are the
    times of the statements: DROP ... USING TIMESTAMP may give a column any `dropped_time`. A live column that has a
    `dropped_time` alone was not seen to be added again: it is older than the drop.
    """
    columns, types = table.definition.columns, table.definition.types
    changed = [max(_changed(column)[0], 0) for column in columns]
    taken = sum(c.kind not in ("regular", "static") and c.dropped_time is not None for c in columns)
    dropped = sum(c.dropped for c in columns) + 2 * taken
    return len(columns) + taken, sum(map(len, types.values())), sum(changed), dropped
