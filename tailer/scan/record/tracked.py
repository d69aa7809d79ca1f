"""What of a native segment readers of `cdc_raw` need, told from its records alone. Pure; knows no other segment."""

from __future__ import annotations

from collections.abc import Iterable

from tailer.scan.record.head import FINGERPRINT_AT, TXN_AT
from tailer.scan.record.record import (
    CHANGE,
    COMMIT,
    DEFINITION,
    STATE,
    Commit,
    Definition,
    State,
    decode_position,
    decode_record,
)


class Finder:
    """Looks for the tracked records of one segment, section by section.

    `first`: the section where they begin; the header's length where they may begin before what can be recognised.
    """

    def __init__(self, segment: int, header_length: int) -> None:
        self._segment = segment
        self._header_length = header_length
        self._captured: set[bytes] = set()
        self._open_before = False
        self._found: int | None = None

    @property
    def tracked(self) -> bool:
        return self._found is not None or self._open_before

    @property
    def first(self) -> int:
        """Where tracked records begin."""
        return self._header_length if self._open_before or self._found is None else self._found

    def look(self, start: int, payloads: Iterable[bytes]) -> None:
        """At a section, by its logical start and the payloads of its entries."""
        for payload in payloads:
            if self._is_tracked(payload) and self._found is None:
                self._found = start

    def _is_tracked(self, payload: bytes) -> bool:
        kind = payload[1]
        if kind == CHANGE:
            return payload[FINGERPRINT_AT:TXN_AT] in self._captured
        if kind not in (DEFINITION, COMMIT, STATE):
            return False
        record = decode_record(payload)
        if isinstance(record, Definition):
            if record.cdc:
                self._captured.add(record.fingerprint)
            return record.cdc
        if isinstance(record, Commit):
            self._note(record.first)
            return record.first is not None
        if isinstance(record, State):
            self._note(record.restart)
        return False

    def _note(self, first: bytes | None) -> None:
        """A transaction that began in an earlier segment: any record of this one may be of it."""
        if first is not None and decode_position(first).segment < self._segment:
            self._open_before = True
