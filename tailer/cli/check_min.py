"""Whether a native segment keeps what its sidecar says with `min`: nothing captured stands before it. For `verify`.

Looks at records that check; what does not decode is said elsewhere. Prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from tailer.errors import CdcError, CorruptError
from tailer.position import Position
from tailer.scan.record.head import change_head
from tailer.scan.record.record import DEFINITION, Definition, decode_record, record_kind
from tailer.schema.record_definitions import definition_key, definition_of
from tailer.segments.run import Run


class BeforeMin:
    """What runs of one segment, in order, hold before the logical offset `first`; 0 promises nothing."""

    def __init__(self, file: str, first: int) -> None:
        self._file = file
        self._first = first
        self._captured: set[bytes] = set()

    def errors(self, segment: int, run: Run) -> Iterator[CorruptError]:
        """An error for each captured record of a run that should not be there."""
        if not run.native or int(run.sections[0]) >= self._first:
            return
        for start, size, offset in zip(run.starts.tolist(), run.sizes.tolist(), run.offsets.tolist(), strict=True):
            if offset >= self._first:
                return
            at = Position(segment, offset)
            if (what := self._what(run.data[start : start + size], at)) is not None:
                yield CorruptError(
                    f"{what} stands before the sidecar's min",
                    at=at,
                    file=self._file,
                    expected=f"nothing captured before {Position(segment, self._first)}",
                    found=what,
                    remedy="Whoever skips to min misses it: restore the sidecar, or put this offset in place of its "
                    "first number.",
                )

    def _what(self, payload: bytes, at: Position) -> str | None:
        """What a record is, if it is of a table that captures. A segment defines its tables before their rows."""
        if record_kind(payload) == DEFINITION:
            try:
                record = decode_record(payload, at)
                if not (isinstance(record, Definition) and definition_of(record, at).cdc):
                    return None
            except CdcError:
                return None
            self._captured.add(bytes.fromhex(definition_key(record.table_id, record.fingerprint)))
            return "the definition of a table that captures"
        head = change_head(payload)
        return "a row of a table that captures" if head is not None and head.key in self._captured else None
