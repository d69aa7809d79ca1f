"""The forms of data files: rows as compressed lines of JSON, or as Arrow record batches. Knows no number and no index.

`zstdcat` reads the lines; pyarrow, DuckDB, Spark and their like read both.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Protocol, get_args

from tailer.limits import KIB
from tailer.sinks.arrow import schema_of
from tailer.sinks.files.index import Form
from tailer.sinks.files.new_file import NewFile

if TYPE_CHECKING:
    import pyarrow

    from tailer.sinks.base import Rows
    from tailer.sinks.envelope.options import EnvelopeOptions
    from tailer.sinks.outlet import OutletContext

LEVEL: Final = 3
"""Of zstd: its own default. A higher one costs more than all else that is done for a row."""

_LINES_BYTES: Final = 256 * KIB
"""Lines that are compressed before the file is given what came of them."""

_BATCH_ROWS: Final = 16_384
"""Of an Arrow file: each record batch has some kilobytes of its own, whatever is in it."""


class FormWriter(Protocol):
    """Writes rows into a NewFile. `suffix`: what the name of such a file ends with."""

    suffix: str

    def write(self, batch: Rows) -> int:
        """Take the rows: how many bytes are in hand that the file was not given yet, as they are now."""
        ...

    def end(self) -> None:
        """No more rows come: the file was given everything when this returns."""
        ...


class LinesWriter:
    """One JSON object a row, as `--output json` has them; one zstd frame."""

    suffix = "jsonl.zst"

    def __init__(self, out: NewFile) -> None:
        # cramjam holds the interpreter's lock while it compresses, and readers wait for it.
        import zstandard

        self._out = out
        self._frame = zstandard.ZstdCompressor(level=LEVEL).compressobj()
        self._flush = zstandard.COMPRESSOBJ_FLUSH_BLOCK
        self._bytes = 0

    def write(self, batch: Rows) -> int:
        return self.write_lines(batch.json_lines())

    def write_lines(self, lines: bytes) -> int:
        """Lines that are ready; see `write`."""
        self._out.write(self._frame.compress(lines))
        self._bytes += len(lines)
        if self._bytes >= _LINES_BYTES:
            self._out.write(self._frame.flush(self._flush))
            self._bytes = 0
        return self._bytes

    def end(self) -> None:
        self._out.write(self._frame.flush())


class EnvelopeWriter:
    """The value of one message a line; what compacted topics want behind it has no line. One zstd frame."""

    suffix = LinesWriter.suffix

    def __init__(self, out: NewFile, options: EnvelopeOptions, context: OutletContext) -> None:
        from tailer.sinks.envelope.envelope import Envelope

        self._lines = LinesWriter(out)
        images = context.images is not None
        self._envelope = Envelope(options, context.tables, context.typed, images=images, versions=context.versions)

    def write(self, batch: Rows) -> int:
        return self._lines.write_lines(self._envelope.messages(batch.to_arrow(), int(time.time() * 1000)).lines())

    def end(self) -> None:
        self._lines.end()


class ArrowWriter:
    """An Arrow IPC file, its buffers compressed by zstd."""

    suffix = "arrow"

    def __init__(self, out: NewFile, schema: pyarrow.Schema) -> None:
        import pyarrow

        self._schema = schema
        options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
        self._writer: Any = pyarrow.ipc.new_file(out, self._schema, options=options)
        self._waiting: list[pyarrow.RecordBatch] = []
        self._rows, self._bytes = 0, 0

    def write(self, batch: Rows) -> int:
        rows = batch.to_arrow()
        self._waiting.append(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._rows >= _BATCH_ROWS:
            self._pass_on()
        return self._bytes

    def end(self) -> None:
        if self._rows:
            self._pass_on()
        self._writer.close()

    def _pass_on(self) -> None:
        import pyarrow

        table = pyarrow.Table.from_batches(self._waiting, self._schema).combine_chunks()
        self._waiting, self._rows, self._bytes = [], 0, 0
        self._writer.write_table(table)


def has_form(form: str) -> bool:
    """Whether data files can be of it. Avro's messages are no lines."""
    if form not in get_args(Form) or form in ("rows", "arrow"):
        return form in get_args(Form)
    from tailer.sinks.envelope.envelope import FORMATS

    return form in FORMATS


def form_writer(options: EnvelopeOptions, out: NewFile, context: OutletContext) -> FormWriter:
    """The writer of a form. `options`: the form, and what is asked of envelopes; `context`: of the outlet."""
    if options.format == "arrow":
        images = context.images
        return ArrowWriter(out, schema_of(context.typed, context.more) if images is None else images.schema())
    return LinesWriter(out) if options.format == "rows" else EnvelopeWriter(out, options, context)
