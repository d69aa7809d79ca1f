"""The compiled build over random tables, values and times: the rows, faults and texts of the plain one."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.rows.place import Place
from tailer.rows.prepared import prepare
from tailer.scan.index import (
    CELL,
    CELL_DELETED,
    CELL_EXPIRING,
    COMPLEX_DELETION,
    HAS_DELETION,
    HAS_TIMESTAMP,
    HAS_TTL,
    NO_DELETION,
    PARTITION_DELETION,
    RANGE_BOUNDARY,
    RANGE_END,
    RANGE_START,
    ROW,
    ROW_LINE,
    STATIC_ROW,
    UPDATE,
    VALUE,
    Index,
    Status,
    Stopped,
)
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.types import CqlType, Shape, parse_type
from tests.unit.rows.made_values import COMPOSED, MULTI, SCALARS, values_of
from tests.unit.rows.twins import build_both
from tests.unit.scan.compiled.twins import compiled_only

pytestmark = compiled_only

TS = 1_700_000_000_000_000
TYPES = {"point": (TypeField("x", "int"), TypeField('Y "é', "text"))}
TIMESTAMPS = st.integers(TS, TS + 3) | st.sampled_from([-(2**63) + 1, 0, 2**63 - 1])
TTLS = st.integers(1, 3) | st.sampled_from([0, 2**31 - 1])
TIMES = TTLS | st.just(2**32)
fewer = settings(max_examples=max(30, settings.default.max_examples // 3))


@dataclass
class Made:
    """An index in the making, and the bytes it is of."""

    draw: st.DrawFn
    data: bytearray
    updates: list[tuple[int, ...]]
    rows: list[tuple[int, ...]]
    values: list[tuple[int, ...]]
    cells: list[tuple[int, ...]]

    def put(self, value: bytes) -> tuple[int, int]:
        self.data += value
        return len(self.data) - len(value), len(value)

    def value(self, type_: CqlType) -> tuple[int, int]:
        return self.put(self.draw(values_of(type_)))


def definition(draw: st.DrawFn, number: int) -> TableDefinition:
    kinds = st.sampled_from(SCALARS + COMPOSED)
    columns = [Column(f"k{n}", "partition_key", draw(kinds), n) for n in range(draw(st.integers(1, 2)))]
    columns += [Column(f"c{n}", "clustering", draw(kinds), n) for n in range(draw(st.integers(0, 2)))]
    regular = draw(st.lists(st.sampled_from((*SCALARS, *COMPOSED, *MULTI, "counter")), max_size=5))
    columns += [Column(f'{n} "ä', "regular", text) for n, text in enumerate(regular)]
    return TableDefinition(f"{number:032x}", "ks", f"Table {number}", tuple(columns), cdc=True, types=TYPES)


def add_update(made: Made, entry: int, number: int, table: TableDefinition) -> None:
    key_types = [parse_type(column.type, TYPES) for column in table.partition_key]
    parts = [made.draw(values_of(type_)) for type_ in key_types]
    key = parts[0] if len(parts) == 1 else b"".join(struct.pack(">H", len(part)) + part + b"\0" for part in parts)
    update = len(made.updates)
    made.updates.append((entry, number, *made.put(key)))
    # Numbers run on through an entry; a row takes two where it is deleted and written, two ranges with one up to three.
    first = 4 * sum(made.updates[line[0]][0] == entry for line in made.rows)
    for row in range(first, first + 4 * made.draw(st.integers(0, 4)), 4):
        kind = made.draw(st.sampled_from([ROW_LINE] * 12 + [STATIC_ROW, PARTITION_DELETION, RANGE_START]))
        if kind == RANGE_START:
            add_range(made, update, row, table)
        else:
            add_row(made, update, row, kind, table)


def add_range(made: Made, update: int, number: int, table: TableDefinition) -> None:
    """One range, or two that meet; maybe around a row."""
    add_bound(made, update, number, RANGE_START, table)
    if made.draw(st.integers(0, 3)) == 0:
        add_row(made, update, number + 1, ROW_LINE, table)
    elif made.draw(st.booleans()):
        add_bound(made, update, number + 1, RANGE_BOUNDARY, table)
    add_bound(made, update, number + 2, RANGE_END, table)


def add_bound(made: Made, update: int, number: int, kind: int, table: TableDefinition) -> None:
    values_at, draw = len(made.values), made.draw
    for column in table.clustering[: draw(st.integers(0, len(table.clustering)))]:
        null = draw(st.integers(0, 9)) == 0
        made.values.append((0, -1) if null else made.value(parse_type(column.type, TYPES)))
    opened = NO_DELETION if kind == RANGE_END else draw(TIMESTAMPS)
    closed = NO_DELETION if kind == RANGE_START else draw(TIMESTAMPS)
    at = (values_at, len(made.values) - values_at, len(made.cells), 0)
    made.rows.append((update, number, kind, draw(st.integers(0, 3)), opened, 0, 0, closed, *at))


def add_row(made: Made, update: int, number: int, kind: int, table: TableDefinition) -> None:
    draw = made.draw
    values_at, cells_at = len(made.values), len(made.cells)
    if kind == ROW_LINE:
        for column in table.clustering:
            null = draw(st.integers(0, 9)) == 0
            made.values.append((0, -1) if null else made.value(parse_type(column.type, TYPES)))
    flags = draw(st.sampled_from([0, HAS_TIMESTAMP, HAS_TIMESTAMP, HAS_TIMESTAMP | HAS_TTL]))
    if kind != PARTITION_DELETION:
        for column_number, column in enumerate(table.data_columns):
            if draw(st.booleans()):
                add_cells(made, column_number, parse_type(column.type, TYPES))
        flags |= draw(st.sampled_from([0, 0, 0, HAS_DELETION]))
        if not flags and len(made.cells) == cells_at:
            # What no scan gives has neither: an entry with a fault.
            flags = draw(st.sampled_from([HAS_DELETION, HAS_DELETION, 0]))
    clustering, cells = len(made.values) - values_at, len(made.cells) - cells_at
    times = (draw(TIMESTAMPS), draw(TTLS), draw(TIMES), draw(TIMESTAMPS))
    made.rows.append((update, number, kind, flags, *times, values_at, clustering, cells_at, cells))


def add_cells(made: Made, number: int, type_: CqlType) -> None:
    draw = made.draw
    if type_.shape in (Shape.SIMPLE, Shape.COUNTER):
        flags = draw(st.sampled_from([0, 0, 0, CELL_DELETED, CELL_EXPIRING]))
        value = (0, 0) if flags & CELL_DELETED else made.value(type_)
        made.cells.append((number, flags, draw(TIMESTAMPS), draw(TTLS), draw(TIMES), 0, 0, *value))
        return
    deletion = draw(st.booleans())
    if deletion:
        made.cells.append((number, COMPLEX_DELETION, draw(TIMESTAMPS), 0, 0, 0, 0, 0, 0))
    for _ in range(draw(st.integers(0 if deletion else 1, 4))):
        flags = draw(st.sampled_from([0, 0, CELL_DELETED, CELL_EXPIRING]))
        path, value_type = add_path(made, type_)
        value = made.value(value_type) if value_type is not None and not flags & CELL_DELETED else (0, 0)
        made.cells.append((number, flags, draw(TIMESTAMPS), draw(TTLS), draw(TIMES), *path, *value))


def add_path(made: Made, type_: CqlType) -> tuple[tuple[int, int], CqlType | None]:
    """An element's path, and what its value is of."""
    if type_.shape is Shape.SET:
        return made.value(type_.element), None
    if type_.shape is Shape.MAP:
        return made.value(type_.key), type_.value
    if type_.shape is Shape.LIST:
        size = made.draw(st.sampled_from([16] * 19 + [3]))
        return made.put(made.draw(st.binary(min_size=size, max_size=size))), type_.element
    field = made.draw(st.sampled_from([0, 1] * 10 + [2]))
    return made.put(struct.pack(">h", field)), type_.arguments[min(field, 1)]


