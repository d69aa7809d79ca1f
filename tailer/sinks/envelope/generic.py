"""Change rows of the generic form, in columns for messages."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import pyarrow as pa

from tailer.rows.arrow_texts import joined, quoted
from tailer.rows.batch import COLUMNS
from tailer.sinks.envelope.changes import BYTES, Changes, fields_of
from tailer.sinks.table_text import Tables

_JSON: Final = frozenset({"partition_key", "clustering", "columns", "range", "cells", "attrs"})
"""Columns that are JSON text already."""


class GenericChanges(Changes):
    """A batch of `arrow_schema()`. `tables`: definitions, for the columns that are changed by element."""

    def __init__(self, batch: pa.RecordBatch, tables: Tables) -> None:
        super().__init__(batch)
        self._tables = tables

    def column(self, name: str) -> pa.Array:
        return self.batch.column(COLUMNS.index(name))

    def names(self) -> tuple[pa.Array, pa.Array]:
        return self.column("keyspace"), self.column("table")

    @cached_property
    def partition(self) -> pa.Array:
        return fields_of(self.column("partition_key"))

    @cached_property
    def clustering(self) -> pa.Array:
        return fields_of(self.column("clustering"))

    def lines(self) -> pa.Array:
        parts: list[pa.Array | str] = []
        begin = "{"
        for name in COLUMNS:
            parts += [f'{begin}"{name}":', self._json(name)]
            begin = ","
        return joined(*parts, "}")

    def _json(self, name: str) -> pa.Array | str:
        """A column's JSON texts."""
        values = self.column(name)
        if 0 < values.null_count == len(values):
            return "null"
        text = self.text(name)
        if pa.types.is_string(values.type) and name not in _JSON:
            text = quoted(text)
        return text.fill_null(b"null") if text.null_count else text.cast(BYTES)
