"""What the demo shows: a line for each micro-batch, some of its changes with their delays, and the summary."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable
from typing import IO, Final

from tailer.rows.batch import Batch
from tailer.sinks.pretty import PrettySink
from tailer.sinks.table_text import Tables
from tailer.sinks.terminal import terminal_columns

ROWS_SHOWN: Final = 3
"""Of each micro-batch: more goes by too fast to be read."""

_DELAY_COLUMNS: Final = 10
_DIM: Final = "\x1b[2m"
_BOLD: Final = "\x1b[1m"
_RESET: Final = "\x1b[0m"

Published = Callable[[int, int], float | None]


class Screen:
    """A sink that shows rows with their delays, and keeps what came: `rows` as event ids, with the time shown."""

    def __init__(
        self, stream: IO[bytes], published: Published, tables: Tables, *, colour: bool, clock: Callable[[], float]
    ) -> None:
        self.event_ids: list[str] = []
        self.delays: list[float] = []
        """Seconds from the sidecar to the screen, of rows whose sidecar was written after the first row was shown."""
        self.batches = 0
        self._stream = stream
        self._published = published
        self._colour = colour
        self._clock = clock
        self._began = clock()
        self._first: float | None = None
        self._lines = io.BytesIO()
        columns = terminal_columns(stream, os.environ) - _DELAY_COLUMNS
        self._pretty = PrettySink(self._lines, tables, colour=colour, columns=columns)

    def say(self, text: str) -> None:
        """A line of the demo's own, with the seconds since it began."""
        self._write([self._painted(_DIM, f"{self._clock() - self._began:7.1f} s") + f"  {text}"])

    def heading(self, text: str) -> None:
        self._write([self._painted(_BOLD, text)])

    def write(self, batch: Batch) -> None:
        """Show a micro-batch: some of its rows, each with its delay, and how many more there were."""
        self.batches += 1
        self.event_ids += batch.column("event_id")
        now = time.time()
        written = [self._published(*at) for at in zip(batch.column("segment"), batch.column("offset"), strict=True)]
        delays = [None if at is None else now - at for at in written]
        for number in range(min(len(batch), ROWS_SHOWN)):
            self._row(batch.slice(number, number + 1), delays[number])
        known = [delay for delay in delays if delay is not None]
        newest = f", the newest {_milliseconds(min(known))} after it was durable" if known else ""
        more = f"{len(batch)} changes" if len(batch) > ROWS_SHOWN else f"{len(batch)} shown"
        self.say(self._painted(_DIM, f"micro-batch {self.batches}: {more}{newest}"))
        if self._first is None:
            self._first = now
        self.delays += [now - at for at in written if at is not None and at > self._first]

    def _row(self, row: Batch, delay: float | None) -> None:
        self._pretty.write(row)
        lines = self._lines.getvalue().decode().splitlines()
        self._lines.seek(0)
        self._lines.truncate()
        told = "" if delay is None else _milliseconds(delay)
        # The date, when it changes, comes on a line before the row.
        dated = lines[0].lstrip("\x1b[2m").startswith("──")
        heads = ["", told] if dated else [told]
        heads += [""] * (len(lines) - len(heads))
        self._write([f"{head:>{_DELAY_COLUMNS - 2}}  {line}" for head, line in zip(heads, lines, strict=True)])

    def _painted(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if self._colour else text

    def _write(self, lines: list[str]) -> None:
        self._stream.write("".join(f"{line}\n" for line in lines).encode())
        self._stream.flush()


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 10 else f"{seconds:.1f} s"
