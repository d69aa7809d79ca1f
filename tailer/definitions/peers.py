"""Definitions from the logs of other nodes that are followed with this one.

A node that is down during an ALTER takes the schema from the other nodes when it starts. It logs that in a segment that
may hold no captured change, and the server removes such a segment unread. The other nodes' logs show the same schema
changes, with the same table ids and the same timestamps: the timestamps are of the node that executed the statement.

They are asked at two moments: an entry cannot be decoded, and segments of this log are missing before one that is about
to be read. They are asked up to what is on their disks at that moment, whether their own consumers have read that far
or not. What they add is journaled for this log's position, before anything is decoded by it.

Guaranteed: a change that any of these logs shows is in force behind the gap in which this log lost it, unless this log
shows it itself further on, and unless it is newer than the next schema change that this log shows; then it counts from
behind that, also where this log shows that later (`held_back.py`). What was made after the gap was met is not in it:
this log shows it, or has another gap. Not known: in which of several gaps a change was lost, where this log shows no
schema change between them: it counts from the first of them. A change that no followed log shows can be known from a
server alone (`--server`).

A node that cannot be asked at a gap is reported, and asked again every ten seconds until it can be; what it shows then
counts from where the reading is by then. So for a minute are all nodes: their logs reach their disks later. Rows before
that which cannot be decoded ask again at once, and end the run where that brings nothing: a later run asks anew. The
bound: a column that was dropped and added with another type, whose change only a node shows that could not be asked, is
read by its older type until that node can be asked, where its values decode by both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from typing import NamedTuple

from tailer.definitions.evidence import written
from tailer.definitions.held_back import is_statement, time_of
from tailer.definitions.learning import Definitions
from tailer.errors import CdcError
from tailer.framing.name import SegmentName
from tailer.framing.section import NoSection
from tailer.position import Position
from tailer.schema.rows import SchemaDelta
from tailer.schema.selection import Selection, is_system
from tailer.segments.run import run_of
from tailer.segments.segment import KeySource
from tailer.segments.source import open_segment
from tailer.state.journal import MemoryJournal
from tailer.state.journal_records import LOG, NODE, LearntRecord, SchemaRecord
from tailer.state.node_log import NodeLog
from tailer.system_errors import is_own_limit


class Peers:
    """The other nodes of one tail. `logs`: by the node's name what opens its log; opened for each question."""

    def __init__(self, logs: Sequence[tuple[str, Callable[[], NodeLog]]], keys: KeySource) -> None:
        self._peers = [_Peer(name, opens, keys) for name, opens in logs]
        self._notices: list[str] = []
        self._away: dict[str, str] = {}

    @property
    def unreachable(self) -> bool:
        """Whether one could not be asked at the last question."""
        return bool(self._away)

    def take_notices(self) -> list[str]:
        """What there is to say since the last call."""
        notices, self._notices = self._notices, []
        return notices

    def additions(
        self, known: Definitions, at: Position, *, until: int | None = None, table: str | None = None
    ) -> list[SchemaRecord]:
        """The records that change a definition at a position of this tail's log, in the order of their timestamps.

        `until`: only changes of up to this time (µs). `table`: of this one alone (32 hex digits), and of the types of
        its keyspace.
        """
        own = known.history.shown_behind(at)
        next_own = next(filter(is_statement, own), None)
        ends = [time_of(next_own) - 1] if next_own is not None else []
        last = min([*ends, *([until] if until is not None else [])], default=None)
        found = self._found(known, {delta for record in own for delta in map(_frozen, record.deltas)})
        if table is not None:
            found = _of_table(found, table)
        state = known.history.state_at(at)
        in_time = (each for each in found if last is None or each.time <= last)
        return [
            SchemaRecord(at=at, source=f"{NODE}{each.node}", deltas=each.deltas)
            for each in sorted(in_time, key=lambda each: each.time)
            if state.apply(each.deltas)
        ]

    def _found(self, known: Definitions, shown: Set[str]) -> list[_Found]:
        """What the others' logs show now. `shown`: what this one shows itself."""
        own_ids = {id: held.name for id, held in known.latest().items() if not is_system(held.keyspace)}
        found: list[_Found] = []
        for peer in self._peers:
            try:
                records = peer.records()
            except (CdcError, OSError) as error:
                if is_own_limit(error):
                    raise
                why = error.sentence() if isinstance(error, CdcError) else str(error)
                if self._away.get(peer.name) != why:
                    self._away[peer.name] = why
                    self._notices.append(f"node {peer.name} could not be asked for its definitions: {why}")
                continue
            self._away.pop(peer.name, None)
            others = _ids(records)
            if own_ids.keys().isdisjoint(others) and not set(own_ids.values()).isdisjoint(others.values()):
                # Another cluster: its tables of the same names are not these.
                continue
            for record in records:
                deltas = tuple(d for d in record.deltas if _frozen(d) not in shown and not is_system(d.keyspace))
                if deltas:
                    found.append(_Found(max(map(written, deltas)), peer.name, deltas))
        return found


