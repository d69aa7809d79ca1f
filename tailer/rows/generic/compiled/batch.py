"""Change rows held as arrays, without a Python object per row: what Arrow and JSON lines are made of at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tailer.rows.batch import COLUMNS, ChangeBatch, Row, RowKind, TableName, arrow_schema
from tailer.rows.generic.compiled import arrays as a
from tailer.rows.generic.compiled.arrays import OPS, Rows, Texts, no_texts, text_bytes, texts_of
from tailer.rows.generic.compiled.lines import Frame, event_ids, json_lines, picked
from tailer.rows.place import Txn
from tailer.rows.prepared import PreparedTable
from tailer.scan.index import Index
from tailer.types import quote
from tailer.types.compiled.plan import Bytes

if TYPE_CHECKING:
    import pyarrow

_NUMBERS: Final = {
    "write_ts": (a.WRITE_TS, None, np.int64),
    "ttl": (a.TTL, a.HAS_ROW_TTL, np.int32),
    "expires_at": (a.EXPIRES_AT, a.HAS_ROW_TTL, np.int64),
    "token": (a.TOKEN, a.HAS_TOKEN, np.int64),
    "offset": (a.OFFSET, None, np.int64),
    "row": (a.NUMBER, None, np.int64),
}  # fmt: skip
"""Of each column of numbers the line of `fixed`, the one that says where there is one, and its type."""


class Source(NamedTuple):
    """An index, by its lines, and the bytes that its offsets count in."""

    lines: Index
    data: Bytes


@dataclass(frozen=True, slots=True)
class ArrayBatch:
    """Change rows of one segment. The same methods as ChangeBatch, the same rows.

    `attrs`: None if no row has them. `tables`: those that TABLE in `rows.fixed` counts. `txn`: of all rows, or
    by their offset. `source`: what they were made of, where that is kept; LINE in `rows.fixed` counts its lines.
    """

    arrays: Rows
    tables: Sequence[PreparedTable]
    node: str
    segment: int
    txn: Txn = None
    attrs: Texts | None = None
    source: Source | None = None

    def __len__(self) -> int:
        return self.arrays.fixed.shape[1]

    def kinds(self) -> Mapping[RowKind, int]:
        """How many rows there are of each keyspace, table and operation."""
        if len(self) and (one := self._one_kind()) is not None:
            return {self._kind(*one): len(self)}
        _, present, counts = self._kinds()
        return {self._kind(*divmod(kind, len(OPS))): count for kind, count in zip(present, counts, strict=True)}

    def slice(self, start: int, stop: int | None = None) -> ArrayBatch:
        """The rows from `start` to before `stop`, as Python slices count."""
        start, stop, _ = slice(start, stop).indices(len(self))
        stop = max(start, stop)
        fixed, *texts = self.arrays
        rows = Rows(fixed[:, start:stop], *(_sliced(column, start, stop) for column in texts))
        return replace(self, arrays=rows, attrs=self.attrs and _sliced(self.attrs, start, stop))

    def column(self, name: str) -> list[Any]:
        """The values of one column."""
        values: list[Any] = self._arrow(name).to_pylist()
        return values

    def rows(self) -> Iterator[Row]:
        """The rows one by one."""
        return self.plain().rows()

    def rows_by_table(self) -> dict[TableName, int]:
        """How many rows are of each table."""
        counts = np.bincount(self.arrays.fixed[a.TABLE]).tolist()
        there = [(self.tables[number], rows) for number, rows in enumerate(counts) if rows]
        return {TableName(table.definition.name, table.table_id): rows for table, rows in there}

    def plain(self) -> ChangeBatch:
        """The same rows as lists."""
        return ChangeBatch(tuple(self.column(name) for name in COLUMNS))

    def json_lines(self) -> bytes:
        """One JSON object a row, each ended by a newline: nested objects, compact, UTF-8, all columns in order."""
        if isinstance(self.txn, Mapping):
            return b"".join(part.json_lines() for part in self._by_txn(self.txn))
        return json_lines(self.arrays, self.attrs or no_texts(len(self)), self._frame())

    def _by_txn(self, txns: Mapping[int, str]) -> Iterator[ArrayBatch]:
        """The rows of one transaction after another's, and those of none between them."""
        names = [txns.get(offset) for offset in self.arrays.fixed[a.OFFSET].tolist()]
        begin = 0
        for name, same in groupby(names):
            end = begin + sum(1 for _ in same)
            yield replace(self.slice(begin, end), txn=name)
            begin = end

    def to_arrow(self) -> pyarrow.RecordBatch:
        """The same rows as an Arrow record batch of `arrow_schema()`; JSON columns are strings."""
        import pyarrow

        columns = [self._arrow(name) for name in COLUMNS]
        return pyarrow.RecordBatch.from_arrays(columns, schema=arrow_schema())

    def _arrow(self, name: str) -> pyarrow.Array:
        import pyarrow

        fixed = self.arrays.fixed
        if name in _NUMBERS:
            line, has, type_ = _NUMBERS[name]
            valid = None if has is None else fixed[has] != 0
            return _primitive(np.ascontiguousarray(fixed[line], type_), valid)
        if name in ("partition_key", "clustering", "columns", "cells", "range", "attrs"):
            texts = self.attrs if name == "attrs" else getattr(self.arrays, name.removeprefix("partition_"))
            if texts is None or not text_bytes(texts):
                return pyarrow.nulls(len(self), pyarrow.string())
            return _strings(texts)
        if name == "is_static":
            bits = np.packbits(fixed[a.IS_STATIC] != 0, bitorder="little")
            return pyarrow.Array.from_buffers(pyarrow.bool_(), len(self), [None, pyarrow.py_buffer(bits)])
        if name == "segment":
            return _primitive(np.full(len(self), self.segment, np.int64), None)
        if name == "event_id":
            offsets, numbers = (np.ascontiguousarray(fixed[line]) for line in (a.OFFSET, a.NUMBER))
            return _strings(event_ids(offsets, numbers, f"{self.node}:{self.segment}:".encode()), all_valid=True)
        if name == "txn" and isinstance(self.txn, Mapping):
            return pyarrow.array([self.txn.get(offset) for offset in fixed[a.OFFSET].tolist()], pyarrow.string())
        if name == "node" or (name == "txn" and self.txn is not None):
            return _spread(np.zeros(len(self), np.int64), [getattr(self, name)])
        if name == "op":
            return _spread(fixed[a.OP], OPS)
        if name in ("keyspace", "table", "table_id"):
            return _spread(fixed[a.TABLE], [_named(table)[name] for table in self.tables])
        return pyarrow.nulls(len(self), pyarrow.string())

    def _frame(self) -> Frame:
        """What the lines have in common; a head for each table and operation that there is."""
        kinds, present, _ = self._kinds()
        numbers = np.zeros(present[-1] + 1 if present else 1, np.int64)
        numbers[present] = np.arange(len(present))
        heads = texts_of([self._head(*divmod(kind, len(OPS))) for kind in present])
        segment = np.frombuffer(f',"segment":{self.segment}'.encode(), np.uint8)
        event = f',"event_id":{quote(f"{self.node}:{self.segment}:")[:-1]}'.encode()
        txn = f'","txn":{"null" if self.txn is None else quote(str(self.txn))}'.encode()
        return Frame(numbers[kinds], heads, segment, np.frombuffer(event, np.uint8), np.frombuffer(txn, np.uint8))

    def _kinds(self) -> tuple[Any, list[int], list[int]]:
        """A number for table and operation of each row; those that there are, and of how many rows."""
        fixed = self.arrays.fixed
        kinds = fixed[a.TABLE] * len(OPS) + fixed[a.OP]
        counts = np.bincount(kinds, minlength=1)
        present = np.flatnonzero(counts)
        return kinds, present.tolist(), counts[present].tolist()

    def _one_kind(self) -> tuple[int, int] | None:
        """Table and operation of all rows, where they are the same."""
        fixed = self.arrays.fixed
        tables, ops = fixed[a.TABLE], fixed[a.OP]
        same = (ops == ops[0]).all() and (tables == tables[0]).all()
        return (int(tables[0]), int(ops[0])) if same else None

    def _kind(self, table: int, op: int) -> RowKind:
        definition = self.tables[table].definition
        return definition.keyspace, definition.table, OPS[op]

    def _head(self, table: int, op: int) -> str:
        names = {"node": self.node, **_named(self.tables[table]), "op": OPS[op]}
        return "{" + "".join(f'"{name}":{quote(text)},' for name, text in names.items()) + '"partition_key":'


