"""What the model of a cluster writes, as the mutations of a log: independent of the product."""

from __future__ import annotations

import struct
from typing import Final
from uuid import UUID

from tests.helpers.images.logged import Update as ModelUpdate
from tests.helpers.images.partitions import Partition, Range
from tests.helpers.images.rows import Cell as ModelCell
from tests.helpers.images.rows import Row as ModelRow
from tests.helpers.images.tables import NEVER, STATIC, Key, ModelColumn, ModelTable, raw
from tests.helpers.logs.model import (
    Bound,
    Cell,
    Column,
    Complex,
    Deletion,
    Liveness,
    Marker,
    Mutation,
    Row,
    Table,
    Update,
)
from tests.helpers.logs.wire import i32

KEYSPACE: Final = "ks"
GLOBAL: Final = -(2**15)
"""In a counter's head, beside a shard's number: the shard is a global one (format page 5.10)."""


def log_table(table: ModelTable, *, cdc: bool = True) -> Table:
    """Its definition as the log has it: without the columns that are dropped."""
    keys = [Column("k", "partition_key", "int", 0)]
    keys += [Column(name, "clustering", "int", at, desc) for at, (name, desc) in enumerate(table.clustering)]
    data = [log_column(column) for column in table.columns if column.name not in table.dropped]
    flags = ("compound", "counter") if table.counts else ("compound",)
    return Table(UUID(table.id), KEYSPACE, table.name, (*keys, *data), cdc, flags)


def log_column(column: ModelColumn) -> Column:
    return Column(column.name, "static" if column.static else "regular", column.type)


def mutation_of(updates: list[ModelUpdate], table: ModelTable, now: int, *, cdc: bool = True) -> Mutation:
    """One mutation of some partitions. `now`: the second of the deletions."""
    return tuple(_update(k, partition, table, now, cdc) for k, partition in updates)


def _update(k: int, partition: Partition, table: ModelTable, now: int, cdc: bool) -> Update:
    assert not (partition.ranges and partition.rows), "who deletes a range does nothing else"
    keys = sorted((key for key in partition.rows if not isinstance(key, str)), key=table.ordered)
    rows = tuple(_row(key, partition.rows[key], table, now) for key in keys)
    markers = tuple(each for bounds, ts in partition.ranges.items() for each in _markers(bounds, Deletion(ts, now)))
    static = partition.rows.get(STATIC)
    return Update(
        log_table(table, cdc=cdc),
        i32(k),
        rows or markers,
        None if static is None else _row((), static, table, now),
        None if partition.deleted == NEVER else Deletion(partition.deleted, now),
    )


def _markers(bounds: Range, deletion: Deletion) -> tuple[Marker, Marker]:
    start, end = (tuple(i32(value) for value in values) for values in (bounds.start, bounds.end))
    opens = Bound.INCL_START if bounds.start_inclusive else Bound.EXCL_START
    closes = Bound.INCL_END if bounds.end_inclusive else Bound.EXCL_END
    return Marker(opens, start, (deletion,)), Marker(closes, end, (deletion,))


def _row(key: Key, row: ModelRow, table: ModelTable, now: int) -> Row:
    marker, cells = row.marker, {}
    for (name, path), cell in sorted(row.cells.items()):
        column = table.column(name)
        if column.complex:
            cells.setdefault(name, []).append(_cell(cell, column, path, now))
        else:
            cells[name] = [_cell(cell, column, None, now)]
    made: dict[str, Cell | Complex] = {}
    for name in sorted({*cells, *row.gone}):
        if table.column(name).complex:
            gone = Deletion(row.gone[name], now) if name in row.gone else None
            made[name] = Complex(tuple(sorted(cells.get(name, ()), key=lambda each: _order(each, table, name))), gone)
        else:
            (made[name],) = cells[name]
    made.update(_counters(row))
    return Row(
        () if isinstance(key, str) else tuple(i32(value) for value in key),
        None if marker is None else Liveness(marker.ts, marker.ttl, marker.expires),
        None if row.deleted == NEVER else Deletion(row.deleted, now),
        tuple(made.items()),
    )


def _order(cell: Cell, table: ModelTable, name: str) -> object:
    """As the server sorts a column's elements: ints by their sign, ids by their time."""
    path = cell.path or b""
    return path if table.column(name).type == "list<int>" else int.from_bytes(path, "big", signed=True)


def _cell(cell: ModelCell, column: ModelColumn, path: str | None, now: int) -> Cell:
    name = None if path is None else _path(column, path)
    if cell.dead:
        return Cell(b"", cell.ts, deleted=now, path=name)
    value = b"" if column.type == "set<int>" else raw(cell.value)
    return Cell(value, cell.ts, cell.ttl, cell.expires, path=name)


def _path(column: ModelColumn, path: str) -> bytes:
    if column.type == "list<int>":
        return UUID(path).bytes
    if column.type == "pair":
        return column.fields.index(path).to_bytes(2, "big")
    return i32(int(path))


def _counters(row: ModelRow) -> dict[str, Cell | Complex]:
    """Each counter as one cell: a context of global shards in order of their ids."""
    made: dict[str, Cell | Complex] = {}
    for name in sorted({name for name, _ in row.shards}):
        shards = sorted(
            (UUID(id).bytes, each) for (own, id), held in row.shards.items() if own == name for each in held
        )
        head = struct.pack(f">{len(shards) + 1}h", len(shards), *(number + GLOBAL for number in range(len(shards))))
        body = b"".join(id + struct.pack(">qq", each.clock, each.total) for id, each in shards)
        made[name] = Cell(head + body, shards[0][1].ts)
    return made