@st.composite
def builds(draw: st.DrawFn) -> tuple[Index, bytes, list[TableDefinition], int]:
    """What a scan could have found, of up to three tables and six entries."""
    tables = [definition(draw, number) for number in range(draw(st.integers(1, 3)))]
    made = Made(draw, bytearray(b"data"), [], [], [], [])
    entries = draw(st.integers(1, 6))
    for entry in range(entries):
        for _ in range(draw(st.integers(1, 2))):
            number = draw(st.integers(0, len(tables) - 1))
            add_update(made, entry, number, tables[number])
    kinds = ((made.updates, UPDATE), (made.rows, ROW), (made.values, VALUE), (made.cells, CELL))
    lines = [np.array(found, kind) for found, kind in kinds]
    return Index(*lines, Stopped(Status.OK, entries), {}), bytes(made.data), tables, entries


@fewer
@given(made=builds(), wanted=st.integers(1, 7), node=st.sampled_from(["local", 'a"b\nä']))
def test_random_rows(made: tuple[Index, bytes, list[TableDefinition], int], wanted: int, node: str) -> None:
    index, data, tables, entries = made
    known = {table.id: table for table in tables}
    chosen = {table.id for number, table in enumerate(tables) if wanted >> number & 1}
    place = Place(node, 1_700_000_000_001, [28 + 100 * entry for entry in range(entries)])
    found = build_both(index, data, prepare(known, chosen), place).batch
    for start, stop in ((0, 1), (1, None), (-2, None), (2, 1)):
        part = found.slice(start, stop)
        assert part.json_lines() == b"".join(found.json_lines().splitlines(keepends=True)[start:stop])
        assert part.to_arrow().to_pylist() == found.to_arrow().to_pylist()[start:stop]


