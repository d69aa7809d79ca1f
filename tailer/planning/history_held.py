"""Whether a folder holds every change of a table since it was created, and what is said where it may not.

A log tells that a table was created where it says all of it at once. That place must be there, and nothing behind it
that captured changes may be missing. Reads names, what the state tells, and one header; decodes no entry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tailer.definitions.history import DefinitionHistory
from tailer.errors import CdcError, LossError
from tailer.planning.sighting import COMPLETED
from tailer.position import Position
from tailer.schema.model import TableDefinition
from tailer.segments.folder import Listing
from tailer.segments.segment import KeySource
from tailer.segments.source import Source, open_segment
from tailer.state.ids import Ids
from tailer.state.journal_records import SegmentEndRecord

_SHOWN: Final = 3
"""Tables that a notice names."""

_LANDED: Final = (
    "Put it together from changes that were landed from the beginning (docs/tables.md), or take what is there with "
    "partial=True."
)
_NOT_DURABLE: Final = (
    "ALTER KEYSPACE {} WITH durable_writes = true counts for later writes alone, and what was written before is in the "
    "server's tables alone: read it from the server, or take what is there with partial=True."
)


@dataclass(frozen=True, slots=True)
class HeldLog:
    """What a folder has of a log, and had. `there`: ids of its segments.

    `cleaned`: ids with captured changes that `clean` took; `gone`: others that had some and are not there any more.
    `dropped`: up to which segment a native log's limit took some. `whole`: the first segment is the log's first.
    """

    there: Set[int]
    cleaned: Ids
    gone: Ids
    dropped: int = 0
    whole: bool = False

    @property
    def first(self) -> int:
        """The lowest segment, 0 for none."""
        return min(self.there, default=0)

    def lacks(self, history: DefinitionHistory, table: TableDefinition) -> str | None:
        """Why changes of a table may be missing; None where all are there since it was created."""
        if not self.first:
            return "there is no segment"
        native = table.id in history.native
        created = None if native else history.created_at(table.id)
        since = 0 if created is None else created.segment
        told = [
            _taken(self.cleaned, since, "`clean` took"),
            f"the log's limit took what was up to segment {self.dropped}" if self.dropped else None,
            _taken(self.gone, since, "somebody else took"),
        ]
        known = [sentence for sentence in told if sentence is not None]
        # Of what was taken long ago nobody may know any more.
        begins = self.whole if native else created is not None and created.segment in self.there
        if not known and not begins:
            known.append("what was written before it is not known")
        return f"the folder begins at segment {self.first}, and {' and '.join(known)}" if known else None


def held_log(
    source: Source,
    cleaned: Ids,
    ends: Iterable[SegmentEndRecord],
    keys: KeySource,
    archived: Mapping[int, int | None] = MappingProxyType({}),
) -> HeldLog:
    """What a log's folder has and had. `cleaned`: captured segments that were taken away; `ends`: the log ends on
    record, in its journal.

    `archived`: segments that are there besides, each with the id of the one before, 0 for a native log's first.
    """
    listing = source.look()
    cleaned = cleaned.minus(Ids.of(archived))
    # A server that starts again links what was cleaned anew: nobody is given it.
    there = {*archived, *(segment for segment in listing.logs if segment not in cleaned)}
    ended = {end.segment for end in ends if end.finished == COMPLETED}
    first = min(there, default=0)
    return HeldLog(
        there,
        cleaned,
        Ids.of(segment for segment in ended - there if segment not in cleaned),
        listing.dropped or 0,
        archived[first] == 0 if first in archived else bool(first) and _begins_a_log(source, listing, first, keys),
    )


def check_held(
    where: str, held: HeldLog, history: DefinitionHistory, table: TableDefinition, silent: Set[str] = frozenset()
) -> None:
    """LossError where changes of a table may be missing. `silent`: keyspaces of which no change reaches the log now."""
    if (lacks := _not_durable(history, table, silent)) is not None:
        remedy = _NOT_DURABLE.format(table.keyspace)
    elif (lacks := held.lacks(history, table) or _uncaptured(history, table)) is not None:
        remedy = _LANDED
    else:
        return
    raise LossError(
        f"Changes of {table.name} may be missing: {lacks}", at=Position(held.first, 0), file=where, remedy=remedy
    )


def begins_late(held: HeldLog, history: DefinitionHistory, tables: Collection[TableDefinition]) -> str | None:
    """What a reader from the beginning is told of tables whose earlier changes may be missing; None if none are."""
    why = {table.name: lacks for table in tables if (lacks := held.lacks(history, table)) is not None}
    if not why:
        return None
    names = sorted(why)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"changes of {', '.join(names[:_SHOWN])}{more} may be missing: {why[names[0]]}"


def _not_durable(history: DefinitionHistory, table: TableDefinition, silent: Set[str]) -> str | None:
    """Why changes of the table are in no log: its keyspace is not durable, or was not for a time."""
    keyspace = table.keyspace
    if keyspace in silent:
        return f"keyspace {keyspace} has durable_writes = false: the server writes no change of it to its commit log"
    altered = [
        record.at
        for record in history.records_of_log()
        if any(delta.table == "keyspaces" and delta.keyspace == keyspace for delta in record.deltas)
    ]
    created = history.created_at(table.id)
    if created is None or not altered:
        return None
    since = [created, *(at for at in altered if at > created)]
    if any(keyspace in history.state_at(at).not_durable for at in since):
        return f"keyspace {keyspace} had durable_writes = false for a time: its changes of then are in no commit log"
    return None


def _uncaptured(history: DefinitionHistory, table: TableDefinition) -> str | None:
    """When the table did not capture: what was written then may never have been in the log."""
    told = [
        (event.at, held.cdc)
        for event in history.events
        for held in event.changed.values()
        if held.id == table.id and not held.dropped
    ]
    last = max((number for number, (_, cdc) in enumerate(told) if not cdc), default=None)
    if last is None:
        return None
    return f"it did not capture (cdc = false) {f'until {told[last + 1][0]}' if last + 1 < len(told) else ''}".rstrip()


def _taken(ids: Ids, since: int, who: str) -> str | None:
    found = ids.from_id(since)
    if not found:
        return None
    count, first, last = len(found), found.firsts[0], found.lasts[-1]
    return f"{who} segment {first}" if count == 1 else f"{who} {count} segments ({first} to {last})"


def _begins_a_log(source: Source, listing: Listing, segment: int, keys: KeySource) -> bool:
    try:
        with open_segment(source, listing.logs[segment].name, keys) as file:
            header = file.header()
    except (CdcError, FileNotFoundError):
        # Told where its rows are wanted.
        return False
    return header is not None and header.native and header.previous is None
