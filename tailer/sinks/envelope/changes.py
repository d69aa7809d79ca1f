"""Change rows as the formats of messages need them: the same columns for the generic form and the typed one.

All text is UTF-8 bytes. "Fields" are the inside of a JSON object, without its braces: `"id":17,"at":"a"`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tailer.rows.arrow_texts import joined, quoted
from tailer.sinks.envelope.row_definitions import RowDefinitions, definitions_of
from tailer.sinks.in_force import Versions, no_versions
from tailer.sinks.table_text import Tables
from tailer.typed_decode import json_decoder

BYTES: Final = pa.binary()
NO_FIELDS: Final = pa.scalar(b"", BYTES)
_PUTS: Final = pa.array(["insert", "update", "snapshot"])
_NULL: Final = pa.scalar(None, BYTES)
fields_in: Final = json_decoder(dict[str, msgspec.Raw]).decode


class Changes(ABC):
    """The rows of a batch in columns. `tables`: newest definitions by table id; `versions`: all that a table had.
    `letters`: of Debezium, by `op`."""

    letters: Mapping[str, str] = {"insert": "c", "update": "u", "snapshot": "r", "truncate": "t"}

    def __init__(self, batch: pa.RecordBatch, tables: Tables, versions: Versions = no_versions) -> None:
        self.batch = batch
        self._tables = tables
        self._versions = versions

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    @abstractmethod
    def column(self, name: str) -> pa.Array:
        """One of the columns that both forms have, by its name in the generic one."""

    @property
    @abstractmethod
    def extras(self) -> list[tuple[str, pa.Array]]:
        """The columns behind all others, by their names in the generic form."""

    @property
    def more(self) -> tuple[str, ...]:
        """The names of these."""
        return tuple(name for name, _ in self.extras)

    @abstractmethod
    def names(self) -> tuple[pa.Array, pa.Array]:
        """Keyspace and table."""

    @cached_property
    @abstractmethod
    def partition(self) -> pa.Array:
        """Fields of the partition key; none for `truncate` and `schema`."""

    @cached_property
    @abstractmethod
    def clustering(self) -> pa.Array:
        """Fields of the clustering columns; none where the row is of no single row of a partition."""

    @cached_property
    @abstractmethod
    def assigned(self) -> pa.Array:
        """Fields of the columns that the change assigned, with the values that they have now. Not of counters, and not
        of what was changed by element."""

    @cached_property
    @abstractmethod
    def deltas(self) -> pa.Array:
        """A JSON object of what the change did to non-frozen collections, user-defined types and counters; or null."""

    @abstractmethod
    def lines(self) -> pa.Array:
        """The rows as JSON objects, as `--output json` prints them."""

    @cached_property
    def key(self) -> pa.Array:
        """The primary key as a JSON object: of the row, or of the partition where the change is of no single row. Null
        for a change of no partition."""
        return where(filled(self.partition), joined("{", and_more(self.partition, self.clustering), "}"), None)

    @cached_property
    def deletes_row(self) -> pa.Array:
        """Whether the row deletes the one row that has its key, and nothing else."""
        op = self.column("op")
        one = pc.and_(pc.equal(op, "delete_row"), pc.invert(self.column("is_static")))
        whole = pc.equal(op, "delete_partition")
        return pc.or_(one, pc.and_(whole, self._lone)) if pc.any(whole).as_py() else one

    @cached_property
    def definitions(self) -> RowDefinitions:
        """The definition of each row: the one that was in force at its place."""
        return definitions_of(self.column("table_id"), self._places(), self._tables, self._versions)

    def _places(self) -> tuple[pa.Array, pa.Array]:
        """Where the rows stand, as definitions begin (see `sinks.in_force`). What a server has was read by the newest
        definition, wherever the log was then."""
        segment, offset = self.column("segment"), self.column("offset")
        logged = pc.not_equal(self.column("op"), "snapshot")
        if pc.all(logged).as_py():
            return segment, offset
        nowhere = pa.scalar(None, segment.type)
        return pc.if_else(logged, segment, nowhere), pc.if_else(logged, offset, nowhere)

    @property
    def ids(self) -> pa.Array:
        """What tells each message from all others."""
        return self.column("event_id")

    @cached_property
    def puts(self) -> pa.Array:
        """Whether the row is there behind the change, `assigned` with it."""
        return pc.is_in(self.column("op"), _PUTS)

    @cached_property
    def former(self) -> pa.Array:
        """Fields of what was there before, those of the key aside; null where nothing was, or nobody knows."""
        return pc.if_else(self.deletes_row, NO_FIELDS, _NULL)

    @cached_property
    def before(self) -> pa.Array:
        """What was there as a JSON object or null: of a deleted row its key, which is all that the log has of it."""
        return where(self.deletes_row, self.key, b"null")

    @cached_property
    def after(self) -> pa.Array:
        """The key and what the change assigned likewise."""
        row = and_more(and_more(self.partition, self.clustering), self.assigned)
        return where(self.puts, joined("{", row, "}"), b"null")

    @cached_property
    def names_set(self) -> pa.Array:
        """The names of the columns that `after` has besides those of the key, as JSON arrays; null where it is null."""
        return names_of(where(self.puts, self.assigned, None))

    @cached_property
    def partial(self) -> pa.Array:
        """Whether the row may have more than `after` says."""
        return pa.repeat(True, len(self))

    def text(self, name: str) -> pa.Array:
        """One of the columns, as text; nulls stay."""
        values = self.column(name)
        return (values if pa.types.is_string(values.type) else values.cast(pa.string())).view(BYTES)

    @property
    def _lone(self) -> pa.Array:
        """Whether a partition of the row's table has one row at most: there are no clustering columns."""
        found, number = self.definitions
        lone = [each is not None and not each.clustering for each in found]
        return pa.array(lone, pa.bool_()).take(pa.array(number))


