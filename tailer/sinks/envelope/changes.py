"""Change rows as the formats of messages need them: the same columns for the generic form and the typed one.

All text is UTF-8 bytes. "Fields" are the inside of a JSON object, without its braces: `"id":17,"at":"a"`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from tailer.rows.arrow_texts import joined

BYTES = pa.binary()
WITHOUT_CLUSTERING = ("delete_range", "delete_partition", "truncate", "schema")


class Changes(ABC):
    """The rows of a batch in columns."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    @abstractmethod
    def column(self, name: str) -> pa.Array:
        """One of the columns that both forms have, by its name in the generic one."""

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

    @abstractmethod
    def lines(self) -> pa.Array:
        """The rows as JSON objects, as `--output json` prints them."""

    @cached_property
    def key(self) -> pa.Array:
        """The primary key as a JSON object: of the row, or of the partition where the change is of no single row."""
        return joined("{", and_more(self.partition, self.clustering), "}")

    def text(self, name: str) -> pa.Array:
        """One of the columns, as text; nulls stay."""
        values = self.column(name)
        return values.cast(BYTES if pa.types.is_string(values.type) else pa.string()).cast(BYTES)


def and_more(fields: pa.Array, more: pa.Array) -> pa.Array:
    """Fields followed by others, with a comma between the two where there are both."""
    if not len(fields):
        return fields
    left, right = (pc.greater(pc.binary_length(each), 0) for each in (fields, more))
    both = pc.and_(left, right)
    if pc.all(both).as_py():
        return joined(fields, ",", more)
    if not pc.any(right).as_py():
        return fields
    return joined(fields, pc.if_else(both, pa.scalar(b",", BYTES), pa.scalar(b"", BYTES)), more)


def fields_of(objects: pa.Array) -> pa.Array:
    """The fields of JSON objects; none of null."""
    inside = pc.binary_slice(objects.cast(BYTES), 1, -1)
    return inside.fill_null(b"") if inside.null_count else inside
