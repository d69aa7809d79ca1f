"""Where segments end by the journal, for everybody: kept up to date by its newer records alone. Reads no log."""

from __future__ import annotations

import threading
from collections.abc import Collection

from tailer.serve.node_journal import NodeJournal
from tailer.state.journal_records import SegmentEndRecord


class KnownEnds:
    """Of one state; any thread may ask."""

    def __init__(self, journal: NodeJournal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._id = ""
        self._upto = 0
        self._floor = 0
        self._newest: dict[int, SegmentEndRecord] = {}

    def newest(self, segments: Collection[int]) -> dict[int, SegmentEndRecord]:
        """The newest record of each of these segments that has one."""
        with self._lock:
            self._refresh()
            return {segment: self._newest[segment] for segment in segments if segment in self._newest}

    def _refresh(self) -> None:
        stands, records = self._journal.read(self._upto)
        if stands.id != self._id or stands.count < self._upto:
            # Another journal: the state was deleted, or replaced.
            self._newest, self._floor = {}, 0
            stands, records = self._journal.read(0)
        for record in records:
            if isinstance(record, SegmentEndRecord) and record.consumer is None:
                self._newest[record.segment] = record
        if stands.base.segment > self._floor:
            self._floor = stands.base.segment
            self._newest = {segment: each for segment, each in self._newest.items() if segment >= self._floor}
        self._id, self._upto = stands.id, stands.count
