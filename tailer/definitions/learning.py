"""Definitions beside the planner: learnt from the log in log order, from a file and from a server, and journalled
before the offset that needs them leaves (architecture section 5). Reads no segment: sections are handed to `collect`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from tailer.definitions.at_spans import DefinitionsAtSpans, SpanDefinitions, builtin
from tailer.definitions.durability import Durability
from tailer.definitions.evidence import written
from tailer.definitions.history import DefinitionHistory
from tailer.definitions.in_records import RecordFinds, may_give_rows
from tailer.definitions.inside import TablesInside
from tailer.definitions.may_deliver import MayDeliver
from tailer.definitions.met import TablesMet
from tailer.definitions.named_tables import nothing_defines, undefined
from tailer.definitions.notices import DefinitionNotices
from tailer.errors import CdcError, DefinitionError, RefusedError
from tailer.framing.peek import TABLE_ID_BYTES
from tailer.limits import ENTRY_OVERHEAD
from tailer.position import Position, Span
from tailer.rows.explain import explain
from tailer.rows.neutral import neutral_rows
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared, prepare
from tailer.scan.index import Status
from tailer.scan.mutation.scan import scan
from tailer.scan.record.record import Definition
from tailer.schema.compare import additions
from tailer.schema.decode import deltas
from tailer.schema.model import TableDefinition
from tailer.schema.record_definitions import without_columns
from tailer.schema.rows import SchemaDelta
from tailer.schema.selection import Selection
from tailer.schema.taken_back import key_of, place_of
from tailer.schema.typed import TypedOptions, TypedTable, typed_table
from tailer.segments.heads import FirstIds, payloads
from tailer.segments.run import Run
from tailer.state.affected import affects
from tailer.state.journal import Journal
from tailer.state.journal_records import LOG, AnyRecord, DefinitionRecord, SchemaRecord

BEGINNING: Final = Position(0, 0)


class _Found(NamedTuple):
    """A schema mutation that was met: positions of its start and its end, and its bytes."""

    start: Position
    end: Position
    payload: bytes


class Definitions:
    """What is known of tables at each position; see the module.

    `tolerant`: what cannot be decoded is left out, with a notice. `schema_rows`: changes of definitions are rows.
    `consumer`: whose definitions count beside those for all. `wall`: seconds since the epoch.
    """

    def __init__(
        self,
        journal: Journal,
        selection: Selection,
        *,
        tolerant: bool,
        schema_rows: bool = False,
        consumer: str | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._journal = journal
        self._wall = wall
        self._selection = selection
        self._tolerant = tolerant
        self._consumer = consumer
        records = journal.read()
        self._taken = journal.count
        self._history = DefinitionHistory(records, consumer)
        self._digests: dict[bytes, Position] = {}
        self._note_digests(records)
        self._pending: dict[Position, _Found] = {}
        self._notices: list[str] = []
        self._about = DefinitionNotices(selection)
        self._notices.extend(self._about.about(self._history.newest.values()))
        self.durability = Durability(self._history, selection)
        self._at_spans = DefinitionsAtSpans(self._history)
        self._may_deliver = MayDeliver(self._history, selection, schema_rows=schema_rows)
        self._touched = False
        self._wide: tuple[object, bool] | None = None
        self.in_records = RecordFinds()
        self._met: TablesMet | None = None
        self._inside = TablesInside(self._history, selection)
        self.entries = 0
        """How many were collected, or passed over."""
        self._unread_since: int | None = None
        """The first segment in which the definition of a table was left out that may be wanted."""
        self.left_out: set[int] = set()
        """Segments in which something was left out that could not be decoded."""

    @property
    def history(self) -> DefinitionHistory:
        return self._history

    @property
    def touched(self) -> bool:
        """Whether something was collected that may give rows, since `forget_rows`."""
        return self._touched

    def note_rows(self) -> None:
        """Rows were met where none were expected."""
        self._touched = True

    def forget_rows(self) -> None:
        """What was collected so far needs nobody's attention any more."""
        self._touched = False

    @property
    def settled(self) -> bool:
        """Whether nothing is collected that was not learnt yet."""
        return not (self._pending or self.in_records.pending)

    def tell(self, met: TablesMet) -> TablesMet:
        """From now on it is told of the runs of a server's log: for who hands tasks to other processes."""
        self._met = met
        return met

    def collect(self, segment: int, run: Run) -> None:
        """Note what a run's entries say of definitions (`planning.reach.Collect`)."""
        ids = self._note(segment, run)
        if ids is None:
            self.in_records.collect(segment, run)
            return
        for offset, payload in ids.entries_of(_schema_ids()):
            end = Position(segment, offset + ENTRY_OVERHEAD + len(payload))
            self._pending[end] = _Found(Position(segment, offset), end, payload)

    def pass_over(self, segment: int, run: Run) -> None:
        """The same of a run whose definitions are known: whether it may give rows, and where a restart begins."""
        self._note(segment, run)

    def _note(self, segment: int, run: Run) -> FirstIds | None:
        """What is noted of every run; the tables of a server's entries, None of a native log's."""
        self.entries += len(run.starts)
        ask = self._may_deliver
        if run.native:
            self.in_records.note_restart(segment, run)
            self._touched = self._touched or may_give_rows(run, ask.change, schema_rows=ask.schema_rows)
            return None
        self._touched = self._touched or any(map(ask.mutation, payloads(run)))
        ids = FirstIds(run)
        if self._met is not None:
            self._met.note(segment, run, ids.tables(), unread=not self._inside.known(run, ids))
        return ids

    def learn_collected(self, planned: Position | None, upto: Position | None = None) -> None:
        """Learn what was collected. What lies at or before `planned` counts from there on, the rest from its end.
        `upto`: what cannot be decoded raises its error when reading comes so far; until then it stays collected.

        A native log's definitions count where they stand, planned or not: nothing else goes by their keys. What raises
        an error is collected still, and raises it again.
        """
        self._add(self.in_records.learnt(self._history, self._refuse))
        records: list[SchemaRecord] = []
        digests: dict[bytes, Position] = {}
        later: dict[Position, _Found] = {}
        first: DefinitionError | None = None
        for _, item in sorted(self._pending.items()):
            try:
                changes = self._decode(item)
            except DefinitionError as error:
                if first is None and (upto is None or item.start < upto):
                    first = error
                later[item.end] = item
                continue
            if not changes:
                continue
            late = planned is not None and item.end <= planned
            at, found_at = (planned, item.end) if planned is not None and late else (item.end, None)
            digest = _digest(LOG, changes)
            if self._is_news(digest, at, digests) or (late and self._counts_behind_only(digest, item.end, digests)):
                digests[digest] = min(at, digests.get(digest, at))
                size = item.end.offset - item.start.offset
                records.append(SchemaRecord(at=at, source=LOG, deltas=changes, found=found_at, size=size))
        self._add(records)
        self._pending = later
        self.in_records.pending.clear()
        if first is not None:
            raise first

    def add(self, changes: Iterable[SchemaDelta], source: str, at: Position, *, asked: int = 0) -> bool:
        """What a file or a server says, valid from `at`; whether that is news. `asked`: see `SchemaRecord`."""
        record = SchemaRecord(at=at, source=source, deltas=tuple(changes), asked=asked)
        if self._is_news(_digest(source, record.deltas), at):
            return self.add_records([record])
        if self._history.merge(self._history.state_at(at), record):
            # Known, but overruled or taken back since: who gives it again wants it to count.
            return self.add_records([msgspec.structs.replace(record, again=self._taken)])
        return False

    def add_records(self, records: Sequence[SchemaRecord]) -> bool:
        """Journal what was found outside the log; whether a definition changed by that."""
        generation, before = self._history.version
        self._add(records)
        return self._history.version != (generation, before)

    def additions(
        self, response: Sequence[SchemaDelta], at: Position, *, bounded: bool = False
    ) -> tuple[list[SchemaDelta], bool]:
        """The rows of a server's response that change a definition at a position, as the response has them. `bounded`:
        without those of tables, and types, of which one is newer than the next change that the log shows; and whether
        there are such."""
        in_force = self._history.in_force(response, at)
        found, later = additions(self._history.state_at(at), in_force), set[object]()
        if bounded and (own := self._history.shown_behind(at)):
            next_change = max(map(written, own[0].deltas))
            later = {place_of(delta) for delta in found if written(delta) >= next_change}
            found = [delta for delta in found if place_of(delta) not in later]
        added = {key_of(delta) for delta in found}
        places = {(key[1], key[2][0]) for key in added if key[0] != "types"}
        whole = (d for d in response if d.table != "types" and (d.keyspace, d.clustering[0]) in places)
        return [*whole, *(d for d in response if d.table == "types" and key_of(d) in added)], bool(later)

    def at(self, span: Span) -> SpanDefinitions:
        """The definitions that the rows of a span need, by what is known now."""
        since = self._unread_since
        return self._at_spans.of(span)._replace(lacks_some=since is not None and since <= span.segment)

    def latest(self) -> Mapping[str, TableDefinition]:
        """The newest definition of every user table, by id."""
        return self._history.newest

    def newest_of(self, id: str) -> TableDefinition | None:
        """The newest definition of one table, by its id as 32 hex digits; of the server's own tables too."""
        return self._history.newest_of(id) or builtin().get(id)

    def is_newest(self, key: bytes, at: Position) -> bool:
        """Whether a native log's table had the definition of this key last, at a position."""
        return self._history.native.key(key[:TABLE_ID_BYTES].hex(), at) == key.hex()

    def typed(self, table: str, start: Position, options: TypedOptions) -> TypedTable:
        """The typed form of rows from `start` on, by what is known now. DefinitionError if nothing defines it."""
        of_name = [known for known in self.latest().values() if known.name == table]
        if not of_name:
            raise nothing_defines((table,), self.latest().values(), may_come=False)
        earlier = [known for known in self._history.as_of(start).values() if known.name == table]
        later = [event.changed.values() for event in self._history.events if event.at > start]
        earlier += [known for changed in later for known in changed if known.name == table]
        newest = max(of_name, key=lambda known: (not known.dropped, self._since(known.id)))
        ages, native = self._history.column_ages(newest.id), newest.id in self._history.native
        return typed_table(newest, earlier, options, ages, native=native)

    def key_begins(self, table: str) -> Position | None:
        """Where the newest table of a name was created, or got the types of its key; None where nothing defines it."""
        key, begins = None, None
        for event in self._history.events:
            for known in event.changed.values():
                if known.name == table:
                    types = [column.type for column in (*known.partition_key, *known.clustering)]
                    now = None if known.dropped else (known.id, types)
                    if now is not None and now != key:
                        begins = event.at
                    key = now
        return begins

    def wide(self, at: Position) -> bool:
        """Whether wanted rows from a position on may lie in segments without an idx file: a named table did not capture
        there or later, or nothing defines it yet. Its newest definition alone would depend on what others have read."""
        history = self._history
        version = history.version_at(at), history.version
        if self._wide is None or self._wide[0] != version:
            # Asked for at each look, and there may be thousands of tables.
            later = [held for event in history.events if event.at > at for held in event.changed.values()]
            known = [*history.newest_at(at).values(), *later]
            names = {held.name for held in (*builtin().values(), *known)}
            wide = self._selection.wide(held for held in known if not held.dropped)
            self._wide = version, wide or bool(undefined(self._selection.tables, names))
        return self._wide[1]

    def take_notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return [*notices, *self.durability.take_notices()]

    def _since(self, id: str) -> Position:
        return BEGINNING if (event := self._history.source_of(id)) is None else event.at

    def catch_up(self) -> None:
        """`sync`, with what others have journaled by now."""
        self._journal.refresh()
        self.sync()

    def sync(self) -> None:
        """Take in what the journal has beyond what is known here: this run's own records, and those of others."""
        if self._journal.count == self._taken:
            return
        count = self._journal.count
        if count < self._taken:
            raise RefusedError(
                "the state folder was deleted or replaced while it was in use",
                expected=f"{self._taken} records in the journal",
                found=count,
                remedy="Start again; with a new consumer or checkpoint if it is gone.",
            )
        fresh, self._taken = self._journal.read(upto=count, after=self._taken), count
        before = len(self._history.events)
        self._history.extend(fresh)
        self._note_digests(fresh)
        for event in self._history.events[before:]:
            self._notices.extend(self._about.about(event.changed.values()))

    def _refuse(self, error: CdcError, at: Position, record: Definition | None) -> None:
        if not self._tolerant:
            raise error
        if record is None or self._selection.wants(without_columns(record)):
            self._unread_since = min(at.segment, at.segment if self._unread_since is None else self._unread_since)
        self._leave_out(at, f"a definition at {at} was left out: {error.sentence()}")

    def _leave_out(self, at: Position, notice: str) -> None:
        self.left_out.add(at.segment)
        self._notices.append(notice)

    def _add(self, records: Sequence[SchemaRecord | DefinitionRecord]) -> None:
        if records:
            now = int(self._wall() * 1_000_000)
            self._journal.append([
                msgspec.structs.replace(each, learnt=now) if isinstance(each, SchemaRecord) else each
                for each in records
            ])  # fmt: skip
            self.sync()

    def _is_news(self, digest: bytes, at: Position, others: Mapping[bytes, Position] = MappingProxyType({})) -> bool:
        """Unless the same is known from this position or an earlier one; `others`: what is about to be known."""
        known = [each[digest] for each in (self._digests, others) if digest in each]
        return not known or min(known) > at

    def _counts_behind_only(self, digest: bytes, end: Position, others: Mapping[bytes, Position]) -> bool:
        """Whether a late change is known from further on alone, so that the segment's own rows would miss it."""
        if not self._is_news(digest, end, others) or any(at == end for at, _ in self._history.late(end.segment)):
            return False
        told = self._schema_records(self._journal.read(upto=self._taken))
        same = {record.n for record in told if _digest(record.source, record.deltas) == digest}
        # One that was taken back stays so.
        return same.isdisjoint(self._journal.retracted)

    def _note_digests(self, records: Iterable[AnyRecord]) -> None:
        for record in self._schema_records(records):
            digest = _digest(record.source, record.deltas)
            self._digests[digest] = min(record.at, self._digests.get(digest, record.at))

    def _schema_records(self, records: Iterable[AnyRecord]) -> Iterator[SchemaRecord]:
        return (each for each in records if isinstance(each, SchemaRecord) and affects(each, self._consumer))

    def _decode(self, found: _Found) -> tuple[SchemaDelta, ...]:
        prepared = _schema_tables()
        index = scan(found.payload, [0], [len(found.payload)], prepared.scan_tables)
        try:
            if index.stopped.status != Status.OK:
                place = Place("", found.start.segment, [found.start.offset])
                raise explain(index, found.payload, prepared, place)
            return self.durability.without_durable(deltas(neutral_rows(index, found.payload, prepared)))
        except DefinitionError as error:
            placed = error if error.at is not None else _placed(error, found.start)
            if not self._tolerant:
                raise placed from None
            self._leave_out(found.start, f"a schema change at {found.start} was left out: {placed.sentence()}")
            return ()


def _placed(error: DefinitionError, at: Position) -> DefinitionError:
    return DefinitionError(
        error.what,
        at=at,
        expected=error.expected,
        found=error.found,
        remedy="Leave this change out with --on-error quarantine, and give the definitions with --schema or --server.",
    )


def _digest(source: str, changes: tuple[SchemaDelta, ...]) -> bytes:
    return blake2b(source.encode() + msgspec.json.encode(changes, order="sorted"), digest_size=16).digest()


@cache
def _schema_tables() -> Prepared:
    known = builtin()
    followed = [table for table, definition in known.items() if definition.keyspace == "system_schema"]
    return prepare(known, (), followed=followed)


@cache
def _schema_ids() -> frozenset[bytes]:
    known = builtin()
    return frozenset(bytes.fromhex(table) for table, held in known.items() if held.keyspace == "system_schema")
