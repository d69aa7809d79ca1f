"""What takes change rows, and the stream that the sinks of the terminal write to.

A position moves only after `write` returned (architecture section 6, guarantee 3), so a sink keeps nothing back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Protocol

from tailer.errors import SinkError
from tailer.system_errors import path_of

if TYPE_CHECKING:
    import pyarrow

    from tailer.rows.batch import TableName


class Rows(Protocol):
    """Change rows in a batch, generic or typed."""

    def __len__(self) -> int: ...

    def json_lines(self) -> bytes:
        """One JSON object a row, each ended by a newline."""
        ...

    def to_arrow(self) -> pyarrow.RecordBatch: ...

    def rows_by_table(self) -> Mapping[TableName, int]:
        """How many rows are of each table."""
        ...


class Sink(Protocol):
    """Takes change rows in log order."""

    def write(self, batch: Rows) -> None:
        """Take the rows; when this returns they are out of this process. Raises SinkError, or BrokenPipeError where
        whoever read the rows went away (an ordinary end)."""
        ...

    def close(self) -> None:
        """No more rows will come. Raises as `write` does."""
        ...


class ByteStream:
    """A stream of bytes, usually standard output, that is flushed at each write and whose failures are SinkErrors."""

    closed = False
    """For pyarrow, which asks."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, data: bytes) -> int:
        try:
            self._stream.write(data)
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise SinkError(
                f"cannot write rows to standard output: {error.strerror or error}",
                file=self._path(),
                remedy="Rows up to the saved position are safe; make room and start again.",
            ) from error
        return len(data)

    def flush(self) -> None:
        """Nothing is kept back."""

    def _path(self) -> str | None:
        """Where a shell has sent it."""
        try:
            return path_of(self._stream.fileno())
        except (OSError, ValueError):
            return None
