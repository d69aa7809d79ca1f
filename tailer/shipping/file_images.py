"""The images of a data file in batches, as an outlet takes them from their outbox. Knows no target."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from tailer.images.image import COLUMNS, Image
from tailer.images.image_rows import ImageRows
from tailer.shipping import file_rows
from tailer.sinks.files.series import DataFile
from tailer.typed_decode import json_decoder

_JSON: Final = frozenset(("partition_key", "clustering", "range", "before", "after"))
"""Columns that hold the text of an object."""

_Line: Final = msgspec.defstruct("_Line", [(name, msgspec.Raw if name in _JSON else Any) for name in COLUMNS])


def image_batches(file: DataFile, target: str) -> Iterator[ImageRows]:
    """The images of a file in order. UsageError for a form that `target` cannot be given."""
    file_rows.check_generic(file.index, str(file.path), target, ("rows", "arrow"))
    images = _of_arrow(file) if file.index.format == "arrow" else _of_lines(file)
    while batch := list(islice(images, file_rows.BATCH_ROWS)):
        yield ImageRows(batch)


def _of_arrow(file: DataFile) -> Iterator[Image]:
    for batch in file.batches():
        for row in batch.to_pylist():
            yield Image(**{**row, "changed": tuple(row["changed"])})


def _of_lines(file: DataFile) -> Iterator[Image]:
    decode = json_decoder(_Line).decode
    for line in file.lines():
        found = decode(line)
        fields = {name: file_rows.value_of(getattr(found, name), name in _JSON) for name in COLUMNS}
        yield Image(**{**fields, "changed": tuple(fields["changed"])})
