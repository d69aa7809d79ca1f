"""From where changes count that only another node's log shows.

They are journaled for the position at which the consumer asked, behind a gap of its own log (`peers.py`). This log may
not have been on the disk so far as the other one then: where it shows an older change of the schema further on, the
other node's counts from behind that. Rows in between were written before both.

Pure functions of records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from tailer.definitions.evidence import is_taken_over, shown_at, written
from tailer.position import Position
from tailer.schema.rows import SchemaDelta
from tailer.schema.selection import is_system
from tailer.state.journal_records import LOG, NODE, SchemaRecord

_Key = tuple[int, Position]


class HeldBack:
    """Of a fixed list of records. One that is not among them holds nothing back, and is not held back."""

    def __init__(self, records: Iterable[SchemaRecord] = ()) -> None:
        self._at_once: dict[_Key, list[SchemaDelta]] = {}
        self._due: dict[_Key, list[SchemaDelta]] = {}
        told = [*records]
        own = sorted(filter(is_statement, told), key=shown_at)
        for record in told:
            if record.source.startswith(NODE):
                self._put(record, own[bisect_right(own, record.at, key=shown_at) :])

    def at_once(self, record: SchemaRecord) -> Sequence[SchemaDelta]:
        """What of another node's record counts at its position."""
        return self._at_once.get(_key(record), record.deltas)

    def due(self, record: SchemaRecord) -> Sequence[SchemaDelta]:
        """What other nodes showed earlier and counts from this record of the log on."""
        return self._due.get(_key(record), ())

    def _put(self, record: SchemaRecord, behind: Sequence[SchemaRecord]) -> None:
        # What the log shows itself counts from there.
        shown = [delta for each in behind for delta in each.deltas]
        at_once = self._at_once.setdefault(_key(record), [])
        for delta in record.deltas:
            if delta not in shown:
                older = _older(behind, written(delta))
                (at_once if older is None else self._due.setdefault(_key(older), [])).append(delta)


def is_statement(record: SchemaRecord) -> bool:
    """Whether a record shows a statement that this log's node took part in: no schema that it copied later, which has
    changes of all times, and nothing of the server's own keyspaces, which are as old as its version says."""
    is_own = record.source == LOG and not is_taken_over(record.deltas)
    return is_own and not all(is_system(delta.keyspace) for delta in record.deltas)


def time_of(record: SchemaRecord) -> int:
    """The time (µs) of a record's newest change."""
    return max(map(written, record.deltas), default=0)


def holds_back(record: SchemaRecord, told: Iterable[SchemaRecord]) -> bool:
    """Whether a record is of a statement that is older than what another node showed. `told`: what was reported for
    positions before it."""
    if not is_statement(record):
        return False
    time = time_of(record)
    return any(other.source.startswith(NODE) and time_of(other) > time for other in told)


def _older(behind: Sequence[SchemaRecord], time: int) -> SchemaRecord | None:
    """The last of the log's statements behind a position before it shows one that is as new, if the first is older."""
    found = None
    for each in behind:
        if time_of(each) >= time:
            break
        found = each
    return found


def _key(record: SchemaRecord) -> _Key:
    return record.n, record.at
