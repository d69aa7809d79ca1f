"""What a run that begins at the beginning is told of it: which tables' changes the log may not hold from the first on.

Told when what was there at the start was read, for only then their definitions are known; once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tailer.planning.history_held import HeldLog, begins_late, held_log
from tailer.position import Position
from tailer.tail.parts import TailParts


class Beginning:
    """Of one run. Nothing is told before `began`."""

    def __init__(self, parts: TailParts) -> None:
        self._parts = parts
        self._log: HeldLog | None = None
        self._upto = 0

    def began(self, there: Collection[int]) -> None:
        """The run begins at the beginning of a log that has these segments."""
        parts = self._parts
        ends, keys = parts.journal.segment_ends(None), parts.options.keys()
        self._log = held_log(parts.source, parts.cleaned.refresh().segments, ends, keys, parts.older.previous)
        self._upto = max(there, default=0)

    def notices(self, at: Position, *, idle: bool) -> Sequence[str]:
        """At a position; `idle`: all that is there was read."""
        if self._log is None or not (idle or at.segment >= self._upto):
            return ()
        log, self._log = self._log, None
        definitions, selection = self._parts.definitions, self._parts.options.selection
        wanted = [held for held in definitions.latest().values() if not held.dropped and selection.wants(held)]
        told = begins_late(log, definitions.history, wanted)
        return () if told is None else (told,)
