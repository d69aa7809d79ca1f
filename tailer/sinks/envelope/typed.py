"""Change rows of the typed form, in columns for messages: the fields of a row out of columns of their own types."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailer.rows.arrow_texts import joined, lines_of
from tailer.rows.typed.form import Form, FormColumn, form_of
from tailer.rows.typed.lines import json_lines, own_texts
from tailer.schema.typed import META, TypedTable
from tailer.sinks.envelope.changes import BYTES, NO_FIELDS, Changes, and_more, json_texts, where
from tailer.sinks.in_force import Versions, no_versions
from tailer.sinks.table_text import Tables
from tailer.sinks.typed_rows import bare, holds_texts
from tailer.typed_decode import json_decoder
from tailer.types import Shape, quote
from tailer.types.cql import Native

_WITHOUT_CLUSTERING: Final = pa.array(["delete_range", "delete_partition", "truncate", "schema"])
_BY_COLUMN: Final = frozenset({"cells", "deltas"})
"""Columns that hold JSON objects by column."""
_fields_of: Final = json_decoder(dict[str, msgspec.Raw]).decode
_BETWEEN: Final = "\0"
"""Stands in no name of a column."""


class TypedChanges(Changes):
    """A batch of one typed form."""

    def __init__(
        self, batch: pa.RecordBatch, tables: Tables, typed: TypedTable, versions: Versions = no_versions
    ) -> None:
        self._form: Form = form_of(typed)
        own = len(self._form.schema)
        names = [name.removeprefix(typed.prefix) for name in batch.schema.names[own:]]
        self._extras = list(zip(names, batch.columns[own:], strict=True))
        alone = pa.RecordBatch.from_arrays(batch.columns[:own], schema=self._form.schema) if names else batch
        super().__init__(alone, tables, versions)
        self._own_names = {column.name: column.source for column in typed.columns if column.is_earlier}
        self._counters = {each.name for each in self._form.columns if each.type.shape is Shape.COUNTER}

    def column(self, name: str) -> pa.Array:
        values = self.batch.column(len(self._form.columns) + META.index(name))
        return self._renamed(values) if name in _BY_COLUMN and self._own_names else values

    @property
    def extras(self) -> list[tuple[str, pa.Array]]:
        return self._extras

    def names(self) -> tuple[pa.Array, pa.Array]:
        keyspace, _, table = self._form.typed.table.partition(".")
        return pa.repeat(keyspace, len(self)), pa.repeat(table, len(self))

    @cached_property
    def partition(self) -> pa.Array:
        return where(self._has_key, self._key_fields("partition_key"))

    @cached_property
    def clustering(self) -> pa.Array:
        op = self.column("op")
        alone = pc.or_(self.column("is_static"), pc.is_in(op, _WITHOUT_CLUSTERING))
        return where(pc.invert(alone), self._key_fields("clustering"))

    @cached_property
    def assigned(self) -> pa.Array:
        """Rows that assigned the same columns are done together."""
        sets = self.column("set")
        texts = pa.array(map(_BETWEEN.join, sets.fill_null([]).to_pylist()), pa.string()) if _varies(sets) else None
        if texts is None:
            return self._assigned(sets[0].as_py() or [], slice(None)) if len(sets) else pa.array([], BYTES)
        known = texts.dictionary_encode()
        number_of = known.indices.to_numpy()
        parts, places = [], []
        for number, names in enumerate(known.dictionary.to_pylist()):
            rows = np.flatnonzero(number_of == number)
            parts.append(self._assigned(names.split(_BETWEEN) if names else [], rows))
            places.append(rows)
        return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places))))

    @cached_property
    def deltas(self) -> pa.Array:
        return self.column("deltas").cast(BYTES)

    def lines(self) -> pa.Array:
        lines = lines_of(json_lines(self._form, self.batch))
        parts: list[pa.Array | str] = []
        for name, values in self._extras:
            parts += [f",{quote(self._form.typed.prefix + name)}:", json_texts(values)]
        return joined(pc.binary_slice(lines.view(BYTES), 0, -1), *parts, "}") if parts else lines

    def _label(self, name: str) -> str:
        """A column of the form by the name that it had in the table: messages are by the definition in force."""
        return quote(self._own_names.get(name, name))

    def _renamed(self, objects: pa.Array) -> pa.Array:
        """JSON objects by column, likewise."""
        return pa.array(
            [None if each is None else self._renamed_text(each) for each in objects.to_pylist()], pa.string()
        )

    def _renamed_text(self, text: str) -> str:
        found = _fields_of(text)
        if self._own_names.keys().isdisjoint(found):
            return text
        return msgspec.json.encode({self._own_names.get(name, name): value for name, value in found.items()}).decode()

    @cached_property
    def _has_key(self) -> pa.Array:
        return pc.invert(pc.is_in(self.column("op"), pa.array(["truncate", "schema"])))

    @cached_property
    def _texts(self) -> dict[str, pa.Array]:
        """By column the JSON of its values, with decimals as numbers whatever the form has."""
        made = own_texts(self._form, self.batch)
        return {
            column.name: self._bare(column, values, text)
            for column, values, text in zip(self._form.columns, self.batch.columns, made, strict=False)
        }

    def _bare(self, column: FormColumn, values: pa.Array, text: pa.Array | pa.Scalar) -> pa.Array:
        if isinstance(text, pa.Scalar):
            return pa.repeat(text.as_py(), len(self)).cast(BYTES)
        if self._form.typed.decimals != "string" or not holds_texts(column.type):
            return text.cast(BYTES)
        if isinstance(column.type.traits, Native):
            return values.fill_null("null").cast(BYTES)
        spelled = [bare(column.type, msgspec.Raw(each)) for each in text.cast(BYTES).to_pylist()]
        return pa.array(spelled, BYTES)

    def _key_fields(self, kind: str) -> pa.Array:
        names = [column.name for column in self._form.typed.columns if column.kind == kind]
        return self._fields(names, slice(None))

    def _assigned(self, names: list[str], rows: slice | np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
        """Fields of rows that all assigned these columns."""
        made = self._fields([name for name in names if name not in self._counters], rows)
        for name in names:
            if name in self._counters:
                made = and_more(made, self._deleted_counter(name, rows))
        return made

    def _fields(self, names: list[str], rows: slice | np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
        texts = [
            self._texts[name] if isinstance(rows, slice) else self._texts[name].take(pa.array(rows)) for name in names
        ]
        if not texts:
            return pa.repeat(NO_FIELDS, len(self) if isinstance(rows, slice) else len(rows))
        parts: list[pa.Array | str] = []
        for name, text in zip(names, texts, strict=True):
            parts += [f"{',' if parts else ''}{self._label(name)}:", text]
        return joined(*parts)

    def _deleted_counter(self, name: str, rows: slice | np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
        """A counter has no value that a row could tell, but null where it was deleted."""
        values = self.batch.column(self._form.schema.get_field_index(name))
        of_rows = values if isinstance(rows, slice) else values.take(pa.array(rows))
        return pc.if_else(of_rows.is_null(), pa.scalar(f"{self._label(name)}:null".encode(), BYTES), NO_FIELDS)


def _varies(sets: pa.Array) -> bool:
    """Whether rows assigned other columns than the first."""
    if len(sets) < 2:
        return False
    first = sets.slice(0, 1).take(pa.repeat(0, len(sets)))
    return not first.equals(sets)
