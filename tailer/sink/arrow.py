"""`--output arrow`: an Arrow IPC stream of record batches, for `pyarrow.ipc.open_stream` and other languages' readers.

The schema goes out at once, so that a stream without rows is a valid one too.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

from tailer.change.batch import arrow_schema
from tailer.sink.base import ByteStream

if TYPE_CHECKING:
    from tailer.change.batch import ChangeBatch


class ArrowSink:
    """A Sink: each ChangeBatch becomes one record batch."""

    def __init__(self, stream: IO[bytes]) -> None:
        import pyarrow

        self._writer: Any = pyarrow.ipc.new_stream(ByteStream(stream), arrow_schema())

    def write(self, batch: ChangeBatch) -> None:
        if len(batch):
            self._writer.write_batch(batch.to_arrow())

    def close(self) -> None:
        """End the stream with its mark; a reader can tell a whole stream from a cut one."""
        self._writer.close()
