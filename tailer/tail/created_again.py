"""Rows of a table that was dropped, which prove that it was created again with the same id.

The CREATE may stand in a segment without captured changes, which the server removes unread. The server, or another
node's log, is asked for the new definition before rows are given by the old one. Reads nothing and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tailer.definitions.evidence import written
from tailer.definitions.history import DefinitionHistory
from tailer.definitions.outside import OutsideSources
from tailer.position import Position
from tailer.rows.choice import AnyBatch
from tailer.state.journal_records import LOG

PUTS: Final = ("insert", "update")
"""Ops of rows that write values. A deletion proves nothing: it may have any timestamp."""


def newest_put(rows: Iterable[tuple[str, int | None]]) -> int:
    """The highest timestamp (µs) of rows that write values, each as op and `write_ts`; 0 where there is none."""
    return max((ts for op, ts in rows if op in PUTS and ts is not None), default=0)


def proves_creation(history: DefinitionHistory, id: str, at: Position, newest: int) -> bool:
    """Whether an entry of a table that is dropped at its position proves that it was created again with the same id.
    `newest`: the highest timestamp (µs) of what it writes (`newest_put`).

    DROP TABLE begins a new segment and waits for the writes that are under way (`ColumnFamilyStore.invalidate`,
    `CommitLog.forceRecycleAllSegments`): they are in the segment of the DROP, or in the next one. A node that was down
    then, so that only other logs show the DROP, learns of it when it runs again: before its own next schema change that
    is not older. Until then it logs what other nodes held back for it; and what they held back it may log long after
    the DROP (`Keyspace.applyInternal` logs a mutation before it looks for its table): that is older than the DROP.
    """
    held = history.definition_at(id, at)
    dropped = None if held is None or not held.dropped else history.source_of(id, at)
    if held is None or dropped is None or newest <= (held.dropped_time or 0):
        return False
    learnt = dropped.at if dropped.source == LOG else _learnt(history, dropped.at, held.dropped_time or 0)
    return learnt is not None and at.segment > learnt.segment + 1


def _learnt(history: DefinitionHistory, behind: Position, time: int) -> Position | None:
    """Where this log shows its next schema change that is not older than `time` (µs)."""
    records = history.shown_behind(behind)
    return next((r.found or r.at for r in records if max(map(written, r.deltas)) >= time), None)


class CreatedAgain:
    """Of one run."""

    def __init__(self, history: DefinitionHistory, outside: OutsideSources) -> None:
        self._history, self._outside = history, outside
        self._asked: set[tuple[str, Position]] = set()

    def new_definition(self, batch: AnyBatch) -> tuple[int, Position] | None:
        """The first row of a batch that is to be read by a definition which is known only now, and where its entry
        begins; None where there is none. Raises what keeps the server from answering."""
        if not self._outside.asks or not len(batch):
            return None
        first = _position(batch, 0)
        for name in batch.rows_by_table():
            id = name.id.replace("-", "")
            held = self._history.definition_at(id, first)
            if held is None or not held.dropped:
                continue
            rows = rows_of(batch, name.id)
            if not proves_creation(self._history, id, first, newest_put(put for _, put in rows)):
                continue
            dropped = self._history.source_of(id, first)
            assert dropped is not None, "it was dropped"
            if (id, dropped.at) in self._asked:
                continue
            self._asked.add((id, dropped.at))
            row = next(row for row, put in rows if newest_put([put]) > (held.dropped_time or 0))
            at = _position(batch, row)
            self._outside.ask_anew(id, at)
            held = self._history.definition_at(id, at)
            if held is not None and not held.dropped:
                return row, at
        return None


def _position(batch: AnyBatch, row: int) -> Position:
    return Position(*(int(batch.column(name)[row]) for name in ("segment", "offset")))


def rows_of(batch: AnyBatch, table_id: str) -> list[tuple[int, tuple[str, int | None]]]:
    """The rows of one table in a batch: number, op, and `write_ts`."""
    columns = zip(*(batch.column(name) for name in ("table_id", "op", "write_ts")), strict=True)
    return [(row, (str(op), ts)) for row, (id, op, ts) in enumerate(columns) if str(id) == table_id]
