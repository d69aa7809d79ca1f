"""Columns as a database takes them: what it has no type for becomes text, and what is nested becomes JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    FractionalType,
    IntegralType,
    MapType,
    StringType,
    StructField,
    StructType,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

_NAMES = (StringType, BooleanType, IntegralType, FractionalType, DecimalType)
"""Types whose values Spark can write as the name of a JSON member; of others it writes what they are inside."""


def as_written(column: Column, field: StructField, is_kept: Callable[[str], bool]) -> Column:
    """The column for a table. `is_kept`: whether the database has a type for a Spark type."""
    if is_kept(field.dataType.simpleString()):
        return column
    if isinstance(field.dataType, ArrayType | MapType | StructType):
        return F.to_json(_json(column, field.dataType)).alias(field.name)
    return column.cast("string").alias(field.name)


def _json(column: Column, kind: DataType) -> Column:
    """The same value with maps of other keys than `_NAMES` as arrays of `key` and `value`, however deep they are."""
    if not _has_other_keys(kind):
        return column
    if isinstance(kind, ArrayType):
        element = kind.elementType
        return F.transform(column, lambda each: _json(each, element))
    if isinstance(kind, StructType):
        fields = [_json(column.getField(field.name), field.dataType).alias(field.name) for field in kind]
        return F.when(column.isNotNull(), F.struct(*fields))
    assert isinstance(kind, MapType)
    keys, values = kind.keyType, kind.valueType
    if isinstance(keys, _NAMES):
        return F.transform_values(column, lambda _, value: _json(value, values))
    return F.transform(
        F.map_entries(column),
        lambda each: F.struct(
            _json(each.getField("key"), keys).alias("key"), _json(each.getField("value"), values).alias("value")
        ),
    )


def _has_other_keys(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _has_other_keys(kind.elementType)
    if isinstance(kind, StructType):
        return any(_has_other_keys(field.dataType) for field in kind)
    if isinstance(kind, MapType):
        return not isinstance(kind.keyType, _NAMES) or _has_other_keys(kind.valueType)
    return False
