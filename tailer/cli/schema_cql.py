"""A definition as CQL, in the form of DESCRIBE … WITH INTERNALS: people know it, and `--schema` reads it.

What a definition does not hold (options that change no row, what a view selects from) is not shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from uuid import UUID

from tailer.schema.model import Column, TableDefinition
from tailer.schema.usertypes import mentioned
from tailer.types.cql_name import cql_name


def type_lines(definition: TableDefinition, names: Collection[str]) -> Iterator[str]:
    """CREATE TYPE of those of the table's types that are in `names`, each behind the types that it needs."""
    for name in _by_need(definition):
        if name in names:
            fields = ", ".join(f"{cql_name(field.name)} {field.type}" for field in definition.types[name])
            yield f"CREATE TYPE {cql_name(definition.keyspace)}.{cql_name(name)} ({fields});"


def table_lines(definition: TableDefinition) -> Iterator[str]:
    """CREATE TABLE with dropped columns in it, and behind it the ALTERs that dropped them."""
    name = f"{cql_name(definition.keyspace)}.{cql_name(definition.table)}"
    yield f"CREATE TABLE {name} ("
    for column in definition.columns:
        yield f"    {cql_name(column.name)} {column.type}{' STATIC' if column.kind == 'static' else ''},"
    yield f"    PRIMARY KEY ({_key(definition)})"
    yield f") WITH ID = {UUID(definition.id)}"
    if any(column.desc for column in definition.clustering):
        order = ", ".join(
            f"{cql_name(column.name)} {'DESC' if column.desc else 'ASC'}" for column in definition.clustering
        )
        yield f"    AND CLUSTERING ORDER BY ({order})"
    yield f"    AND cdc = {'true' if definition.cdc else 'false'};"
    for column in definition.columns:
        yield from _alters(name, column)


def _alters(table: str, column: Column) -> Iterator[str]:
    """DROP, and ADD for what was added again."""
    if not column.dropped and column.dropped_time is None:
        return
    when = "" if column.dropped_time is None else f" USING TIMESTAMP {column.dropped_time}"
    yield f"ALTER TABLE {table} DROP {cql_name(column.name)}{when};"
    if not column.dropped:
        static = " STATIC" if column.kind == "static" else ""
        yield f"ALTER TABLE {table} ADD {cql_name(column.name)} {column.type}{static};"


def _key(definition: TableDefinition) -> str:
    partition = [cql_name(column.name) for column in definition.partition_key]
    first = partition[0] if len(partition) == 1 else f"({', '.join(partition)})"
    return ", ".join([first, *(cql_name(column.name) for column in definition.clustering)])


def _by_need(definition: TableDefinition) -> list[str]:
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        if name in definition.types and name not in found:
            for field in definition.types[name]:
                for needed in mentioned(field.type):
                    visit(needed)
            found[name] = None

    for name in definition.types:
        visit(name)
    return list(found)
