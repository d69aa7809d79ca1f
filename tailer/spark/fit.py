"""Record batches in the columns that a query was loaded with, by name. Knows Arrow types only.

A batch that is replayed has the columns that were pinned for it: those that its query has got since are null in it.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from tailer.errors import DefinitionError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def arrow_columns(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark wants of the batches of a DataFrame."""
    named: dict[str, Any] = {"timezone": "UTC"} if "timezone" in _parameters() else {}
    return to_arrow_schema(schema, **named)


def fit(batch: pa.RecordBatch, want: pa.Schema) -> pa.RecordBatch:
    """The batch with the columns of `want`. DefinitionError where a column cannot take the type it has now."""
    have: pa.Schema = batch.schema
    if have.equals(want):
        return batch
    return pa.RecordBatch.from_arrays([_column(batch, field) for field in want], schema=want)


def _column(batch: pa.RecordBatch, want: pa.Field) -> pa.Array:
    at = batch.schema.get_field_index(want.name)
    if at < 0:
        return pa.nulls(batch.num_rows, want.type)
    column = batch.column(at)
    if column.type.equals(want.type):
        return column
    try:
        return column.cast(want.type)
    except pa.ArrowException as error:
        raise DefinitionError(
            f"column {want.name} has another type now than when this batch was planned",
            expected=want.type,
            found=column.type,
            remedy="Start again with a new checkpoint and consumer.",
        ) from error


@cache
def _parameters() -> frozenset[str]:
    """Of Spark's function, whose parameters differ between 4.0 and 4.3."""
    return frozenset(inspect.signature(to_arrow_schema).parameters)
