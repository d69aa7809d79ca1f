"""Prepared definitions laid out as numbers, for the compiled build to walk. Knows no bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from tailer.jit.addresses import address_of
from tailer.rows.prepared import Prepared, PreparedColumn, PreparedTable
from tailer.scan.latest import Latest
from tailer.scan.tables import NO_COLUMN
from tailer.types import Shape
from tailer.types.compiled.plan import PART_BYTES, WORD, Bytes, Numbers, TypePlan

# A line of `tables`; KEY, CLUSTERING and COLUMNS are addresses of lines of the plan, one per column.
READING: Final = 0
KEY: Final = 1
KEY_COUNT: Final = 2
CLUSTERING: Final = 3
COLUMNS: Final = 4
TABLE_WIDTH: Final = 5
TABLE_BYTES: Final = TABLE_WIDTH * WORD

# READING: what is made of a table's lines.
PASSED_OVER: Final = 0
DELIVERED: Final = 1
LEFT_TO_PLAIN: Final = 2

# A column's line is a part of the plan, and SHAPE.
SHAPE: Final = 3
COLUMN_BYTES: Final = PART_BYTES + WORD

# SHAPE: how its cells are to be read.
SIMPLE: Final = 0
LIST: Final = 1
SET: Final = 2
MAP: Final = 3
UDT: Final = 4

SHAPES: Final = {
    Shape.SIMPLE: SIMPLE, Shape.COUNTER: SIMPLE, Shape.LIST: LIST, Shape.SET: SET, Shape.MAP: MAP, Shape.UDT: UDT
}  # fmt: skip


class BuildTables(NamedTuple):
    """All tables of one build, by number, and what lies at the addresses in them."""

    tables: Numbers
    plan: Numbers
    names: Bytes


def _build_tables(prepared: tuple[PreparedTable, ...]) -> BuildTables:
    plan = TypePlan()
    tables = np.array([_table(plan, table) for table in prepared], np.int64).reshape(-1, TABLE_WIDTH)
    numbers, names = plan.arrays()
    for field in (KEY, CLUSTERING, COLUMNS):
        tables[:, field] = address_of(numbers) + WORD * tables[:, field]
    return BuildTables(tables, numbers, names)


_TABLES: Final = Latest(_build_tables)


def tables_of(prepared: Prepared) -> BuildTables:
    """The tables of `prepared` laid out; read only, for equal ones share them."""
    return _TABLES.of(prepared.tables)


def _table(plan: TypePlan, table: PreparedTable) -> tuple[int, int, int, int, int]:
    if table.truncations != NO_COLUMN:
        return LEFT_TO_PLAIN, 0, 0, 0, 0
    if not table.delivered:
        return PASSED_OVER, 0, 0, 0, 0
    key, clustering, columns = (_columns(plan, found) for found in (table.key, table.clustering, table.columns))
    return DELIVERED, key, len(table.key), clustering, columns


def _columns(plan: TypePlan, columns: Sequence[PreparedColumn]) -> int:
    types = [plan.type(column.type) for column in columns]
    begin = plan.add()
    for column, type_ in zip(columns, types, strict=True):
        plan.part(type_, column.name)
        plan.add(SHAPES[column.type.shape])
    return begin
