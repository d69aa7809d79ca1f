"""The statements that keep a table as the source is, for many rows at once. Texts only; knows no connection.

Each is for rows of values, which a store gives it one by one, or as a table of their own (`values`, `rows_from`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailer.sinks.database.columns import TargetColumn, TargetForm
from tailer.sinks.database.names import listed, quoted, spelled
from tailer.sinks.database.source_table import COMPLETE, SEQ, SourceTable

if TYPE_CHECKING:
    from tailer.sinks.database.store import Store


def put(store: Store, table: str, form: TargetForm, names: Sequence[str]) -> str:
    """Rows of these columns, which are made, or changed where they are there; the last column but one is `seq`."""
    columns = _chosen(form, names)
    values = store.values(columns)
    into = f"INSERT INTO {spelled(table)} AS t ({listed(tuple(names))})"
    rows = f"SELECT {', '.join(values)} FROM {store.rows_from}" if store.rows_from else f"VALUES ({', '.join(values)})"
    sets = ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for name in names if name not in form.keys)
    newer = f"t.{quoted(SEQ)} IS NULL OR t.{quoted(SEQ)} < excluded.{quoted(SEQ)}"
    return f"{into} {rows} ON CONFLICT ({listed(form.keys)}) DO UPDATE SET {sets} WHERE {newer}"


def change(store: Store, table: str, form: TargetForm, names: Sequence[str]) -> str:
    """Columns of rows, where they are there. Values: those of `names`, `seq` the last, the key, and `seq` again."""
    values = store.values(_chosen(form, [*names, *form.keys, SEQ]))
    sets = ", ".join(f"{quoted(name)} = {value}" for name, value in zip(names, values, strict=False))
    return update(store, table, sets, _where(form.keys, values[len(names) : -1], values[-1]))


def remove(store: Store, table: str, form: TargetForm) -> str:
    """Rows. Values: the key, and `seq`."""
    values = store.values(_chosen(form, [*form.keys, SEQ]))
    return delete(store, table, _where(form.keys, values[:-1], values[-1]))


def keep_statics(table: str, beside: str, source: SourceTable) -> str:
    """Static rows of what the table had before the one beside it was there, one of each partition."""
    names = (*(column.name for column in (*source.partition, *source.static)), COMPLETE)
    taken = ", ".join(f"t.{quoted(name)}" for name in names)
    known = " OR ".join(f"t.{quoted(column.name)} IS NOT NULL" for column in source.static)
    keys = listed(tuple(column.name for column in source.partition))
    rows = f"SELECT {taken} FROM {spelled(table)} AS t WHERE {known}"
    return f"INSERT INTO {spelled(beside)} ({listed(names)}) {rows} ON CONFLICT ({keys}) DO NOTHING"


def without_statics(table: str, beside: str, source: SourceTable) -> str:
    """No static values where there is no static row."""
    sets = ", ".join(f"{quoted(column.name)} = NULL" for column in source.static)
    none = f"NOT EXISTS (SELECT 1 FROM {spelled(beside)} AS x WHERE {_same(source)})"
    return f"UPDATE {spelled(table)} AS t SET {sets} WHERE {none}"


def show_static(store: Store, table: str, beside: str, source: SourceTable) -> str:
    """Each row of partitions has their static row's values. Values: of the partition key."""
    same = _same(source)
    taken = [
        f"{quoted(each.name)} = (SELECT x.{quoted(each.name)} FROM {spelled(beside)} AS x WHERE {same})"
        for each in source.static
    ]
    return update(store, table, ", ".join(taken), _of_partition(store, source))


def hide_alone(store: Store, table: str, source: SourceTable) -> str:
    """No row that stands for a static row alone. Values: of the partition key."""
    alone = f"t.{quoted(source.clustering[0].name)} IS NULL"
    return delete(store, table, f"{_of_partition(store, source)} AND {alone}")


def show_alone(store: Store, table: str, beside: str, source: SourceTable) -> str:
    """A row for a static row whose partition has no other. Values: of the partition key."""
    names = (*(column.name for column in (*source.partition, *source.static)), SEQ, COMPLETE)
    taken = ", ".join(f"x.{quoted(name)}" for name in names)
    origin = f"{spelled(beside)} AS x" + (f", {store.rows_from}" if store.rows_from else "")
    none = f"NOT EXISTS (SELECT 1 FROM {spelled(table)} AS t WHERE {_same(source)})"
    values = store.values([column.target for column in source.partition])
    given = " AND ".join(f"x.{quoted(c.name)} = {v}" for c, v in zip(source.partition, values, strict=True))
    return f"INSERT INTO {spelled(table)} ({listed(names)}) SELECT {taken} FROM {origin} WHERE {given} AND {none}"


def unknown_rows(store: Store, table: str, source: SourceTable, *, partition: bool) -> str:
    """The condition of rows that no image told of: the table had them before."""
    unknown = f"t.{quoted(SEQ)} IS NULL"
    return f"{_of_partition(store, source)} AND {unknown}" if partition else unknown


def _chosen(form: TargetForm, names: Sequence[str]) -> list[TargetColumn]:
    known = {column.name: column for column in form.columns}
    return [known[name] for name in names]


def _where(keys: Sequence[str], values: Sequence[str], seq: str) -> str:
    same = " AND ".join(f"t.{quoted(name)} = {value}" for name, value in zip(keys, values, strict=True))
    return f"{same} AND (t.{quoted(SEQ)} IS NULL OR t.{quoted(SEQ)} < {seq})"


def _same(source: SourceTable) -> str:
    return " AND ".join(f"x.{quoted(column.name)} = t.{quoted(column.name)}" for column in source.partition)


def _of_partition(store: Store, source: SourceTable) -> str:
    values = store.values([column.target for column in source.partition])
    pairs = zip(source.partition, values, strict=True)
    return " AND ".join(f"t.{quoted(column.name)} = {value}" for column, value in pairs)


def update(store: Store, table: str, sets: str, where: str) -> str:
    """Rows of `t` under a condition that has values."""
    rows = f" FROM {store.rows_from}" if store.rows_from else ""
    return f"UPDATE {spelled(table)} AS t SET {sets}{rows} WHERE {where}"


def delete(store: Store, table: str, where: str) -> str:
    """No such rows any more."""
    rows = f" USING {store.rows_from}" if store.rows_from else ""
    return f"DELETE FROM {spelled(table)} AS t{rows} WHERE {where}"
