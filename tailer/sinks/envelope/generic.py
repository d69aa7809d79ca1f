"""Change rows of the generic form, in columns for messages."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailer.rows.arrow_texts import joined, quoted
from tailer.rows.batch import COLUMNS
from tailer.sinks.envelope.changes import TextChanges, json_texts
from tailer.sinks.envelope.elements import Split, multi_columns, split

_JSON: Final = frozenset({"partition_key", "clustering", "columns", "range", "cells", "attrs"})
"""Columns that are JSON text already."""


class GenericChanges(TextChanges):
    """A batch of `arrow_schema()`."""

    def column(self, name: str) -> pa.Array:
        return self.batch.column(COLUMNS.index(name))

    @property
    def extras(self) -> list[tuple[str, pa.Array]]:
        own = len(COLUMNS)
        return list(zip(self.batch.schema.names[own:], self.batch.columns[own:], strict=True))

    @cached_property
    def assigned(self) -> pa.Array:
        return self._split.assigned

    @cached_property
    def deltas(self) -> pa.Array:
        return self._split.deltas

    @cached_property
    def _split(self) -> Split:
        """By definition: what a value means only that says."""
        found, number_of = self.definitions
        known = [multi_columns(each) for each in found]
        # Where no row is behind the change, `columns` has a definition (`schema`, `snapshot_range`) or nothing.
        columns = pc.if_else(self.puts, self.column("columns"), None)
        read = pc.equal(self.column("op"), "snapshot")
        if not any(known) and None not in known:
            return split(columns, read, {}, "")
        parts: list[Split] = []
        places: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
        for number, multi in enumerate(known):
            rows = np.flatnonzero(number_of == number)
            name = ".".join(str(each[int(rows[0])]) for each in self.names())
            of_table = pa.array(rows)
            parts.append(split(columns.take(of_table), read.take(of_table), multi, name))
            places.append(rows)
        if len(parts) == 1:
            return parts[0]
        back = pa.array(np.argsort(np.concatenate(places)))
        return Split(*(pa.concat_arrays(each).take(back) for each in zip(*parts, strict=True)))

    def lines(self) -> pa.Array:
        parts: list[pa.Array | str] = []
        begin = "{"
        for name in COLUMNS:
            parts += [f'{begin}"{name}":', self._json(name)]
            begin = ","
        for name, values in self.extras:
            parts += [f',"{name}":', json_texts(values)]
        return joined(*parts, "}")

    def _json(self, name: str) -> pa.Array | str:
        """A column's JSON texts."""
        values = self.column(name)
        if 0 < values.null_count == len(values):
            return "null"
        text = self.text(name)
        if pa.types.is_string(values.type) and name not in _JSON:
            text = quoted(text)
        return text.fill_null(b"null") if text.null_count else text
