"""`changeColumns = spark`: a change type only where it is true of the row, and positions as numbers in their order."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from tailer.errors import UsageError
from tailer.schema.typed import TypedColumn, TypedTable
from tailer.spark.change_columns import NAMES, change_fields, with_changes, without_changes

FORM = TypedTable(
    "shop.orders",
    (
        TypedColumn("id", "partition_key", "int"),
        TypedColumn("s", "static", "text"),
        TypedColumn("a", "regular", "int"),
        TypedColumn("b", "regular", "text"),
    ),
)
SEGMENT, OFFSET, WRITE_TS = 1_795_257_859_471, 61_065, 1_795_257_908_455_520


def row(op: str, named: list[str] | None, **more: Any) -> dict[str, Any]:
    columns = {"id": 1, "s": None, "a": None, "b": None}
    meta = {"_op": op, "_set": named, "_deltas": None, "_is_static": False, "_write_ts": WRITE_TS}
    return {**columns, **meta, "_segment": SEGMENT, "_offset": OFFSET, **more}


SCHEMA = pa.schema(
    {
        "id": pa.int32(), "s": pa.string(), "a": pa.int32(), "b": pa.string(), "_op": pa.string(),
        "_set": pa.list_(pa.string()), "_deltas": pa.string(), "_is_static": pa.bool_(), "_write_ts": pa.int64(),
        "_segment": pa.int64(), "_offset": pa.int64(),
    }
)  # fmt: skip


def changed(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_pylist(list(rows), schema=SCHEMA)
    made = with_changes(batch, StructType(change_fields(FORM)))
    assert made.schema.names == [*SCHEMA.names, *NAMES]
    # Slices begin in the middle of their buffers.
    longer = pa.RecordBatch.from_pylist([rows[0], *rows], schema=SCHEMA)
    later = with_changes(longer.slice(1), StructType(change_fields(FORM)))
    assert later.equals(made)
    return made.select(list(NAMES)).to_pylist()


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("insert", row("insert", ["a", "b"], a=1, b="x")),
        ("insert", row("insert", ["a", "b"])),
        (None, row("insert", ["a"], a=1)),
        (None, row("insert", [], a=None)),
        (None, row("insert", ["a", "b"], a=1, _deltas='{"b":{"put":[]}}')),
        ("update_postimage", row("update", ["b", "a"], b="x")),
        (None, row("update", ["a", "b"])),
        (None, row("update", ["a"], a=1)),
        (None, row("update", ["s"], s="x", _is_static=True)),
        ("delete", row("delete_row", None)),
        ("delete", row("delete_row", [])),
        (None, row("delete_partition", None)),
        (None, row("delete_range", None)),
        (None, row("truncate", None, id=None, _write_ts=None)),
    ],
)
def test_a_type_is_told_where_it_is_true(kind: str | None, told: dict[str, Any]) -> None:
    for found in (changed(told)[0], changed(row("insert", ["a"]), told)[1]):
        assert found["_change_type"] == kind


def test_the_version_is_the_position_and_the_time_is_that_of_the_write() -> None:
    first, second, last = changed(
        row("delete_row", None),
        row("delete_row", None, _offset=2**31 - 1),
        row("truncate", None, _segment=SEGMENT + 1, _offset=0, _write_ts=None),
    )
    assert first["_commit_version"] == Decimal(SEGMENT * 2**32 + OFFSET)
    assert first["_commit_version"] < second["_commit_version"] < last["_commit_version"]
    assert first["_commit_timestamp"] == datetime(2026, 11, 21, 10, 45, 8, 455520, UTC)
    assert last["_commit_timestamp"] is None


def test_the_columns_go_as_they_came() -> None:
    fields = StructType([StructField("id", IntegerType()), *change_fields(FORM)])
    assert without_changes(fields).names == ["id"]
    batch = pa.RecordBatch.from_pylist([row("insert", [])], schema=SCHEMA)
    assert with_changes(batch, without_changes(fields)) is batch


def test_a_column_of_that_name_is_refused() -> None:
    columns = (*FORM.columns, TypedColumn("_commit_version", "regular", "int"))
    with pytest.raises(UsageError, match="has a column _commit_version already"):
        change_fields(TypedTable("shop.orders", columns))
