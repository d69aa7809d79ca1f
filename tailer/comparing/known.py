"""Partitions of a table as a state of images knows them now. Reads the state; asks no server."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

from tailer.comparing.partition import Clustering, Columns, KnownPartition
from tailer.images.packed import Row
from tailer.images.partition import Partition, View
from tailer.images.store import Store
from tailer.images.tables import KnownTable
from tailer.rebuild.changes import behind_token, token_of
from tailer.rebuild.rows import Value
from tailer.rebuild.table import DataColumn
from tailer.types import Shape
from tailer.types.parts import collection_bytes, framed

_COUNTER: Final = Struct(">q")


def known_partitions(store: Store, table: KnownTable, low: int, high: int, at: int) -> Iterator[KnownPartition]:
    """Those with tokens above `low` and up to `high`, in their order, as they are at second `at`."""
    name = store.next_partition(table.id, behind_token(low))
    while name is not None and token_of(name) <= high:
        if token_of(name) > low:
            yield known_partition(store, table, name, at)
        name = store.next_partition(table.id, name)


def known_partition(store: Store, table: KnownTable, name: bytes, at: int) -> KnownPartition:
    """One of them, also one of which nothing is known."""
    part = Partition(store, table, name, at, expirations=False)
    static = part.view(part.header)
    shared = _columns(table, static, of_static=True)
    rows: dict[Clustering, Columns] = {}
    unsure: set[Clustering] = set()
    gone: set[Clustering] = set()
    for row in part.every_row():
        view = part.view(row)
        if view.lives:
            rows[row.clustering] = {**_columns(table, view, of_static=False), **shared}
        else:
            (gone if _is_gone(part, row, view) else unsure).add(row.clustering)
    whole = part.is_complete(part.header)
    if not rows and static.lives:
        if whole and not unsure:
            rows[None] = shared
        else:
            unsure.add(None)
    return KnownPartition(name, rows, whole, frozenset(unsure), frozenset(gone))


def _is_gone(part: Partition, row: Row, view: View) -> bool:
    return view.complete or row.gone or part.header.gone


def _columns(table: KnownTable, view: View, *, of_static: bool) -> dict[str, bytes | None]:
    """The columns that are known; of a complete row all of them."""
    columns = table.text.static if of_static else table.text.regular
    return {
        column.name: _bytes(column, view.values.get(column.name))
        for column in columns
        if view.complete or column.name in view.values
    }


def _bytes(column: DataColumn, value: Value | None) -> bytes | None:
    """A value as the server sends it."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, int):
        return _COUNTER.pack(value)
    match column.type.shape:
        case Shape.MAP:
            return collection_bytes([part for pair in value for part in pair], 2)
        case Shape.SET:
            return collection_bytes([path for path, _ in value], 1)
        case Shape.UDT:
            last = max(int.from_bytes(path, "big") for path, _ in value)
            fields: list[bytes | None] = [None] * (last + 1)
            for path, part in value:
                fields[int.from_bytes(path, "big")] = part
            return framed(fields)
        case _:
            return collection_bytes([part for _, part in value], 1)
