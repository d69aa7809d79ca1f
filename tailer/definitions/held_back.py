"""The position from which a schema change counts that only another node's log shows.

It is journaled for the position at which the consumer asked, behind a gap of its own log (`peers.py`). At that time the
own log may have been less far on the disk than the other one. If the own log shows an older schema change later, the
other node's change counts from behind that one: the rows in between were written before both changes.

Pure functions of records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Sequence

from msgspec.structs import replace

from tailer.definitions.evidence import is_taken_over, shown_at, written
from tailer.position import Position
from tailer.schema.rows import SchemaDelta
from tailer.schema.selection import is_system
from tailer.state.journal_records import LOG, NODE, DefinitionRecord, SchemaRecord


def order_of(record: SchemaRecord | DefinitionRecord) -> tuple[Position, int]:
    """By what records are put in order."""
    return record.at, record.n


def as_they_count(
    records: Sequence[SchemaRecord | DefinitionRecord], retracted: Container[int]
) -> list[SchemaRecord | DefinitionRecord]:
    """The records in the order in which they count; another node's has the position from which its changes do.
    `records`: in the order of their positions."""
    if not any(isinstance(record, SchemaRecord) and record.source.startswith(NODE) for record in records):
        return [*records]
    valid = (each for each in records if isinstance(each, SchemaRecord) and each.n not in retracted)
    own = sorted(filter(is_statement, valid), key=shown_at)
    placed: list[tuple[Position, int, SchemaRecord | DefinitionRecord]] = []
    for record in records:
        if isinstance(record, SchemaRecord) and record.source.startswith(NODE):
            placed += [(each.at, each.at != record.at, each) for each in _parts(record, own)]
        else:
            placed.append((record.at, 0, record))
    # Behind the record of the log at whose position they count.
    return [record for _, _, record in sorted(placed, key=lambda each: each[:2])]


def _parts(record: SchemaRecord, own: Sequence[SchemaRecord]) -> list[SchemaRecord]:
    """Another node's record, or one for each position from which its changes count."""
    behind = own[bisect_right(own, record.at, key=shown_at) :]
    # What the log shows itself counts from there.
    shown = [delta for each in behind for delta in each.deltas]
    parts: dict[Position, list[SchemaDelta]] = {}
    for delta in record.deltas:
        older = None if delta in shown else _older(behind, written(delta))
        parts.setdefault(record.at if older is None else older.at, []).append(delta)
    return [replace(record, at=at, deltas=tuple(deltas)) for at, deltas in parts.items()]


def is_statement(record: SchemaRecord) -> bool:
    """Whether a record of this log shows one statement of a user. A schema that the node copied from others later has
    changes of all times. Tables of the server's own keyspaces have fixed times of its version."""
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
    """The last of the statements that are older than `time` (µs), up to the first one that is not. `behind`: the log's
    own, in order. None if the first is not older."""
    found = None
    for each in behind:
        if time_of(each) >= time:
            break
        found = each
    return found
