"""What `schema` tells: tables as of a position, the records they come from, and changes by position. Values only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from uuid import UUID

import msgspec

from tailer.cli.schema_words import changes
from tailer.definitions.at_spans import builtin
from tailer.definitions.event import DefinitionEvent
from tailer.definitions.whole_folder import Learnt
from tailer.position import Position
from tailer.schema.model import TableDefinition, TypeField
from tailer.schema.selection import Selection
from tailer.state.journal_records import SchemaRecord

BUILT_IN: Final = "built in"


class SourceFacts(msgspec.Struct, frozen=True):
    """A record that shaped a table: from `position` on, told by `source` (`log`, `file …`, `server …`).

    `record` is its number in the journal, null where it is not in there. A `retracted` one has no effect.
    """

    position: str
    source: str
    record: int | None
    retracted: bool = False


class ColumnFacts(msgspec.Struct, frozen=True):
    """A column; see `schema.model.Column`."""

    name: str
    kind: str
    type: str
    position: int
    desc: bool
    dropped: bool
    dropped_time: int | None


class DefinitionFacts(msgspec.Struct, frozen=True):
    """A definition with every field, `table_id` in the form of a change row."""

    keyspace: str
    table: str
    table_id: str
    cdc: bool
    view: bool
    counter: bool
    dropped: bool
    columns: list[ColumnFacts]
    types: Mapping[str, tuple[TypeField, ...]]


class TableFacts(DefinitionFacts, frozen=True):
    """A table as of the position asked for; valid `since` (null: built in). `sources` oldest first, when asked for."""

    since: str | None
    sources: list[SourceFacts] | msgspec.UnsetType = msgspec.UNSET


class ChangeFacts(msgspec.Struct, frozen=True):
    """What one record changed in one table, in words, and the definition it made; of a retracted one only its place."""

    position: str
    source: str
    record: int | None
    retracted: bool
    keyspace: str
    table: str
    changes: list[str]
    definition: DefinitionFacts | None


class Shown(msgspec.Struct, frozen=True):
    """A definition that was chosen, with its facts."""

    definition: TableDefinition
    facts: TableFacts


def chosen_tables(learnt: Learnt, selection: Selection, at: Position | None, *, sources: bool) -> list[Shown]:
    """The tables to show, by name; as of `at`, the newest if None. Without names all but the server's own."""
    held = learnt.history.newest if at is None else learnt.history.newest_at(at)
    known = {**builtin(), **held}
    chosen = [each for each in known.values() if selection.names(each)]
    shown = []
    for each in sorted(chosen, key=lambda each: (each.name, not each.dropped, each.id)):
        newest = learnt.history.source_of(each.id, at)
        since = None if newest is None else str(newest.at)
        told = table_sources(learnt, each, at) if sources else msgspec.UNSET
        shown.append(Shown(each, TableFacts(**msgspec.structs.asdict(_facts(each)), since=since, sources=told)))
    return shown


def table_sources(learnt: Learnt, table: TableDefinition, at: Position | None) -> list[SourceFacts]:
    """Every record that made the table what it is, and the retracted ones that name it, in order of positions."""
    events = [event for event in _events(learnt, at) if any(each.id == table.id for each in event.changed.values())]
    found = [(event.at, event.n, _of_event(learnt, event)) for event in events]
    for record in learnt.retracted:
        if (at is None or record.at <= at) and (table.keyspace, table.table) in record_tables(record):
            found.append((record.at, record.n, _of_record(record)))
    return [facts for _, _, facts in sorted(found, key=lambda item: item[:2])]


def changes_by_position(learnt: Learnt, selection: Selection, at: Position | None) -> list[ChangeFacts]:
    """All changes of the chosen tables up to `at`, retracted records among them."""
    found: list[tuple[tuple[Position, int], ChangeFacts]] = []
    before: dict[str, TableDefinition] = dict(builtin())
    for event in _events(learnt, at):
        for definition in sorted(event.changed.values(), key=lambda each: each.name):
            words = changes(before.get(definition.id), definition)
            before[definition.id] = definition
            if selection.names(definition):
                found.append(((event.at, event.n), _change(_of_event(learnt, event), definition, words)))
    for record in learnt.retracted:
        if at is None or record.at <= at:
            places = [place for place in sorted(record_tables(record)) if _named(selection, ".".join(place))]
            found += [((record.at, record.n), _retracted(record, *place)) for place in places]
    return [facts for _, facts in sorted(found, key=lambda item: item[0])]


def all_names(learnt: Learnt) -> set[str]:
    """`keyspace.table` of all tables that anything was ever said of, also what was taken back."""
    known = {definition.name for definition in (*builtin().values(), *learnt.history.newest.values())}
    return known | {".".join(place) for record in learnt.retracted for place in record_tables(record)}


def record_tables(record: SchemaRecord) -> set[tuple[str, str]]:
    """Keyspace and name of the tables that a record's rows are of."""
    named = [delta for delta in record.deltas if delta.table != "types" and delta.clustering]
    return {(delta.keyspace, delta.clustering[0]) for delta in named}


def _events(learnt: Learnt, at: Position | None) -> Iterator[DefinitionEvent]:
    return (event for event in learnt.history.events if at is None or event.at <= at)


def _named(selection: Selection, name: str) -> bool:
    """Whether a table is meant of which the name is all that is known."""
    keyspace, _, table = name.partition(".")
    return selection.names(TableDefinition("", keyspace, table, ()))


def _change(source: SourceFacts, definition: TableDefinition, words: list[str]) -> ChangeFacts:
    return ChangeFacts(
        source.position,
        source.source,
        source.record,
        False,
        definition.keyspace,
        definition.table,
        words,
        _facts(definition),
    )


def _retracted(record: SchemaRecord, keyspace: str, table: str) -> ChangeFacts:
    return ChangeFacts(str(record.at), record.source, record.n, True, keyspace, table, [], None)


def _of_event(learnt: Learnt, event: DefinitionEvent) -> SourceFacts:
    journalled = 0 < event.n <= learnt.journalled
    return SourceFacts(str(event.at), event.source, event.n if journalled else None)


def _of_record(record: SchemaRecord) -> SourceFacts:
    return SourceFacts(str(record.at), record.source, record.n, retracted=True)


def _facts(definition: TableDefinition) -> DefinitionFacts:
    columns = [
        ColumnFacts(each.name, each.kind, each.type, each.position, each.desc, each.dropped, each.dropped_time)
        for each in definition.columns
    ]
    return DefinitionFacts(
        definition.keyspace,
        definition.table,
        str(UUID(definition.id)),
        definition.cdc,
        definition.view,
        definition.counter,
        definition.dropped,
        columns,
        definition.types,
    )
