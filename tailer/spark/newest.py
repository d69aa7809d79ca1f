"""What a table that changes are merged into has to know of the table as a whole: the newest definition, truncations.

Values only; knows no Spark, and not where rows are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tailer.errors import RefusedError
from tailer.position import Position
from tailer.rebuild import Table
from tailer.rebuild.changes import truncation
from tailer.rebuild.newest import newer
from tailer.schema.model import Column
from tailer.schema.told import told_definition


def truncations_of(rows: Iterable[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for row in rows:
        told = truncation(row)
        if told is not None:
            found = later(found, dict([told]))
    return found


def later(known: dict[str, tuple[int, int]], told: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return {node: max(known.get(node, (0, 0)), told.get(node, (0, 0))) for node in sorted({*known, *told})}


def with_schema_rows(table: Table, rows: Iterable[dict[str, Any]]) -> Table:
    told = [row for row in rows if row["op"] == "schema" and row["columns"] is not None]
    for row in sorted(told, key=lambda row: Position(row["segment"], row["offset"])):
        table = newer(table, Table.of(told_definition(row["columns"])))
    return table


def check_same(known: Table, told: Table, target: str) -> None:
    if known.definition.id != told.definition.id:
        raise RefusedError(
            f"the merged table keeps another table than today's {told.name}, which was dropped and created again",
            file=target,
            expected=f"table id {known.definition.id}",
            found=told.definition.id,
            remedy="Merge the new one into a table of its own.",
        )


def reshaped(before: Table, after: Table) -> bool:
    """Whether rows that are stored mean something else now: a column was renamed, dropped, or is back."""
    return _shape(before) != [column for column in _shape(after) if column[0] in {name for name, *_ in _shape(before)}]


def _shape(table: Table) -> list[tuple[Any, ...]]:
    def told(column: Column) -> tuple[Any, ...]:
        return column.name, column.kind, column.position, column.dropped, column.dropped_time

    return sorted(map(told, table.definition.columns))
