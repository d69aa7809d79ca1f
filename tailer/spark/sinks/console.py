"""Rows of a query into a sink of this process: the console. With a checkpoint of its own, each micro-batch once.

Which batch was written last stands in the checkpoint, put there behind its rows: one that Spark brings again, because
it did not hear of the first time, is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

import msgspec

from tailer.errors import CdcError
from tailer.images.image_rows import ImageRows
from tailer.rows.batch import COLUMNS, ChangeBatch
from tailer.rows.widened import with_columns
from tailer.sinks.base import Rows
from tailer.spark.images.typed import images_of
from tailer.spark.sinks.base import PlainSink
from tailer.state.modes import replace_file
from tailer.typed_decode import decode_json
from tailer.versions import decode_versioned

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

    from tailer.images.typed import TypedImages
    from tailer.schema.typed import TypedTable

WRITTEN: Final = "cdc_tail_written"
VERSION: Final = 2
"""1: a bare number."""

_BARE: Final = re.compile(rb"[0-9]{1,18}\n?")


class Takes(Protocol):
    """Takes the rows that `make` gives: any Sink does."""

    def write(self, batch: Any) -> None: ...


Make = Callable[["pyarrow.Table"], Rows | ImageRows]


def change_rows(table: pyarrow.Table) -> Rows:
    """Rows of the generic form."""
    columns = table.to_pydict()
    alone = ChangeBatch(tuple(columns.pop(name) for name in COLUMNS))
    return with_columns(alone, columns)


def typed_rows(table: TypedTable) -> Make:
    """What makes rows of a typed form of the columns that Spark gives."""
    from tailer.rows.typed.batch import TypedBatch
    from tailer.rows.typed.form import form_of
    from tailer.spark.fit import fit

    form = form_of(table)

    def make(rows: pyarrow.Table) -> Rows:
        (batch,) = rows.combine_chunks().to_batches()
        more = batch.select(batch.schema.names[len(form.schema) :]).to_pydict()
        extras = {name.removeprefix(table.prefix): values for name, values in more.items()}
        return with_columns(TypedBatch(form, fit(batch, form.schema)), extras)

    return make


def image_rows(form: TypedImages | None = None) -> Make:
    """What makes images of the generic columns that Spark gives, in the form where there is one."""
    if form is None:
        return lambda table: ImageRows(images_of(table))
    return lambda table: form.rows(images_of(table))


class ConsoleSink(PlainSink):
    """Change rows in log order to a Sink. `checkpoint`: where to keep the last batch's number; None = nowhere.

    `make`: rows of what Spark gives. `close`: ends the output, where all of it came.
    """

    name = "console"
    max_bytes = "8m"
    """The rows of a micro-batch are brought into this process at once."""

    def __init__(
        self,
        sink: Takes,
        checkpoint: Path | None,
        make: Make = change_rows,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.rows = 0
        self.batches = 0
        self._sink = sink
        self._make = make
        self._close = close
        self._file = None if checkpoint is None else checkpoint / WRITTEN
        self._last = -1 if self._file is None else last_written(self._file)

    def writer(self, frame: DataFrame) -> Any:
        return frame.writeStream.foreachBatch(self.take)

    def take(self, frame: DataFrame, number: int) -> None:
        """One micro-batch, as Spark hands it over."""
        if number <= self._last:
            # Read to its end all the same: a batch whose state store partitions are not all committed is refused by
            # Spark 4.1 and newer (STATE_STORE_COMMIT_VALIDATION_FAILED).
            frame.write.format("noop").mode("overwrite").save()
            return
        try:
            table = frame.toArrow()
            if table.num_rows:
                self._sink.write(self._make(table))
            self.rows += table.num_rows
            self.batches += 1
            self._last = number
            if self._file is not None:
                replace_file(self._file, written(number))
        except (OSError, CdcError) as error:
            self.failure = error
            raise

    def close(self) -> None:
        self._close()


class _Written(msgspec.Struct, frozen=True):
    """`batch`: the number of the last micro-batch that was written."""

    batch: Annotated[int, msgspec.Meta(ge=0)]
    v: int = VERSION


def written(batch: int) -> bytes:
    """What the file says of the last micro-batch."""
    return msgspec.json.encode(_Written(batch)) + b"\n"


def last_written(file: Path) -> int:
    """The number of the last batch; -1 before the first. RefusedError for a file that is not understood."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return -1
    remedy = "Delete the file: at most one batch is written again."
    if _BARE.fullmatch(data):
        # An earlier program: a number without a version.
        return int(data)
    return decode_versioned(data, _decode, VERSION, "the number of the last batch", file=str(file), remedy=remedy)


def _decode(data: bytes, version: int) -> int:
    return decode_json(data, _Written).batch
