"""Images as the formats of messages need them: whole rows before and after, where change rows have what was set."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tailer.rows.arrow_texts import joined
from tailer.rows.image_ops import check_op
from tailer.sinks.envelope.changes import BYTES, TextChanges, fields_in, fields_of, filled, json_texts, names_of, where
from tailer.sinks.image_ids import IMAGE_ID, image_ids
from tailer.sinks.in_force import Versions, no_versions
from tailer.sinks.list_texts import strings_json
from tailer.sinks.table_text import Tables

NUMBERS: Final = ("seq", "prev_seq")
"""Of what `source` has besides; the others are texts."""

_JSON: Final = ("partition_key", "clustering", "range", "before", "after")
"""Columns that are JSON text already."""

_GONE: Final = pa.array(["delete", "expire"])
_LETTERS: Final[Mapping[str, str]] = {
    "insert": "c", "update": "u", "upsert": "r", "delete": "d", "expire": "d", "read": "r",
    "truncate": "t",
}  # fmt: skip


class ImageChanges(TextChanges):
    """A batch of images. What change rows have besides is null."""

    letters = _LETTERS

    def __init__(self, batch: pa.RecordBatch, tables: Tables, versions: Versions = no_versions) -> None:
        super().__init__(batch, tables, versions)
        for op in pc.unique(self.column("op")).to_pylist():
            check_op(op)

    def column(self, name: str) -> pa.Array:
        at = self.batch.schema.get_field_index(name)
        return pa.nulls(len(self), pa.string()) if at < 0 else self.batch.column(at)

    def _places(self) -> tuple[pa.Array, pa.Array]:
        return self.column("seq"), pa.repeat(0, len(self))

    @property
    def extras(self) -> list[tuple[str, pa.Array]]:
        return [("image", self.column("op")), (IMAGE_ID, self.ids), *((n, self.column(n)) for n in NUMBERS)]

    @cached_property
    def ids(self) -> pa.Array:
        return image_ids(self.batch)

    @cached_property
    def assigned(self) -> pa.Array:
        return fields_of(self.column("after"))

    @cached_property
    def names_set(self) -> pa.Array:
        keys = ({*fields_in(key)} if key else () for key in self.key.to_pylist())
        return names_of(where(self.puts, self.assigned, None), keys)

    @cached_property
    def deltas(self) -> pa.Array:
        return pa.nulls(len(self), BYTES)

    @cached_property
    def deletes_row(self) -> pa.Array:
        return pc.and_(pc.is_in(self.column("op"), _GONE), filled(self.partition))

    @cached_property
    def puts(self) -> pa.Array:
        return self.column("after").is_valid()

    @cached_property
    def former(self) -> pa.Array:
        """Of a row that is gone, and that nobody asked for, or knew, its key alone."""
        known = self.column("before").is_valid()
        nothing = pa.scalar(None, BYTES)
        return pc.if_else(pc.or_(known, self.deletes_row), fields_of(self.column("before")), nothing)

    @cached_property
    def before(self) -> pa.Array:
        return pc.coalesce(self.text("before"), where(self.deletes_row, self.key, b"null"))

    @cached_property
    def after(self) -> pa.Array:
        return self.text("after").fill_null(b"null")

    @cached_property
    def partial(self) -> pa.Array:
        return pc.invert(self.column("complete"))

    def lines(self) -> pa.Array:
        parts: list[pa.Array | str] = []
        for name in self.batch.schema.names:
            parts += [f'{"," if parts else "{"}"{name}":', self._json(name)]
        return joined(*parts, "}")

    def _json(self, name: str) -> pa.Array:
        values = self.column(name)
        if pa.types.is_list(values.type):
            text = strings_json(values).view(BYTES)
        else:
            text = self.text(name) if name in _JSON else json_texts(values)
        return text.fill_null(b"null") if text.null_count else text
