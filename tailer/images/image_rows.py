"""Images as what the sinks of the terminal take: lines of JSON, or Arrow. Knows no state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from tailer.images.image import COLUMNS, Image, arrow_schema
from tailer.rows.batch import TableName

if TYPE_CHECKING:
    import pyarrow

_TEXTS: Final = ("partition_key", "clustering", "range", "before", "after")
"""Columns that hold JSON."""


class TakesImages(Protocol):
    """Takes images in the order of their batches."""

    def write(self, batch: ImageRows) -> None:
        """Take them; see `sinks.base.Sink`."""
        ...

    def close(self) -> None: ...


class ImageRows:
    """Images in a batch. `before`: whether that column is shown; it is null without."""

    def __init__(self, images: Sequence[Image], *, before: bool = True) -> None:
        self.images = images if before else [msgspec.structs.replace(each, before=None) for each in images]

    def __len__(self) -> int:
        return len(self.images)

    def slice(self, begin: int) -> ImageRows:
        """Those from a number on."""
        return ImageRows(self.images[begin:])

    def json_lines(self) -> bytes:
        """One JSON object an image, each ended by a newline; columns that hold JSON are nested in it."""
        return _ENCODER.encode_lines([_nested(image) for image in self.images])

    def to_arrow(self) -> pyarrow.RecordBatch:
        import pyarrow

        schema = arrow_schema()
        columns = [[getattr(image, name) for image in self.images] for name in COLUMNS]
        arrays = [pyarrow.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)]
        return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)

    def rows_by_table(self) -> Mapping[TableName, int]:
        """How many images are of each table."""
        return Counter(TableName(f"{image.keyspace}.{image.table}", image.table_id) for image in self.images)


def _nested(image: Image) -> dict[str, Any]:
    line = {name: getattr(image, name) for name in COLUMNS}
    for name in _TEXTS:
        if line[name] is not None:
            line[name] = msgspec.Raw(line[name].encode())
    return line


_ENCODER: Final = msgspec.json.Encoder()
