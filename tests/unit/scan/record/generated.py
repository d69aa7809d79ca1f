"""The same changes written twice: as a server's mutations and as a native log's records. Writes bytes only.

What is changed comes from `tests.unit.rows.typed.generated`: every CQL type, every shape of row. The records
are packed by hand, in forms of any width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tailer.scan.key import split_partition_key
from tailer.schema.model import Column, TableDefinition, TypeField
from tests.helpers.logs.model import Cell, Complex, Marker, Row, Table, Update
from tests.helpers.logs.mutation import encode_mutation
from tests.unit.rows.typed.generated import TYPES, tables, updates
from tests.unit.scan.record.packed import entry

PRINT = b"fingerpr"
Mutations = list[tuple[Update, ...]]


class Log(NamedTuple):
    """A table and the entries of both logs, which change it alike."""

    definition: TableDefinition
    key: str
    mutations: list[bytes]
    records: list[bytes]


def columns_of(table: Table) -> list[str]:
    """The names in the order of a definition record."""
    kinds: Any = ("partition_key", "clustering", "static", "regular")
    return [column.name for kind in kinds for column in table.of_kind(kind)]


def definition_of(table: Table) -> TableDefinition:
    """Static columns before regular ones, as a native log's tables have them."""
    columns = [Column(c.name, c.kind, c.type, c.position, c.desc) for c in map(table.column, columns_of(table))]
    types = {name: tuple(TypeField(*field) for field in fields) for name, fields in TYPES}
    return TableDefinition(table.id.hex, table.keyspace, table.name, tuple(columns), cdc=True, types=types)


def _times(cell: Cell) -> tuple[int | None, int | None]:
    return (None, None) if cell.deleted is not None else (cell.ttl, cell.expires)


def _cell(column: int, cell: Cell | Complex, ts: int | None) -> list[Any]:
    """A timestamp that is the row's is nil."""
    if isinstance(cell, Cell):
        value = None if cell.deleted is not None else cell.value
        return [column, value, None if cell.ts == ts else cell.ts, *_times(cell), None]
    items = [
        [held.path, None if held.deleted is not None else held.value, None if held.ts == ts else held.ts, *_times(held)]
        for held in cell.cells
    ]
    deleted = None if cell.deletion is None else cell.deletion.ts
    return [column, None, None, None, None, [deleted, items]]


def _bounds(opened: Marker, closed: Marker) -> list[Any]:
    """Values, none where that side is open, and whether they belong to the range."""
    begins, ends = opened.kind.name.endswith("INCL_START"), closed.kind.name.startswith("INCL_END")
    return [list(opened.clustering) or None, begins, list(closed.clustering), ends]


def rows_of(update: Update) -> Iterator[list[Any]]:
    """The rows of a change, for the partition of one update."""
    columns = columns_of(update.table)
    key = split_partition_key(update.key, len(update.table.of_kind("partition_key")))

    def cells(held: Row, ts: int | None) -> list[Any]:
        order = sorted(held.cells, key=lambda named: columns.index(named[0]))
        return [_cell(columns.index(name), cell, ts) for name, cell in order]

    if update.deletion is not None:
        yield [4, key, None, False, update.deletion.ts, None, None, [], None]
    if update.static is not None:
        yield [1, key, None, True, None, None, None, cells(update.static, None), None]
    for number, each in enumerate(update.unfiltereds):
        if isinstance(each, Marker):
            if each.kind.name.endswith("START"):
                closed = next(held for held in update.unfiltereds[number + 1 :] if isinstance(held, Marker))
                yield [3, key, None, False, each.deletions[-1].ts, None, None, [], _bounds(each, closed)]
            continue
        clustering = list(each.clustering) or None
        if each.deletion is not None:
            yield [2, key, clustering, False, each.deletion.ts, None, None, [], None]
        live = each.liveness
        if live is not None:
            yield [0, key, clustering, False, live.ts, live.ttl, live.expires, cells(each, live.ts), None]
        else:
            yield [1, key, clustering, False, None, None, None, cells(each, None), None]


def record_of(table: Table, mutation: Sequence[Update], txn: int | None, attrs: Any, wide: int) -> bytes:
    """One change; no cell of it has the change's own timestamp."""
    rows = [row for update in mutation for row in rows_of(update)]
    return entry([2, table.id.bytes, PRINT, txn, 1, rows, attrs], wide)


def _whole(row: Row) -> Row:
    """No clustering value of a native log is null."""
    return replace(row, clustering=tuple(value or b"" for value in row.clustering))


@st.composite
def logs(draw: st.DrawFn, *, txn: int | None = None, attrs: Any = None) -> Log:
    table = draw(tables())
    table = replace(
        table, columns=tuple(replace(c, desc=c.kind == "clustering" and draw(st.booleans())) for c in table.columns)
    )
    made: Mutations = draw(
        st.lists(st.lists(updates(table), min_size=1, max_size=2).map(tuple), min_size=1, max_size=6)
    )
    made = [
        tuple(
            replace(each, unfiltereds=tuple(_whole(u) if isinstance(u, Row) else u for u in each.unfiltereds))
            for each in mutation
        )
        for mutation in made
    ]
    wide = draw(st.sampled_from([0, 0, 0, 1, 2, 4]))
    records = [record_of(table, mutation, txn, attrs, wide) for mutation in made]
    return Log(definition_of(table), table.id.hex + PRINT.hex(), list(map(encode_mutation, made)), records)