class TextChanges(Changes):
    """Where keys stand in columns of JSON text."""

    def names(self) -> tuple[pa.Array, pa.Array]:
        return self.column("keyspace"), self.column("table")

    @cached_property
    def partition(self) -> pa.Array:
        return fields_of(self.column("partition_key"))

    @cached_property
    def clustering(self) -> pa.Array:
        return fields_of(self.column("clustering"))


def json_texts(values: pa.Array) -> pa.Array:
    """Texts and flags as JSON."""
    texts = quoted(values.view(BYTES)) if pa.types.is_string(values.type) else values.cast(pa.string()).view(BYTES)
    return texts.fill_null(b"null") if texts.null_count else texts


def filled(fields: pa.Array) -> pa.Array:
    """Where there are any."""
    return pc.greater(pc.binary_length(fields), 0)


def where(rows: pa.Array, texts: pa.Array, other: bytes | None = b"") -> pa.Array:
    """The texts in the rows, and another in all others."""
    if pc.all(rows).as_py():
        return texts
    return pc.if_else(rows, texts, _NULL if other is None else pa.scalar(other, BYTES))


def and_more(fields: pa.Array, more: pa.Array) -> pa.Array:
    """Fields followed by others, with a comma between the two where there are both."""
    left, right = filled(fields), filled(more)
    if not pc.any(right).as_py():
        return fields
    both = pc.and_(left, right)
    if pc.all(both).as_py():
        return joined(fields, ",", more)
    return joined(fields, pc.if_else(both, pa.scalar(b",", BYTES), NO_FIELDS), more)


def names_of(fields: pa.Array, left_out: Iterable[Collection[str]] | None = None) -> pa.Array:
    """The names of fields as JSON arrays, without those that are left out row by row; null of null."""
    names = [None if text is None else tuple(fields_in(text)) for text in joined("{", fields, "}").to_pylist()]
    if left_out is not None:
        found = zip(names, left_out, strict=True)
        names = [each and tuple(name for name in each if name not in out) for each, out in found]
    texts = {each: None if each is None else msgspec.json.encode(each) for each in set(names)}
    return pa.array([texts[each] for each in names], BYTES)


def fields_of(objects: pa.Array) -> pa.Array:
    """The fields of JSON objects; none of null."""
    inside = pc.binary_slice(objects.view(BYTES), 1, -1)
    return inside.fill_null(b"") if inside.null_count else inside
