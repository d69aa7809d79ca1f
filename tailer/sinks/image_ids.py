"""Images with a column that tells each from all others, for targets that tell rows by one. Knows no target."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tailer.sinks.base import Rows

if TYPE_CHECKING:
    from tailer.rows.batch import TableName

IMAGE_ID: Final = "image_id"

_BYTES: Final = 16


class IdentifiedImages:
    """Images in a batch, and behind their columns `image_id`."""

    def __init__(self, images: Rows) -> None:
        self._images = images

    def __len__(self) -> int:
        return len(self._images)

    def json_lines(self) -> bytes:
        """As the images have them: without `image_id`."""
        return self._images.json_lines()

    def to_arrow(self) -> pa.RecordBatch:
        rows = self._images.to_arrow()
        return rows.append_column(IMAGE_ID, image_ids(rows))

    def rows_by_table(self) -> Mapping[TableName, int]:
        return self._images.rows_by_table()


def identified(schema: pa.Schema) -> pa.Schema:
    """The schema of images with `image_id`."""
    return schema.append(pa.field(IMAGE_ID, pa.string()))


def image_ids(images: pa.RecordBatch) -> pa.Array:
    """32 hex digits for each, made of its table, its partition and its number there: no two images have the same."""
    columns = (images.column(name).to_pylist() for name in ("table_id", "partition_key", "seq"))
    return pa.array([_id(*values) for values in zip(*columns, strict=True)], pa.string())


def _id(table_id: str, partition_key: str | None, seq: int) -> str:
    text = f"{table_id}\0{seq}\0{partition_key or ''}"
    return blake2b(text.encode(), digest_size=_BYTES).hexdigest()
