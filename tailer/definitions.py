"""Definitions beside the planner: learnt from the log in log order, from a file and from a server, and journalled
before the offset that needs them leaves (architecture section 5). Reads no segment: sections are handed to `collect`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

from tailer.change.compile import Compiled, compile_definitions
from tailer.change.explain import explain
from tailer.change.neutral import neutral_rows
from tailer.change.place import Place
from tailer.errors import DefinitionError
from tailer.format.entry import Entries
from tailer.format.index import Status
from tailer.format.scan import scan
from tailer.format.section import MARKER_BYTES, Section
from tailer.notices import DefinitionNotices
from tailer.position import Position, Span
from tailer.read import Change, Definitions, ReadTask
from tailer.schema.builtin import builtin_definitions
from tailer.schema.decode import deltas
from tailer.schema.history import DefinitionHistory
from tailer.schema.journal import Journal
from tailer.schema.model import TableDefinition
from tailer.schema.records import SchemaRecord
from tailer.schema.rows import SchemaDelta
from tailer.selection import Selection

BEGINNING: Final = Position(0, 0)
LOG: Final = "log"


class _Found(NamedTuple):
    """A schema mutation that was met: positions of its start and its end, and its bytes."""

    start: Position
    end: Position
    payload: bytes


class Known:
    """What is known of tables at each position; see the module."""

    def __init__(self, journal: Journal, selection: Selection, *, tolerant: bool) -> None:
        self._journal = journal
        self._selection = selection
        self._tolerant = tolerant
        self._records = list(journal.read())
        self._history = DefinitionHistory(self._records)
        self._digests = {_digest(r.source, r.deltas): r.at for r in self._records if isinstance(r, SchemaRecord)}
        self._pending: dict[Position, _Found] = {}
        self._late: dict[int, list[tuple[Position, tuple[SchemaDelta, ...]]]] = {}
        self._notices: list[str] = []
        self._about = DefinitionNotices(selection)
        self._notices.extend(self._about.about(self._history.state.definitions.values()))
        self._as_of: tuple[tuple[int, int], Definitions] | None = None
        self.complete = False

    @property
    def history(self) -> DefinitionHistory:
        return self._history

    def collect(self, segment: int, section: Section, data: bytes, entries: Entries) -> None:
        """Note the schema mutations among a section's entries (`source.reach.Collect`)."""
        ids = _schema_ids()
        for start, size in zip(entries.starts, entries.sizes, strict=True):
            # The first table id stands behind a count below 128 (format page 5.2).
            if data[start + 1 : start + 17] in ids:
                at = section.start + MARKER_BYTES + start
                end = Position(segment, at + size + 4)
                self._pending[end] = _Found(Position(segment, at - 8), end, data[start : start + size])

    def settle(self, planned: Position | None) -> None:
        """Learn what was collected. What lies at or before `planned` counts from there on, the rest from its end."""
        found = [self._pending[at] for at in sorted(self._pending)]
        self._pending.clear()
        records: list[SchemaRecord] = []
        for item in found:
            changes = self._decode(item)
            if not changes:
                continue
            at = item.end
            if planned is not None and at <= planned:
                self._late.setdefault(at.segment, []).append((at, changes))
                at = planned
            records.extend(self._fresh(at, LOG, changes))
        self._add(records)

    def add(self, changes: Iterable[SchemaDelta], source: str, at: Position) -> bool:
        """What a file or a server says, valid from `at`; whether that is news."""
        before = len(self._history.events)
        self._add(self._fresh(at, source, tuple(changes)))
        return len(self._history.events) != before

    def task(self, node: str, span: Span, *, schema_changes: bool) -> ReadTask:
        """The span with the definitions that its rows need."""
        start = Position(span.segment, span.start)
        base, changes = self._valid(start), self._changes(span)
        if span.segment in self._late:
            base, changes = self._late_definitions(span)
        return ReadTask(node, span, base, changes, self._selection, self.complete, schema_changes)

    def latest(self) -> Mapping[str, TableDefinition]:
        """The newest definition of every user table, by id."""
        return self._history.state.definitions

    def wide(self) -> bool:
        """Whether wanted rows may lie in segments without sidecar."""
        return self._selection.wide(self.latest().values())

    def take_notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices

    def _add(self, records: Sequence[SchemaRecord]) -> None:
        if records:
            numbers = self._journal.append(records)
            before = len(self._history.events)
            self._history.extend(
                msgspec.structs.replace(record, n=n) for record, n in zip(records, numbers, strict=True)
            )
            for event in self._history.events[before:]:
                self._notices.extend(self._about.about(event.changed.values()))

    def _fresh(self, at: Position, source: str, changes: tuple[SchemaDelta, ...]) -> list[SchemaRecord]:
        """The record, unless the same is known from this position or an earlier one."""
        digest = _digest(source, changes)
        known = self._digests.get(digest)
        if known is not None and known <= at:
            return []
        self._digests[digest] = at
        return [SchemaRecord(at=at, source=source, deltas=changes)]

    def _valid(self, at: Position) -> Definitions:
        """As of a position, the same object as long as nothing changed: what was compiled for it is used again."""
        version = self._history.version_at(at)
        if self._as_of is None or self._as_of[0] != version:
            self._as_of = version, {**builtin(), **self._history.as_of(at)}
        return self._as_of[1]

    def _changes(self, span: Span) -> tuple[Change, ...]:
        # One past the end: the change that the span's last entry makes has its schema row here.
        start, end = Position(span.segment, span.start), Position(span.segment, span.end + 1)
        events = self._history.changes(start, end)
        return tuple(Change(event.at.offset, event.changed) for event in events)

    def _late_definitions(self, span: Span) -> tuple[Definitions, tuple[Change, ...]]:
        """For a segment behind the position: its own changes count inside it, whatever was planned meanwhile."""
        state = self._history.state_at(Position(span.segment, 0))
        changes: list[Change] = []
        base: Definitions = {**builtin(), **state.definitions}
        for at, changed in sorted(self._late[span.segment], key=lambda item: item[0]):
            made = state.apply(changed)
            if at.offset <= span.start:
                base = {**base, **made}
            elif at.offset <= span.end:
                changes.append(Change(at.offset, made))
        return base, tuple(changes)

    def _decode(self, found: _Found) -> tuple[SchemaDelta, ...]:
        compiled = _schema_tables()
        index = scan(found.payload, [0], [len(found.payload)], compiled.scan_tables)
        try:
            if index.stopped.status != Status.OK:
                place = Place("", found.start.segment, [found.start.offset])
                raise explain(index, found.payload, compiled, place)
            return tuple(deltas(neutral_rows(index, found.payload, compiled)))
        except DefinitionError as error:
            if not self._tolerant:
                raise
            self._notices.append(f"a schema change at {found.start} was left out: {error.sentence()}")
            return ()


def _digest(source: str, changes: tuple[SchemaDelta, ...]) -> bytes:
    return blake2b(source.encode() + msgspec.json.encode(changes, order="sorted"), digest_size=16).digest()


@cache
def builtin() -> Mapping[str, TableDefinition]:
    """Definitions that need no source."""
    return builtin_definitions()


@cache
def _schema_tables() -> Compiled:
    known = builtin()
    followed = [table for table, definition in known.items() if definition.keyspace == "system_schema"]
    return compile_definitions(known, (), followed=followed)


@cache
def _schema_ids() -> frozenset[bytes]:
    known = builtin()
    return frozenset(bytes.fromhex(table) for table, held in known.items() if held.keyspace == "system_schema")
