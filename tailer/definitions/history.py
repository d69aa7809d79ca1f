"""Definitions by position: what the journal's records make of them, and what was valid where.

A definition is valid for entries that begin at its position or later; that position is the end of the entry that
changed it. Opens nothing: records in, definitions out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from tailer.definitions.event import DefinitionEvent
from tailer.definitions.evidence import (
    Evidence,
    SchemaChange,
    alive,
    ended_by,
    is_second,
    is_taken_over,
    names_table,
    shown_at,
    start_of,
    time_of_create,
    types_and_names_in,
    written,
)
from tailer.definitions.held_back import as_they_count, holds_back, order_of
from tailer.definitions.native import NativeDefinitions
from tailer.definitions.versions import BEFORE_ALL, OutOfOrder
from tailer.position import Position
from tailer.schema.compare import created_again
from tailer.schema.follow import SchemaState
from tailer.schema.model import TableDefinition
from tailer.schema.record_definitions import is_native
from tailer.schema.rows import SchemaDelta
from tailer.schema.taken_back import Key, added_since, begins, creates, rows_of, shows
from tailer.state.affected import affects
from tailer.state.journal_records import (
    FILE,
    LOG,
    NODE,
    SERVER,
    AnyRecord,
    AppearedRecord,
    DefinitionRecord,
    RetractRecord,
    SchemaRecord,
)


class DefinitionHistory:
    """Every definition with the position it is valid from.

    Records count in the order of their positions, at one position in the order of their numbers; a retracted record has
    no effect anywhere. Adding records at the end is cheap; one that belongs further up replays what follows.

    `consumer`: definitions of this consumer alone count too; those of others never do.

    What a server or another node reported counts from the position on that it was journaled for, but for the changes
    that this log itself shows further on: they count from where the log shows them (`schema.taken_back`), and another
    node's from behind the older ones that this log shows (`held_back`).
    """

    def __init__(self, records: Iterable[AnyRecord] = (), consumer: str | None = None) -> None:
        self._consumer = consumer
        # As the journal has them, and as they count (`held_back`).
        self._journaled: list[SchemaRecord | DefinitionRecord] = []
        self._records: list[SchemaRecord | DefinitionRecord] = []
        self._retracted: set[int] = set()
        self._out_of_order = OutOfOrder()
        self._state = SchemaState()
        self._events: list[DefinitionEvent] = []
        self._positions: list[Position] = []
        self._of_key: dict[str, list[int]] = {}
        self._of_entry: dict[Position, DefinitionEvent] = {}
        self.native = NativeDefinitions()
        """Those of a native log's tables."""
        self._reported: list[tuple[SchemaRecord, dict[Key, SchemaDelta]]] = []
        self._evidenced: tuple[tuple[int, int], Evidence] | None = None
        self._generation = self._cached = self.newest_number = 0
        self._valid: dict[str, TableDefinition] = {}
        self.extend(records)

    @property
    def state(self) -> SchemaState:
        """The merged rows after the last record."""
        return self._state

    @property
    def newest(self) -> Mapping[str, TableDefinition]:
        """The newest definition of every table, by table id; dropped ones too."""
        return MappingProxyType({**self._state.definitions, **self.native.newest()})

    @property
    def gc_grace(self) -> Mapping[str, int]:
        """See SchemaState."""
        return self._state.gc_grace

    def newest_of(self, id: str) -> TableDefinition | None:
        """The newest definition of one table; a dropped one too."""
        return self.native.newest_of(id) or self._state.definitions.get(id)

    def definition_at(self, id: str, at: Position) -> TableDefinition | None:
        """The definition that a table of a server has for an entry at a position; a dropped one too."""
        numbers = self._of_key.get(id, [])
        count = bisect_left(numbers, bisect_right(self._positions, at))
        return self._events[numbers[count - 1]].changed[id] if count else None

    def versions_of(self, id: str) -> list[tuple[Position, TableDefinition]]:
        """All definitions that a table had, in order, each with where the first entry begins whose rows have it: rows
        that tell of a change of definitions have the new one."""
        if id in self.native:
            return self.native.versions(id)
        events = [self._events[number] for number in self._of_key.get(id, ())]
        return self._out_of_order.versions(events, id, lambda *where: self.state_before(*where).definitions.get(id))

    def newest_at(self, at: Position) -> Mapping[str, TableDefinition]:
        """The definition that every table had last at a position, by table id."""
        known = {key: held for key, held in self.as_of(at).items() if not is_native(key)}
        return {**known, **self.native.newest_at(at)}

    @property
    def events(self) -> Sequence[DefinitionEvent]:
        """All changes, in order."""
        return tuple(self._events)

    def extend(self, records: Iterable[AnyRecord]) -> None:
        """Take in journal records; those that say nothing of definitions to the consumer are passed over."""
        late = False
        for record in records:
            if isinstance(record, RetractRecord):
                self._retracted.add(record.of)
                late = True
            elif isinstance(record, SchemaRecord | DefinitionRecord) and affects(record, self._consumer):
                record = self._out_of_order.take(record) if isinstance(record, SchemaRecord) else record
                late = late or (bool(self._records) and order_of(record) < order_of(self._records[-1]))
                self._journaled.append(record)
                self._records.append(record)
                self.newest_number = max(self.newest_number, record.n)
                late = late or self._takes_back(record)
                if not late:
                    self._apply(record)
            elif isinstance(record, AppearedRecord) and affects(record, self._consumer):
                late = self._out_of_order.moves(record, self._journaled) or late
        if late:
            self._journaled.sort(key=order_of)
            self._records = as_they_count(self._journaled, self._retracted)
            self._reset()
            for record in self._records:
                self._apply(record)

    def add(self, at: Position, deltas: Sequence[SchemaDelta], source: str = LOG) -> Mapping[str, TableDefinition]:
        """Take in one mutation's changes that are not journalled; gives the definitions it changed in the end."""
        before = dict(self._state.definitions)
        self.extend([SchemaRecord(at=at, source=source, deltas=tuple(deltas))])
        return {id: held for id, held in self._state.definitions.items() if before.get(id) != held}

    def as_of(self, at: Position) -> Mapping[str, TableDefinition]:
        """The definitions, by table id, for an entry that begins at `at`."""
        count = bisect_right(self._positions, at)
        if count != self._cached:
            # A new dictionary each time: mappings handed out before stay what they were.
            forward = count > self._cached
            held = dict(self._valid) if forward else {}
            for event in self._events[self._cached if forward else 0 : count]:
                held.update(event.changed)
            self._cached, self._valid = count, held
        return MappingProxyType(self._valid)

    def version_at(self, at: Position) -> tuple[int, int]:
        """A key of `as_of(at)`: as long as it is the same, so are the definitions. Cheap enough for every span."""
        return self._generation, bisect_right(self._positions, at)

    @property
    def version(self) -> tuple[int, int]:
        """A key of `newest`."""
        return self._generation, len(self._positions)

    def changes(self, start: Position, end: Position) -> Sequence[DefinitionEvent]:
        """The changes that `as_of(start)` does not know and an entry that begins before `end` needs."""
        return tuple(self._events[bisect_right(self._positions, start) : bisect_left(self._positions, end)])

    def between(self, after: Position, upto: Position) -> Sequence[DefinitionEvent]:
        """The changes that are valid from behind a position, up to another one."""
        return tuple(self._events[bisect_right(self._positions, after) : bisect_right(self._positions, upto)])

    def source_of(self, id: str, at: Position | None = None) -> DefinitionEvent | None:
        """The change that made a table's definition what it is at `at` (by default: at the end)."""
        count = len(self._events) if at is None else bisect_right(self._positions, at)
        events = reversed(self._events[:count])
        return next((event for event in events if any(held.id == id for held in event.changed.values())), None)

    def learnt(self, id: str, start: Position, at: Position) -> int:
        """When the journal first had the last report of a table (µs), from the log or elsewhere, that counts from
        between these positions; 0 where there is none. It need not have changed anything: what a later consumer
        reported from the beginning on may say the same."""
        told = (r for r in self._valid_records() if start <= r.at <= at and names_table(r.deltas, id))
        # Each consumer's first start reports the same once more, from the same position on.
        found = [(r.at, -r.learnt) for r in told]
        return -max(found)[1] if found else 0

    def made_by(self, entry: Position) -> DefinitionEvent | None:
        """The change that the entry which begins at a position made; None where it made none, or none is known."""
        return self._of_entry.get(entry)

    def before(self, key: str, event: DefinitionEvent) -> TableDefinition | None:
        """The definition that an event replaced, by the key that it has in the event; None where there was none."""
        numbers = self._of_key.get(key, [])
        count = bisect_left(numbers, self._events.index(event, bisect_left(self._positions, event.at)))
        return self._events[numbers[count - 1]].changed[key] if count else None

    def created_at(self, id: str) -> Position | None:
        """Where the log says that a table of a server was created first; None if it does not."""
        return min(self._creations(id), default=None)

    def last_created(self, id: str, at: Position) -> Position | None:
        """Where the log says last that a table of a server was created, up to a position; None if it does not.

        A table that is dropped may be created again with the same id.
        """
        return max((made for made in self._creations(id) if made <= at), default=None)

    def created_in(self, id: str, event: DefinitionEvent) -> int | None:
        """The time (µs) of the CREATE of a table that an event of the log shows; None where it shows none."""
        record = self.record_of(event)
        shows = record is not None and record.source == LOG and creates(record.deltas, id)
        return time_of_create(record.deltas, id) if record is not None and shows else None

    def record_of(self, event: DefinitionEvent) -> SchemaRecord | None:
        """The record that an event was made of; None for one of a native log."""
        found = next((r for r in self._records if r.n == event.n and r.at == event.at), None)
        return found if isinstance(found, SchemaRecord) else None

    def _creations(self, id: str) -> Iterator[Position]:
        return (shown_at(r) for r in self._valid_records() if r.source == LOG and creates(r.deltas, id))

    def column_ages(self, id: str) -> Mapping[str, int]:
        """When each column of a table came, as numbers to compare; one that nothing tells of is not in there."""
        return self.native.column_ages(id) if id in self.native else self._state.column_ages(id)

    def state_at(self, at: Position) -> SchemaState:
        """The merged rows as of a position, for a reader that goes on from there with the log's own changes."""
        state = SchemaState()
        for record in (r for r in self._valid_records() if r.at <= at):
            self.merge(state, record)
        return state

    def state_before(self, segment: int, behind: Position) -> SchemaState:
        """The merged rows at the beginning of a segment that appeared below others: what counted behind these."""
        state = SchemaState()
        before, inside = self._out_of_order.apart(self.records(BEFORE_ALL, behind), segment)
        for record in before:
            self.merge(state, record, inside)
        return state

    def in_force(
        self,
        response: Sequence[SchemaDelta],
        at: Position,
        until: int = 0,
        asked: int = 0,
        without: Iterable[SchemaRecord] = (),
    ) -> list[SchemaDelta]:
        """A server's response as it counts at a position: without the changes that the log, or what another response
        added, shows behind it. A schema that the node took over from others there created none of its tables, and
        changed nothing that the response has if it is newer than the request. `until`: only changes of up to this time
        (µs) may be in it. `asked`: the time of the request, 0 where it is not known. `without`: what counts behind the
        position although the log shows it before."""
        shown = *without, *self.shown_behind(at)
        later = [SchemaChange(shown_at(r), r.deltas, is_taken_over(r.deltas)) for r in shown]
        if asked:
            later = [each for each in later if not each.copied or max(map(written, each.deltas)) <= asked]
        later += [added for added in (*self._evidence().added, *self._evidence().of_nodes) if added.at > at]
        may = [each for each in later if not until or min(map(written, each.deltas), default=0) <= until]
        return self._evidence().before(response, may, at)

    def _evidence(self) -> Evidence:
        version = len(self._records), len(self._retracted)
        if self._evidenced is None or self._evidenced[0] != version:
            self._evidenced = version, Evidence(self._valid_records())
        return self._evidenced[1]

    def _valid_records(self) -> list[SchemaRecord]:
        return [r for r in self._records if isinstance(r, SchemaRecord) and r.n not in self._retracted]

    def shown_behind(self, at: Position) -> list[SchemaRecord]:
        """The log's own schema records behind a position, in order."""
        return sorted((r for r in self._valid_records() if r.source == LOG and shown_at(r) > at), key=shown_at)

    def records_of_log(self) -> list[SchemaRecord]:
        """The log's own schema records, in order."""
        return [r for r in self._records if isinstance(r, SchemaRecord) and r.source == LOG]

    def stands_behind(self, segment: int) -> Position | None:
        """See `OutOfOrder`."""
        return self._out_of_order.stands_behind(segment)

    def late(self, segment: int) -> list[tuple[Position, tuple[SchemaDelta, ...]]]:
        """See `OutOfOrder`."""
        return self._out_of_order.late(segment, self._retracted)

    def records(self, start: Position, end: Position) -> list[SchemaRecord]:
        """The schema records valid from after `start` and up to `end`, in order."""
        return [record for record in self._valid_records() if start < record.at <= end]

    def _reset(self) -> None:
        self._state = SchemaState()
        self._events, self._positions, self._of_key, self._of_entry = [], [], {}, {}
        self.native, self._reported = NativeDefinitions(), []
        self._generation += 1
        self._cached, self._valid = 0, {}

    def _apply(self, record: SchemaRecord | DefinitionRecord) -> None:
        if record.n and record.n in self._retracted:
            return
        if isinstance(record, DefinitionRecord):
            self.native.put(record)
            changed, again = {record.key: record.definition}, {}
        else:
            if record.source != LOG:
                self._reported.append((record, rows_of(record.deltas)))
            again = self._created_again(record)
            held = {id: self._state.definitions[id] for id in again}
            born = alive(record.deltas, self._state) if record.source == LOG else {}
            changed = {**held, **self.merge(self._state, record)}
            again |= ended_by(record.deltas, born, changed)
        if changed:
            for key in changed:
                self._of_key.setdefault(key, []).append(len(self._events))
            learnt = record.learnt if isinstance(record, SchemaRecord) else 0
            event = DefinitionEvent(record.at, changed, record.source, record.n, start_of(record), learnt, again)
            self._events.append(event)
            if event.start is not None:
                self._of_entry.setdefault(event.start, event)
            self._positions.append(record.at)

    def merge(
        self, state: SchemaState, record: SchemaRecord, without: Iterable[SchemaRecord] = ()
    ) -> dict[str, TableDefinition]:
        """Apply a record as far as it is in force at its position. `without`: see `in_force`."""
        if record.source == LOG:
            return {**state.apply(record.deltas), **self._counts_from(state, record)}
        if record.source.startswith(NODE):
            # A whole schema that the node logs later, because it missed another statement, says when of none of it.
            later = [r.deltas for r in self.shown_behind(record.at) if not is_taken_over(r.deltas)]
            shown = [delta for changes in later for delta in changes]
            return state.apply([delta for delta in record.deltas if delta not in shown])
        deltas = record.deltas
        if record.source.startswith(SERVER):
            # Earlier versions took a table or column that a response lacks as dropped, with a deletion made up for it.
            deltas = tuple(delta for delta in deltas if delta.row_deletion is None)
        # A file has no timestamps; but of what was changed since it was given nothing is in it.
        until = record.learnt if record.source.startswith(FILE) else 0
        counted = self.in_force(deltas, record.at, until, record.asked, without)
        return state.apply(counted, response=record.asked > 0)

    def _created_again(self, record: SchemaRecord) -> dict[str, int]:
        """See `DefinitionEvent.again`: by the CREATE that the log shows, or a response where nobody saw it."""
        if record.source.startswith(SERVER):
            return created_again(self._state, self.in_force(record.deltas, record.at, asked=record.asked))
        if record.source != LOG:
            return {}
        ids = {str(value) for d in record.deltas if (value := d.cells.get("id", (0, None))[1]) is not None}
        live = [id for id in sorted(ids) if id in self._state.definitions and not self._state.definitions[id].dropped]
        live = [id for id in live if creates(record.deltas, id)]
        if not live:
            return {}
        shown = [r for r in self._records if isinstance(r, SchemaRecord) and r.source == LOG]
        known = [*shown, *(other for other, _ in self._reported)]
        return {id: time_of_create(record.deltas, id) - 1 for id in live if is_second(record, id, known)}

    def _counts_from(self, state: SchemaState, record: SchemaRecord) -> dict[str, TableDefinition]:
        """Apply what was reported of tables that were taken back because the log shows their CREATE here, or the DROP
        of the one before: the log may lack what was changed since."""
        changed: dict[str, TableDefinition] = {}
        for reported, rows in self._reported:
            begun = begins(rows, record.deltas) if reported.at < shown_at(record) else set()
            if begun:
                # Of these tables alone: to take all of a response back costs much, and there are many entries.
                columns = (d for d in reported.deltas if d.table != "types")
                own = [d for d in columns if (d.keyspace, *d.clustering[:1]) in begun]
                deltas: Iterable[SchemaDelta] = self.in_force(own, shown_at(record), asked=reported.asked)
                if reported.asked:
                    deltas = added_since(deltas, record.deltas)
                changed |= state.apply(deltas, response=reported.asked > 0)
        return changed

    def _takes_back(self, record: SchemaRecord | DefinitionRecord) -> bool:
        """Whether a record shows a change that something reported before it has too early: the log's own, or another
        node's of a type or the name of a key column."""
        if isinstance(record, DefinitionRecord) or not (record.source == LOG or record.source.startswith(NODE)):
            return False
        deltas = record.deltas if record.source == LOG else types_and_names_in(record)
        early = [(other, rows) for other, rows in self._reported if other.at < shown_at(record)]
        return holds_back(record, (other for other, _ in early)) or any(shows(rows, deltas) for _, rows in early)
