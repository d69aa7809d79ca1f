"""Images as what the sinks of the terminal take: lines of JSON, or Arrow. Knows no state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from tailer.images.encoded import JoinedImages
from tailer.images.image import COLUMNS, JSON_TEXTS, Image, arrow_schema
from tailer.rows.batch import TableName

if TYPE_CHECKING:
    import pyarrow


class TakesImages(Protocol):
    """Takes images in the order of their batches."""

    def write(self, batch: ImageRows) -> None:
        """Take them; see `sinks.base.Sink`."""
        ...

    def close(self) -> None: ...


class ImageRows:
    """Images in a batch. `before`: whether that column is shown; it is null without."""

    def __init__(self, images: Sequence[Image], *, before: bool = True) -> None:
        self._images = images if before else [_without_before(each) for each in images]

    @property
    def images(self) -> Sequence[Image]:
        """The objects."""
        return self._images

    def __len__(self) -> int:
        return len(self.images)

    def slice(self, begin: int, end: int | None = None) -> ImageRows:
        """Those from a number on, up to before another one."""
        return ImageRows(self.images[begin:end])

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


class JoinedRows(ImageRows):
    """Those of a batch as it waits in a state: printed without being made objects. `span`: the numbers of which; None
    for all."""

    def __init__(self, joined: JoinedImages, *, before: bool = True, span: range | None = None) -> None:
        self._joined, self._before = joined, before
        self._span = range(len(joined)) if span is None else span

    @cached_property
    def images(self) -> Sequence[Image]:
        own = self._joined.images[self._span.start : self._span.stop]
        return ImageRows(own, before=self._before).images

    def __len__(self) -> int:
        return len(self._span)

    def slice(self, begin: int, end: int | None = None) -> JoinedRows:
        return JoinedRows(self._joined, before=self._before, span=self._span[begin:end])

    def json_lines(self) -> bytes:
        printed = self._joined.printed(before=self._before)
        if printed is None:
            return super().json_lines()
        return bytes(printed.lines[printed.ends[self._span.start] : printed.ends[self._span.stop]])

    def rows_by_table(self) -> Mapping[TableName, int]:
        printed = self._joined.printed(before=self._before)
        if printed is None:
            return super().rows_by_table()
        counts: Counter[TableName] = Counter()
        # A run of images of one table goes up to the next one.
        ends = [*(first for first, _ in printed.tables), len(self._joined)][1:]
        for (first, table), end in zip(printed.tables, ends, strict=True):
            counts[table] += len(range(max(first, self._span.start), min(end, self._span.stop)))
        return +counts


_Line: Final = msgspec.defstruct(
    "_Line",
    [(name, msgspec.Raw | None if name in JSON_TEXTS else Any) for name in COLUMNS],
)
"""An image with its JSON as what it is: a struct, for which msgspec writes a line in half the time of a dictionary."""

_VALUES: Final = attrgetter(*COLUMNS)
_TABLE: Final = attrgetter("keyspace", "table", "table_id")
_PLACES: Final = tuple(COLUMNS.index(name) for name in JSON_TEXTS)


def _line_of(image: Image) -> msgspec.Struct:
    values = [*_VALUES(image)]
    for at in _PLACES:
        if (text := values[at]) is not None:
            values[at] = msgspec.Raw(text)
    return _Line(*values)


def _without_before(image: Image) -> Image:
    return image if image.before is None else msgspec.structs.replace(image, before=None)


_ENCODER: Final = msgspec.json.Encoder()
