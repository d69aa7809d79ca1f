"""Images as what the sinks of the terminal take: lines of JSON, or Arrow. Knows no state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
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
        self.images = images if before else [_without_before(each) for each in images]

    def __len__(self) -> int:
        return len(self.images)

    def slice(self, begin: int) -> ImageRows:
        """Those from a number on."""
        return ImageRows(self.images[begin:])

    def json_lines(self) -> bytes:
        """One JSON object an image, each ended by a newline; columns that hold JSON are nested in it."""
        return _ENCODER.encode_lines([_line_of(image) for image in self.images])

    def to_arrow(self) -> pyarrow.RecordBatch:
        import pyarrow

        schema = arrow_schema()
        columns = [[getattr(image, name) for image in self.images] for name in COLUMNS]
        arrays = [pyarrow.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)]
        return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)

    def rows_by_table(self) -> Mapping[TableName, int]:
        """How many images are of each table."""
        counts = Counter(map(_TABLE, self.images))
        return {TableName(f"{keyspace}.{table}", id): count for (keyspace, table, id), count in counts.items()}


_Line: Final = msgspec.defstruct(
    "_Line",
    [(name, msgspec.Raw | None if name in _TEXTS else Any) for name in COLUMNS],
)
"""An image with its JSON as what it is: a struct, for which msgspec writes a line in half the time of a dictionary."""

_VALUES: Final = attrgetter(*COLUMNS)
_TABLE: Final = attrgetter("keyspace", "table", "table_id")
_PLACES: Final = tuple(COLUMNS.index(name) for name in _TEXTS)


def _line_of(image: Image) -> msgspec.Struct:
    values = [*_VALUES(image)]
    for at in _PLACES:
        if (text := values[at]) is not None:
            values[at] = msgspec.Raw(text)
    return _Line(*values)


def _without_before(image: Image) -> Image:
    return image if image.before is None else msgspec.structs.replace(image, before=None)


_ENCODER: Final = msgspec.json.Encoder()
