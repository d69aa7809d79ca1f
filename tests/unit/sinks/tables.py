"""Definitions for the sinks' tests: of the table that the rows of `rows.py` are of, with the columns a test needs."""

from __future__ import annotations

from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.sinks.table_text import Tables
from tests.unit.sinks.rows import ORDINARY


def table(clustering: str = "at", types: dict[str, tuple[TypeField, ...]] | None = None, **columns: str) -> Tables:
    """The lookup that knows one table: `clustering` as in CLUSTERING ORDER BY, regular columns by their types."""
    words = [part.split() for part in clustering.split(",") if part]
    key = [
        Column(name, "clustering", "text", position, desc=order == ["DESC"])
        for position, (name, *order) in enumerate(words)
    ]
    regular = [Column(name, "regular", type_) for name, type_ in columns.items()]
    known = TableDefinition(
        ORDINARY["table_id"], "shop", "orders", (Column("id", "partition_key", "int", 0), *key, *regular),
        types=types or {},
    )  # fmt: skip
    return {known.id: known}.get


def no_table(table_id: str) -> TableDefinition | None:
    return None
