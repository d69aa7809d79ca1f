"""`--output json`: one change row a line, exactly as architecture section 4 says. Knows no column."""

from __future__ import annotations

from typing import IO

from tailer.sinks.base import ByteStream, Rows


class JsonLinesSink:
    """A Sink: UTF-8, compact, a newline after each row."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = ByteStream(stream)

    def write(self, batch: Rows) -> None:
        if len(batch):
            self._stream.write(batch.json_lines())

    def close(self) -> None:
        """Nothing is open."""
