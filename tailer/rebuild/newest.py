"""Of two definitions of one table the newer one: several nodes tell the same history, each in its own time."""

from __future__ import annotations

from tailer.rebuild.table import Table


def newer(known: Table, told: Table) -> Table:
    """The table by the newer definition of the two; what was told wins where neither tells more."""
    if _age(known) > _age(told):
        known, told = told, known
    return known.succeeded_by(told)


def _age(table: Table) -> tuple[int, ...]:
    """Columns and fields are only ever added: one that is dropped stays as such.

    The sum of the times at which columns were dropped and added again decides next, not the newest. These are the
    times of the statements: DROP ... USING TIMESTAMP may give a column any `dropped_time`. A live column that has a
    `dropped_time` alone was not seen to be added again: it is older than the drop.
    """
    columns, types = table.definition.columns, table.definition.types
    changed = [column.added_time or column.dropped_at or column.dropped_time or 0 for column in columns]
    return len(columns), sum(map(len, types.values())), sum(changed), sum(c.dropped for c in columns)
