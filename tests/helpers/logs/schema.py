"""Definitions as the log's own mutations (format page 9): the `system_schema` tables, CREATE TABLE and DROP TABLE."""

from __future__ import annotations

from hashlib import md5
from uuid import UUID

from tests.helpers.logs.model import Cell, Column, Deletion, Liveness, Mutation, Row, Table, Update
from tests.helpers.logs.wire import i32


def system_id(keyspace: str, table: str) -> UUID:
    """MD5 of both names as a version-3 UUID."""
    return UUID(bytes=md5(f"{keyspace}{table}".encode(), usedforsecurity=False).digest(), version=3)


def _table(name: str, clustering: tuple[str, ...], regular: dict[str, str]) -> Table:
    columns = [Column("keyspace_name", "partition_key", "text", 0)]
    columns += [Column(column, "clustering", "text", number) for number, column in enumerate(clustering)]
    columns += [Column(column, "regular", cql_type) for column, cql_type in regular.items()]
    return Table(system_id("system_schema", name), "system_schema", name, tuple(columns), cdc=False)


KEYSPACES = _table("keyspaces", (), {"durable_writes": "boolean", "replication": "frozen<map<text, text>>"})
TABLES = _table("tables", ("table_name",), {"id": "uuid", "cdc": "boolean", "flags": "frozen<set<text>>"})
COLUMNS = _table(
    "columns",
    ("table_name", "column_name"),
    {"clustering_order": "text", "column_name_bytes": "blob", "kind": "text", "position": "int", "type": "text"},
)
TYPES = _table("types", ("type_name",), {"field_names": "frozen<list<text>>", "field_types": "frozen<list<text>>"})
DROPPED_COLUMNS = _table(
    "dropped_columns", ("table_name", "column_name"), {"dropped_time": "timestamp", "kind": "text", "type": "text"}
)


def create_table(table: Table, ts: int) -> Mutation:
    """CREATE TABLE as 4.1 and 5.0 log it: columns first, the `tables` row with a row deletion at ts - 1."""
    return (
        _update(COLUMNS, table, tuple(_column_row(table, column, ts) for column in _by_name(table))),
        _update(KEYSPACES, table, (_row((), {"durable_writes": b"\x01"}, ts),)),
        _update(TABLES, table, (_table_row(table, ts),)),
    )


def create_type(keyspace: str, name: str, fields: dict[str, str], ts: int) -> Mutation:
    """CREATE TYPE, or ALTER TYPE: the row with all fields."""
    values = {"field_names": _texts(tuple(fields)), "field_types": _texts(tuple(fields.values()))}
    return (Update(TYPES, keyspace.encode(), (_row((name.encode(),), values, ts),)),)


def add_column(table: Table, column: Column, ts: int) -> Mutation:
    """ALTER TABLE ... ADD: the new column's row, and the whole `tables` row again."""
    return _update(COLUMNS, table, (_column_row(table, column, ts),)), *alter_table(table, ts)


def alter_table(table: Table, ts: int) -> Mutation:
    """ALTER TABLE ... WITH: the whole `tables` row again."""
    return (_update(TABLES, table, (_table_row(table, ts),)),)


def drop_column(table: Table, column: Column, ts: int, dropped_at: int | None = None) -> Mutation:
    """ALTER TABLE ... DROP: the column's row is deleted, and one of `dropped_columns` written. `dropped_at`: USING
    TIMESTAMP."""
    gone = Row((table.name.encode(), column.name_bytes), deletion=Deletion(ts, ts // 1_000_000))
    values = {
        "dropped_time": ((ts if dropped_at is None else dropped_at) // 1000).to_bytes(8, "big"),
        "kind": column.kind.encode(),
        "type": column.type.encode(),
    }
    dropped = _row((table.name.encode(), column.name_bytes), values, ts)
    return (
        _update(COLUMNS, table, (gone,)),
        _update(DROPPED_COLUMNS, table, (dropped,)),
        *alter_table(table, ts),
    )


def rename_column(table: Table, old: Column, new: Column, ts: int) -> Mutation:
    """ALTER TABLE ... RENAME of a key column: the old row is deleted, the new one written."""
    gone = Row((table.name.encode(), old.name_bytes), deletion=Deletion(ts, ts // 1_000_000))
    rows = sorted((gone, _column_row(table, new, ts)), key=lambda row: row.clustering)
    return _update(COLUMNS, table, tuple(rows)), *alter_table(table, ts)


def drop_table(table: Table, ts: int) -> Mutation:
    """DROP TABLE: row deletions."""
    gone = Deletion(ts, ts // 1_000_000)
    name = table.name.encode()
    columns = tuple(Row((name, column.name_bytes), deletion=gone) for column in _by_name(table))
    return _update(COLUMNS, table, columns), _update(TABLES, table, (Row((name,), deletion=gone),))


def drop_keyspace(keyspace: str, ts: int) -> Mutation:
    """DROP KEYSPACE: partition deletions."""
    gone = Deletion(ts, ts // 1_000_000)
    return tuple(Update(table, keyspace.encode(), (), deletion=gone) for table in (COLUMNS, DROPPED_COLUMNS, TABLES))


def _by_name(table: Table) -> list[Column]:
    return sorted(table.columns, key=lambda column: column.name_bytes)


def _update(schema_table: Table, table: Table, rows: tuple[Row, ...]) -> Update:
    return Update(schema_table, table.keyspace.encode(), rows)


def _row(clustering: tuple[bytes, ...], values: dict[str, bytes], ts: int, deletion: Deletion | None = None) -> Row:
    cells = tuple((name, Cell(value, ts, like_row=1)) for name, value in values.items())
    return Row(clustering, Liveness(ts), deletion, cells)


def _table_row(table: Table, ts: int) -> Row:
    values = {"id": table.id.bytes, "cdc": bytes([table.cdc]), "flags": _texts(table.flags)}
    return _row((table.name.encode(),), values, ts, Deletion(ts - 1, ts // 1_000_000))


def _column_row(table: Table, column: Column, ts: int) -> Row:
    order = ("desc" if column.desc else "asc") if column.kind == "clustering" else "none"
    values = {
        "clustering_order": order.encode(),
        "column_name_bytes": column.name_bytes,
        "kind": column.kind.encode(),
        "position": i32(column.position),
        "type": column.type.encode(),
    }
    return _row((table.name.encode(), column.name_bytes), values, ts)


def _texts(texts: tuple[str, ...]) -> bytes:
    """A frozen list or set of text."""
    return i32(len(texts)) + b"".join(i32(len(text.encode())) + text.encode() for text in texts)
