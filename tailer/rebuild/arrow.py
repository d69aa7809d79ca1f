"""Rebuilt rows as Arrow columns, with the types of the typed form. Importing this loads pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import pyarrow as pa

from tailer.errors import DefinitionError
from tailer.rebuild.changes import key_values
from tailer.rebuild.rows import TableRow, Value
from tailer.rebuild.table import Plan
from tailer.rows.arrow_types import arrow_type
from tailer.types import CqlType, Shape
from tailer.types.cql import Decimals
from tailer.types.parts import parts_of
from tailer.types.values import elements_reader, reader

OnMisfit = Literal["fail", "null"]
"""What becomes of a value that its Arrow type has no room for."""


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    arrow: pa.DataType
    read: Callable[[Any], Any]


class RowColumns:
    """The table's own columns: partition key, clustering, static and regular, as of its definition."""

    def __init__(self, plan: Plan, decimals: Decimals, on_misfit: OnMisfit) -> None:
        self._plan = plan
        self._on_misfit = on_misfit
        self._key = [_key_column(column.name, column.type, decimals) for column in plan.key]
        self._clustering = [_key_column(column.name, column.type, decimals) for column in plan.clustering]
        self._data = [_data_column(column.name, column.type, decimals) for column in plan.shown]
        self.schema = pa.schema(
            [pa.field(column.name, column.arrow) for column in (*self._key, *self._clustering, *self._data)]
        )

    def arrays(self, rows: Sequence[tuple[bytes, TableRow]]) -> list[pa.Array]:
        """The columns of rows, each with its partition. DefinitionError for a value that its Arrow type cannot hold."""
        lines = [self._line(partition, row) for partition, row in rows]
        columns = zip(*lines, strict=True) if lines else [()] * len(self.schema)
        return [pa.array(values, type=field.type) for values, field in zip(columns, self.schema, strict=True)]

    def _line(self, partition: bytes, row: TableRow) -> list[Any]:
        line = self._read(self._key, parts_of(key_values(partition), 0, len(self._key)))
        line += self._read(self._clustering, parts_of(row.clustering, 0, len(self._clustering)))
        return line + self._read(self._data, [row.values.get(column.name) for column in self._data])

    def _read(self, columns: Sequence[_Column], values: Sequence[Value | None]) -> list[Any]:
        line: list[Any] = [None] * len(columns)
        for at, (column, value) in enumerate(zip(columns, values, strict=False)):
            if value is not None:
                try:
                    line[at] = column.read(value)
                except ValueError as error:
                    if self._on_misfit == "fail":
                        raise self._misfit(column, error) from error
        return line

    def _misfit(self, column: _Column, error: ValueError) -> DefinitionError:
        return DefinitionError(
            f'a value of column "{column.name}" of {self._plan.table.name} does not fit its Spark type: {error}',
            remedy="decimals='string' has room for every number; on_misfit='null' makes null of what does not fit.",
        )


@lru_cache(maxsize=16)
def row_columns(plan: Plan, decimals: Decimals, on_misfit: OnMisfit = "fail") -> RowColumns:
    """The columns of a table; the same object for the same table."""
    return RowColumns(plan, decimals, on_misfit)


def _key_column(name: str, type_: CqlType, decimals: Decimals) -> _Column:
    return _Column(name, arrow_type(type_, decimals), reader(type_, decimals))


def _data_column(name: str, type_: CqlType, decimals: Decimals) -> _Column:
    if type_.shape is Shape.COUNTER:
        return _Column(name, arrow_type(type_, decimals), int)
    read = elements_reader(type_, decimals) if type_.complex else None
    return _Column(name, arrow_type(type_, decimals), read or reader(type_, decimals))
