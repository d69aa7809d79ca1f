"""Arrow columns as the bytes of PostgreSQL's `COPY ... (FORMAT BINARY)`, a whole batch at a time. Knows no connection.

https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format": of a row the number of its fields, of a field
its length (-1: null) and its bytes, all integers with the highest byte first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailer.sinks.database.columns import ValueKind

HEADER: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER: Final = b"\xff\xff"

_BINARY: Final = pa.large_binary()
_EPOCH_DAYS: Final = 10_957
_EPOCH_MICROS: Final = _EPOCH_DAYS * 86_400_000_000
"""PostgreSQL's dates and times count from 2000 on."""

_NUMBERS: Final[dict[str, str]] = {
    "bool": "?", "int8": ">i2", "int16": ">i2", "int32": ">i4", "int64": ">i8", "float": ">f4", "double": ">f8",
}  # fmt: skip


def copy_rows(batch: pa.RecordBatch, kinds: Sequence[ValueKind]) -> bytes:
    """The rows, between HEADER and TRAILER."""
    count = batch.num_rows
    parts = [_fixed(np.full(count, len(kinds), ">i2"))]
    for column, kind in zip(batch.columns, kinds, strict=True):
        values = _values(column, kind)
        lengths = pc.fill_null(pc.binary_length(values), -1).to_numpy(zero_copy_only=False)
        parts += [_fixed(lengths.astype(">i4")), values]
    rows = pc.binary_join_element_wise(*parts, pa.scalar(b"", _BINARY), null_handling="replace", null_replacement=b"")
    _, offsets, data = rows.buffers()
    ends = np.frombuffer(offsets, np.int64)
    return bytes(data[int(ends[rows.offset]) : int(ends[rows.offset + count])]) if count else b""


def _values(column: pa.Array, kind: ValueKind) -> pa.Array:
    """Each value's bytes; null stays null."""
    if kind == "decimal":
        column = column.cast(pa.string())
    if kind not in _INTEGERS and kind not in _NUMBERS:
        return column.cast(_BINARY)
    valid = column.is_valid()
    if kind in _INTEGERS:
        plain, since = _INTEGERS[kind]
        made = since(pc.fill_null(column.cast(plain), 0).to_numpy(zero_copy_only=False))
    else:
        nothing = pa.scalar(False if kind == "bool" else 0, column.type)
        made = pc.fill_null(column, nothing).to_numpy(zero_copy_only=False).astype(_NUMBERS[kind])
    return pc.if_else(valid, _fixed(made), pa.scalar(None, _BINARY))


def _fixed(numbers: npt.NDArray[Any]) -> pa.Array:
    """The bytes of each number."""
    offsets = np.arange(len(numbers) + 1, dtype=np.int64) * numbers.dtype.itemsize
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(numbers.tobytes())]
    return pa.Array.from_buffers(_BINARY, len(numbers), buffers)


def _since_2000(epoch: int, code: str) -> Callable[[npt.NDArray[Any]], npt.NDArray[Any]]:
    """Numbers since 1970 as those since 2000. What would be below the least becomes a value that the server refuses:
    the least itself is its word for "before all time"."""
    least = np.iinfo(code).min

    def since(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        made: npt.NDArray[Any] = (np.maximum(numbers, least + 1 + epoch) - epoch).astype(code)
        return made

    return since


_INTEGERS: Final = {
    "timestamp": (pa.int64(), _since_2000(_EPOCH_MICROS, ">i8")),
    "date": (pa.int32(), _since_2000(_EPOCH_DAYS, ">i4")),
}
"""The Arrow type that a kind is made of, and what becomes of its numbers."""
