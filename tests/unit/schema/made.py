"""Changes of `system_schema` as a server writes them, built by hand for the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailer.schema.rows import SchemaDelta, put

ID_A = "0a" * 16
ID_B = "0b" * 16


def key(kind: str, type: str, position: int = 0, order: str = "none") -> dict[str, str | int]:
    return {"kind": kind, "type": type, "position": position, "clustering_order": order}


def data(type: str, kind: str = "regular") -> dict[str, str | int]:
    return key(kind, type, -1)


def column(table: str, name: str, values: Mapping[str, str | int], ts: int) -> SchemaDelta:
    return put("columns", "ks", [table, name], {**values, "column_name_bytes": name.encode().hex()}, ts)


def heading(table: str, id: str, ts: int, *, cdc: bool = True, replaces: bool = True) -> SchemaDelta:
    """The row of `tables`: from 4.1 on it comes with a row deletion one µs older (`replaces`)."""
    made = put("tables", "ks", [table], {"id": id, "cdc": cdc, "flags": ["compound"]}, ts)
    deletion = ts - 1 if replaces else None
    return SchemaDelta("tables", "ks", (table,), made.cells, ts, deletion)


def gone(system_table: str, clustering: Sequence[str], ts: int) -> SchemaDelta:
    return SchemaDelta(system_table, "ks", tuple(clustering), row_deletion=ts)


def create(
    table: str, id: str, ts: int, columns: Mapping[str, Mapping[str, str | int]], *, cdc: bool = True
) -> list[SchemaDelta]:
    """One CREATE TABLE: the columns come before the row that has the id."""
    return [*(column(table, name, values, ts) for name, values in columns.items()), heading(table, id, ts, cdc=cdc)]


def drop(table: str, columns: Sequence[str], ts: int) -> list[SchemaDelta]:
    return [*(gone("columns", [table, name], ts) for name in columns), gone("tables", [table], ts)]


def user_type(name: str, fields: Mapping[str, str], ts: int) -> SchemaDelta:
    values = {"field_names": list(fields), "field_types": list(fields.values())}
    return put("types", "ks", [name], values, ts)


SIMPLE = {"id": key("partition_key", "int"), "v": data("text")}