def _named(table: PreparedTable) -> dict[str, str]:
    definition = table.definition
    return {"keyspace": definition.keyspace, "table": definition.table, "table_id": table.table_id}


def _sliced(texts: Texts, start: int, stop: int) -> Texts:
    return Texts(texts.offsets[start : stop + 1], texts.data, texts.valid[start:stop])


def _bits(valid: Any) -> Any:
    """A validity bitmap, None where everything is valid."""
    import pyarrow

    return None if valid is None or valid.all() else pyarrow.py_buffer(np.packbits(valid, bitorder="little"))


def _primitive(values: Any, valid: Any) -> pyarrow.Array:
    import pyarrow

    type_ = pyarrow.from_numpy_dtype(values.dtype)
    return pyarrow.Array.from_buffers(type_, len(values), [_bits(valid), pyarrow.py_buffer(values)])


def _strings(texts: Texts, *, all_valid: bool = False) -> pyarrow.Array:
    import pyarrow

    buffers = [
        None if all_valid else _bits(texts.valid), pyarrow.py_buffer(texts.offsets), pyarrow.py_buffer(texts.data)
    ]  # fmt: skip
    return pyarrow.Array.from_buffers(pyarrow.string(), len(texts.offsets) - 1, buffers)


def _spread(numbers: Any, values: Sequence[str]) -> pyarrow.Array:
    """The values with those numbers."""
    return _strings(picked(texts_of(values), np.ascontiguousarray(numbers)), all_valid=True)