def test_a_row_with_neither_a_time_nor_a_cell_is_a_fault() -> None:
    """Behind its place lies the cell of another row, which is not its own."""
    columns = Column("k", "partition_key", "int", 0), Column("v", "regular", "int")
    table = TableDefinition("1" * 32, "ks", "t", columns)
    rows = [(0, 0, ROW_LINE, 0, NO_DELETION, 0, 0, NO_DELETION, 0, 0, 0, 0)]
    rows += [(1, 0, ROW_LINE, 0, NO_DELETION, 0, 0, NO_DELETION, 0, 0, 0, 1)]
    updates, cells = np.array([(0, 0, 0, 4), (1, 0, 0, 4)], UPDATE), np.array([(0, 0, TS, 0, 0, 0, 0, 0, 4)], CELL)
    index = Index(updates, np.array(rows, ROW), np.array([], VALUE), cells, Stopped(Status.OK, 2), {})
    made = build_both(index, bytes(4), prepare({table.id: table}, {table.id}), Place("local", 1, [28, 56]))
    assert [fault.entry for fault in made.faults] == [0]
    assert made.batch.column("offset") == [56]


SIZES = {"double": 8, "float": 4, "bigint": 8, "timestamp": 8, "decimal": 9}


@pytest.mark.parametrize("name", SIZES)
def test_many_numbers(name: str) -> None:
    """Random bits: every exponent, sign and length of digits."""
    table = TableDefinition("1" * 32, "ks", "t", (Column("k", "partition_key", "int", 0), Column("v", "regular", name)))
    count, size = 20_000, SIZES[name]
    data = bytes(4) + np.random.default_rng(1).bytes(size * count)
    cells = [(0, 0, TS, 0, 0, 0, 0, 4 + size * number, size) for number in range(count)]
    rows = [(0, n, ROW_LINE, HAS_TIMESTAMP, TS, 0, 0, NO_DELETION, 0, 0, n, 1) for n in range(count)]
    update = np.array([(0, 0, 0, 4)], UPDATE)
    lines = update, np.array(rows, ROW), np.array([], VALUE), np.array(cells, CELL)
    index = Index(*lines, Stopped(Status.OK, 1), {})
    made = build_both(index, data, prepare({table.id: table}, {table.id}), Place("local", 1, [28]))
    assert len(made.batch) == count
