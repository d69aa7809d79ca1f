"""The columns `_change_type`, `_commit_version` and `_commit_timestamp`, named as Spark's and Delta's change feeds do.

A change of Cassandra's log says what a write set, not what the row was or is. So a type is told where the row's own
columns are the whole row behind the change, or its key is all that there is to tell (docs/lakehouse.md); else null.
Knows batches of the typed form, and no log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailer.errors import UsageError
from tailer.schema.typed import TypedTable

if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

CHANGE_TYPE: Final = "_change_type"
NAMES: Final = (CHANGE_TYPE, "_commit_version", "_commit_timestamp")
OFFSET_BITS: Final = 32
"""A commit's version is its position as one number: the segment's id, and behind it so many bits of the offset."""

_FORM: Final = "cdc_tail.changes"


def change_fields(form: TypedTable) -> list[StructField]:
    """The three columns for a form's rows. UsageError where a column of the form has one of their names."""
    from pyspark.sql.types import DecimalType, StringType, StructField, TimestampType

    clash = {name.casefold() for name in (*(column.name for column in form.columns), *form.meta)} & set(NAMES)
    if clash:
        raise UsageError(f"changeColumns: {form.table} has a column {min(clash)} already", remedy="Leave it out.")
    told = {"columns": [column.name for column in form.columns if column.kind == "regular"], "prefix": form.prefix}
    types = (StringType(), DecimalType(38, 0), TimestampType())
    return [
        StructField(name, kind, True, {_FORM: told} if name == CHANGE_TYPE else None)
        for name, kind in zip(NAMES, types, strict=True)
    ]


def without_changes(schema: StructType) -> StructType:
    """The columns of the form alone."""
    from pyspark.sql.types import StructType

    return StructType([field for field in schema if field.name not in NAMES])


def with_changes(batch: pa.RecordBatch, schema: StructType) -> pa.RecordBatch:
    """A batch of the typed form with the three columns behind it, where `schema` has them."""
    marked = [field.metadata[_FORM] for field in schema if _FORM in field.metadata]
    if not marked:
        return batch
    regular, prefix = marked[0]["columns"], marked[0]["prefix"]
    meta = {name: batch.column(batch.schema.get_field_index(prefix + name)) for name in _NEEDED}
    whole = _whole(batch, meta, regular)
    kinds = _types(batch, meta, whole, regular)
    when = meta["write_ts"].cast(pa.timestamp("us", tz="UTC"))
    columns = [*batch.columns, kinds, _versions(meta["segment"], meta["offset"]), when]
    return pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, *NAMES])


_NEEDED: Final = ("op", "set", "deltas", "is_static", "write_ts", "segment", "offset")


def _whole(batch: pa.RecordBatch, meta: dict[str, Any], regular: list[str]) -> Any:
    """Which rows have a value, or the lack of one, for every regular column, and nothing by element."""
    named = meta["set"]
    inside = pc.is_in(named.flatten(), value_set=pa.array(regular, pa.string())).to_numpy(zero_copy_only=False)
    parents = pc.list_parent_indices(named).to_numpy(zero_copy_only=False)
    counts = np.bincount(parents[inside], minlength=batch.num_rows)
    of_row = ~_true(meta["is_static"]) & _true(pc.is_null(meta["deltas"]))
    return (counts == len(regular)) & of_row


def _types(batch: pa.RecordBatch, meta: dict[str, Any], whole: Any, regular: list[str]) -> pa.Array:
    # An update that leaves nothing but nulls may have ended the row: only a marker, which nobody saw, would keep it.
    some = np.zeros(batch.num_rows, bool)
    for name in regular:
        some |= _true(pc.is_valid(batch.column(batch.schema.get_field_index(name))))
    told: dict[str, Any] = {
        "insert": _true(pc.equal(meta["op"], "insert")) & whole,
        "update_postimage": _true(pc.equal(meta["op"], "update")) & whole & some,
        "delete": _true(pc.equal(meta["op"], "delete_row")),
    }
    kinds = pa.nulls(batch.num_rows, pa.string())
    for kind, where in told.items():
        kinds = pc.if_else(pa.array(where), kind, kinds)
    return kinds


def _versions(segments: pa.Array, offsets: pa.Array) -> pa.Array:
    """`segment << 32 | offset`, as decimals of 38 digits: 128 bits, the lower half first."""
    high, low = (part.to_numpy(zero_copy_only=False).astype(np.uint64) for part in (segments, offsets))
    bits = np.uint64(OFFSET_BITS)
    halves = np.stack([(high << bits) | low, high >> np.uint64(64 - OFFSET_BITS)], axis=1)
    return pa.Array.from_buffers(pa.decimal128(38, 0), len(segments), [None, pa.py_buffer(halves.tobytes())])


def _true(flags: pa.Array) -> Any:
    return pc.fill_null(flags, False).to_numpy(zero_copy_only=False)
