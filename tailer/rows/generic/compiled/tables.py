"""Prepared definitions laid out as numbers, for the compiled build to walk. Knows no bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from tailer.jit.addresses import address_of
from tailer.rows.prepared import Prepared, PreparedColumn, PreparedTable
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

_SHAPES: Final = {
    Shape.SIMPLE: SIMPLE, Shape.COUNTER: SIMPLE, Shape.LIST: LIST, Shape.SET: SET, Shape.MAP: MAP, Shape.UDT: UDT
}  # fmt: skip


class BuildTables(NamedTuple):
    """All tables of one build, by number, and what lies at the addresses in them."""

    tables: Numbers
    plan: Numbers
    names: Bytes


def build_tables(prepared: Prepared) -> BuildTables:
    """The tables of `prepared` laid out."""
    plan = TypePlan()
    tables = np.array([_table(plan, table) for table in prepared.tables], np.int64).reshape(-1, TABLE_WIDTH)
    numbers, names = plan.arrays()
    for field in (KEY, CLUSTERING, COLUMNS):
        tables[:, field] = address_of(numbers) + WORD * tables[:, field]
    return BuildTables(tables, numbers, names)


_latest: list[tuple[Prepared, BuildTables] | None] = [None]
"""The tables of the last definitions built with: the same ones come many times in a row."""


def tables_of(prepared: Prepared) -> BuildTables:
    """The same, kept for as long as it is asked for `prepared`."""
    # Taken once: another thread may put its own there.
    known = _latest[0]
    if known is None or known[0] is not prepared:
        known = _latest[0] = prepared, build_tables(prepared)
    return known[1]


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
        plan.add(_SHAPES[column.type.shape])
    return begin
