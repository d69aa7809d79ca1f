"""`--output arrow`: an Arrow IPC stream of record batches, for `pyarrow.ipc.open_stream` and other languages' readers.

The schema goes out at once, so that a stream without rows is a valid one too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

from tailer.rows.batch import arrow_schema
from tailer.rows.late import late_schema
from tailer.sinks.base import ByteStream

if TYPE_CHECKING:
    import pyarrow

    from tailer.schema.typed import TypedTable
    from tailer.sinks.base import Rows


class ArrowSink:
    """A Sink: each batch becomes one record batch. `typed`: batches are of that typed form; `late`: rows come late.

    `more`: the columns that rows have behind all others. `schema`: of batches that are no change rows.
    """

    def __init__(
        self,
        stream: IO[bytes],
        typed: TypedTable | None = None,
        *,
        late: bool = False,
        more: Sequence[str] = (),
        schema: pyarrow.Schema | None = None,
    ) -> None:
        import pyarrow

        if schema is None:
            schema = late_schema() if late else schema_of(typed, more)
        self._writer: Any = pyarrow.ipc.new_stream(ByteStream(stream), schema)

    def write(self, batch: Rows) -> None:
        if len(batch):
            self._writer.write_batch(batch.to_arrow())

    def close(self) -> None:
        """End the stream with its mark; a reader can tell a whole stream from a cut one."""
        self._writer.close()


def schema_of(typed: TypedTable | None, more: Sequence[str] = ()) -> pyarrow.Schema:
    """The Arrow schema of rows of that typed form; None: of the generic one. `more`: columns behind all others."""
    from tailer.rows.widened import widened_schema

    if typed is None:
        return widened_schema(arrow_schema(), more)
    from tailer.rows.typed.form import form_of

    return widened_schema(form_of(typed).schema, more, typed.prefix)