class _Found(NamedTuple):
    """What another node's log shows. `time`: of its newest change (µs)."""

    time: int
    node: str
    deltas: tuple[SchemaDelta, ...]


def _of_table(found: Sequence[_Found], id: str) -> list[_Found]:
    """Those that are of a table, or of types in its keyspace."""
    headings = (d for each in found for d in each.deltas if d.cells.get("id", (0, None))[1] == id)
    names = {(delta.keyspace, delta.clustering[0]) for delta in headings}
    keyspaces = {keyspace for keyspace, _ in names}

    def concerns(delta: SchemaDelta) -> bool:
        if delta.table == "types" or delta.partition_deletion is not None:
            return delta.keyspace in keyspaces
        return (delta.keyspace, *delta.clustering[:1]) in names

    return [each for each in found if any(map(concerns, each.deltas))]


class _Peer:
    """One of them. What its journal does not have is read from its segments, each section once."""

    def __init__(self, name: str, opens: Callable[[], NodeLog], keys: KeySource) -> None:
        self.name = name
        self._opens = opens
        self._keys = keys
        self._read: dict[int, tuple[int, int]] = {}
        self._found: list[SchemaRecord] = []

    def records(self) -> list[SchemaRecord]:
        """All schema changes that its log shows now. Raises what keeps it from being read."""
        log, ends = self._opens(), dict(self._read)
        try:
            journal = log.home.journal(writable=False)
            records = journal.read()
            searched = {r.of.segment: (r.of.end, r.of.at) for r in records if isinstance(r, LearntRecord)}
            told = [r for r in records if isinstance(r, SchemaRecord) and r.source == LOG]
            # Without what the node's journal has: it would be put in order again at each question.
            known = Definitions(MemoryJournal(), Selection(), tolerant=True)
            for segment, file in sorted(log.source.look().logs.items()):
                begin = max(ends.get(segment, (0, 0)), searched.get(segment, (0, 0)))
                ends[segment] = self._collect(log, file.name, begin, known)
            known.learn_collected(None)
            fresh = known.history.records_of_log()
        finally:
            log.source.close()
        # Only now: what a read that failed half-way had found is read again.
        self._read = ends
        self._found += [record for record in fresh if record not in self._found]
        return [*(r for r in told if r.n not in journal.retracted), *self._found]

    def _collect(self, log: NodeLog, name: SegmentName, begin: tuple[int, int], known: Definitions) -> tuple[int, int]:
        """Collect what a segment shows from a section on; where the next section begins: logical offset, and in the
        file."""
        end = begin
        # The server may remove it after the folder was listed.
        with suppress(FileNotFoundError), open_segment(log.source, name, self._keys) as file:
            header = file.header()
            if header is None or header.native:
                return end
            start, at = begin if begin[0] else (header.length, header.length)
            for section in file.sections(start, at):
                if isinstance(section, NoSection):
                    break
                data, entries = file.entries(section)
                known.collect(name.segment, run_of(section, data, entries, native=False))
                end = section.end, section.next_at
        return end


def _ids(records: Iterable[SchemaRecord]) -> dict[str, str]:
    """The ids of tables that records name, each with the table's name."""
    headings = (d for record in records for d in record.deltas if not is_system(d.keyspace) and "id" in d.cells)
    return {str(d.cells["id"][1]): f"{d.keyspace}.{d.clustering[0]}" for d in headings if d.cells["id"][1] is not None}


def _frozen(delta: SchemaDelta) -> str:
    return repr(delta)
