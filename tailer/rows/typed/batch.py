"""Typed rows in a batch: an Arrow record batch of a form's schema, and its JSON lines. Knows no log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from tailer.rows.batch import RowKind, TableName
from tailer.rows.explain import Misfit
from tailer.rows.generic.build import ValueFault
from tailer.rows.typed.arrays import Repeated
from tailer.rows.typed.form import Form
from tailer.rows.typed.lines import json_lines
from tailer.schema.typed import META


@dataclass(frozen=True, slots=True)
class TypedBatch:
    """Change rows of one table: its own columns, then those of the change itself."""

    form: Form
    batch: pa.RecordBatch

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def kinds(self) -> Mapping[RowKind, int]:
        """How many rows there are of each keyspace, table and operation."""
        keyspace, _, table = self.form.typed.table.partition(".")
        number = len(self.form.columns) + META.index("op")
        ops, field = self.batch.column(number), self.form.schema.field(number)
        return {(keyspace, table, op): count for op, count in _counted(ops, field, self.form.repeated).items()}

    def slice(self, start: int, stop: int | None = None) -> TypedBatch:
        """The rows from `start` to before `stop`."""
        length = None if stop is None else max(stop - start, 0)
        return TypedBatch(self.form, self.batch.slice(start, length))

    def column(self, name: str) -> Any:
        """The values of one of META, in order: an array where all are numbers, else a list."""
        values = self.batch.column(len(self.form.columns) + META.index(name))
        plain = pa.types.is_integer(values.type) and not values.null_count
        return values.to_numpy() if plain else values.to_pylist()

    def rows_by_table(self) -> dict[TableName, int]:
        """How many rows are of each table: of one name, and more than one id where it was dropped and made again."""
        ids = self.batch.column(len(self.form.columns) + META.index("table_id"))
        counts = ids.value_counts().to_pylist()
        return {TableName(self.form.typed.table, each["values"]): each["counts"] for each in counts}

    def to_arrow(self) -> pa.RecordBatch:
        return self.batch

    def json_lines(self) -> bytes:
        """One JSON object a row, each ended by a newline: all columns in order, nested objects, compact, UTF-8."""
        return json_lines(self.form, self.batch)


def _counted(texts: pa.Array, field: pa.Field, repeated: Repeated) -> dict[str, int]:
    """How often each of a few texts is there; at next to no cost where it is one alone."""
    rows = len(texts)
    if not rows:
        return {}
    first = texts[0].as_py()
    same = repeated.array(field.name, field.type, first, rows)
    # Most often it is the very memory that is kept of one text.
    if _address(texts) == _address(same) or texts.equals(same):
        return {first: rows}
    return {each["values"]: each["counts"] for each in texts.value_counts().to_pylist()}


def _address(texts: pa.Array) -> int:
    """Where its letters are."""
    return int(texts.buffers()[2].address)


class TypedBuilt(NamedTuple):
    """The typed rows of a scan, in log order.

    Without those of the entries that `faults` names, and without the entry of `misfit` and all behind it. `ignored`:
    how many values were left out because the form has no column for them, by column name.
    """

    batch: TypedBatch
    faults: list[ValueFault]
    misfit: Misfit | None
    ignored: Mapping[str, int]
