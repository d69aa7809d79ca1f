"""Rows that were written and are not committed: what a database is given, and which row of which batch each is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from tailer.errors import CdcError, SinkError
from tailer.position import Position
from tailer.sinks.base import Rows
from tailer.sinks.database.columns import TargetForm
from tailer.sinks.outlet import Refused

Trial = Callable[[pa.RecordBatch], "CdcError | None"]
"""What a database has against these rows, of which nothing stays."""


class HeldBatch:
    """One batch, and what of it is still to be written."""

    def __init__(self, batch: Rows, shaped: pa.RecordBatch) -> None:
        self.shaped = shaped
        self._batch = batch
        self._rows: Sequence[int] = range(len(batch))

    @property
    def nbytes(self) -> int:
        return int(self.shaped.nbytes)

    def leave_out(self, trial: Trial, form: TargetForm, name: str, refused: Refused) -> int:
        """Find the rows that the database refuses, by halves, and leave out what `refused` keeps; how many."""
        found = list(self._wrong(trial, 0, len(self._rows)))
        for row, error in found:
            refused(self._batch, self._rows[row], self._about(row, error, form, name))
        gone = {row for row, _ in found}
        kept = [row for row in range(len(self._rows)) if row not in gone]
        self.shaped = self.shaped.take(pa.array(kept, pa.int64()))
        self._rows = [self._rows[row] for row in kept]
        return len(found)

    def _wrong(self, trial: Trial, start: int, stop: int) -> Iterator[tuple[int, CdcError]]:
        error = trial(self.shaped.slice(start, stop - start)) if start < stop else None
        if error is None:
            return
        if stop - start == 1:
            yield start, error
            return
        middle = (start + stop) // 2
        yield from self._wrong(trial, start, middle)
        yield from self._wrong(trial, middle, stop)

    def _about(self, row: int, error: CdcError, form: TargetForm, name: str) -> CdcError:
        def value(column: str) -> Any:
            return self.shaped.column(column)[row].as_py()

        segment = value(form.segment)
        return SinkError(
            f"{name} refuses the row {value(form.keys[0])}: {error.what.removeprefix(f'{name}: ')}",
            at=None if segment is None else Position(segment, value(form.offset)),
            remedy="Mend the table, or keep such rows aside with --on-error quarantine.",
        )
