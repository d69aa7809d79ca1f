"""What the schema records of a journal prove: when a table was created, which tables are older than a whole schema that
the node copied from the other nodes, and what a server's response added to an earlier one.

Pure functions of records.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from tailer.position import Position
from tailer.schema.follow import SchemaState
from tailer.schema.model import TableDefinition
from tailer.schema.rows import BASE_TS, SchemaDelta
from tailer.schema.taken_back import Key, concerning, creates, is_key_column, key_of, place_of, renames, taken_back
from tailer.state.journal_records import LOG, NODE, SERVER, DefinitionRecord, SchemaRecord


class SchemaChange(NamedTuple):
    """Rows of the schema that changed, and the position in this log from which they count. `copied`: they are a whole
    schema that the node copied from other nodes; each of them may be older than the copy."""

    at: Position
    deltas: Sequence[SchemaDelta]
    copied: bool = False


def added_by_responses(records: Iterable[SchemaRecord]) -> list[SchemaChange]:
    """The changes that server responses added to earlier ones. `records`: in the order in which they were journaled.

    A run requests all definitions when it begins, and again for each table and column that it does not know. So what a
    later response adds did not exist at the first request, and no entry before the later response's position uses it.
    A run that begins again between two gaps cannot tell in which of them a table was created, and puts it behind the
    second one. An entry of the table in between proves that it was the first: its response stands there.
    """
    records = [*records]
    first_at = _first_responses(records)
    found: list[SchemaChange] = []
    known: dict[Key, dict[str, int]] = {}
    whole = set[str]()
    first: Position | None = None
    for record in records:
        # All rows of a table that was not completely known are new, also those that an ALTER in the log wrote again.
        tables = creations(record.deltas).keys() - whole
        headings = (each for each in filter(_is_heading, record.deltas) if each.cells["id"][1] in tables)
        places = {place_of(each): str(each.cells["id"][1]) for each in headings}
        added = [delta for delta in record.deltas if place_of(delta) in places or _is_news(delta, known)]
        whole |= tables
        if record.source.startswith(SERVER) and record.asked:
            if first is not None and first <= record.at and added:
                early = {place: first_at[id] for place, id in places.items() if first_at.get(id, record.at) < record.at}
                found += [SchemaChange(at, [d for d in added if place_of(d) == place]) for place, at in early.items()]
                found.append(SchemaChange(record.at, [delta for delta in added if place_of(delta) not in early]))
            first = record.at if first is None else min(first, record.at)
        for delta in added:
            times = known.setdefault(key_of(delta), {})
            times.update({name: max(time, times.get(name, time)) for name, (time, _) in delta.cells.items()})
    return found


def _first_responses(records: Iterable[SchemaRecord]) -> dict[str, Position]:
    """The lowest position of a response that has all of a table, by its id. That of a run that begins, which stands
    before all entries, tells nothing of them."""
    found: dict[str, Position] = {}
    for record in records:
        if record.source.startswith(SERVER) and record.asked and record.at > Position(0, 0):
            for id in creations(record.deltas):
                found[id] = min(record.at, found.get(id, record.at))
    return found


def _is_news(delta: SchemaDelta, known: dict[Key, dict[str, int]]) -> bool:
    times = known.get(key_of(delta), {})
    return any(name not in times or times[name] < time for name, (time, _) in delta.cells.items())


class Evidence:
    """What a fixed list of schema records proves. `records`: in the order of their positions."""

    def __init__(self, records: Sequence[SchemaRecord]) -> None:
        self._records = records

    @cached_property
    def added(self) -> Sequence[SchemaChange]:
        """See `added_by_responses`."""
        # What is not journaled (0) is newer than all that is.
        return added_by_responses(sorted(self._records, key=lambda record: record.n or sys.maxsize))

    @cached_property
    def of_nodes(self) -> Sequence[SchemaChange]:
        """The changes of types, and the new names of key columns, that only other nodes' logs show. Other changes of
        tables and columns are left out: such a record may have a position behind rows that already use them."""
        told = ((r.at, types_and_names_in(r)) for r in self._records if r.source.startswith(NODE))
        return [SchemaChange(at, changes, is_taken_over(changes)) for at, changes in told]

    def before(self, response: Sequence[SchemaDelta], later: Iterable[SchemaChange], at: Position) -> list[SchemaDelta]:
        """A server's response without the changes that come later than a position. A whole schema that the node copied
        then created none of its tables there, and changed nothing that a statement of its own shows."""
        ordered = sorted(_without_repetitions(later), key=lambda change: change.at)
        known = concerning(response, (change.deltas for change in ordered))
        if not known:
            return [*response]
        copied = {id(change.deltas): change.at for change in ordered if change.copied}
        stated: list[Sequence[SchemaDelta]] = []
        for deltas in known:
            # Each row of a copied schema may be older than the copy, but for a RENAME whose old name is in use before.
            stated += self._renames_in(deltas, copied[id(deltas)]) if id(deltas) in copied else [deltas]
        older = self._may_be_older(response, at) if copied else set()
        others = [delta for delta in response if _name(delta) not in older]
        own = [delta for delta in response if _name(delta) in older]
        return [*taken_back(others, known), *taken_back(own, stated)]

    def _may_be_older(self, response: Sequence[SchemaDelta], at: Position) -> set[tuple[str, str]]:
        """The tables of a response, by name, of which no CREATE is shown up to a position."""
        shown, oldest = self._creations
        times, found = creations(response), set[tuple[str, str]]()
        for delta in filter(_is_heading, response):
            id = str(delta.cells["id"][1])
            # One that is created again with its id is another table.
            if (id not in shown or shown[id] > at) and times.get(id, BASE_TS) <= oldest.get(id, BASE_TS):
                found.add((delta.keyspace, delta.clustering[0]))
        return found

    def _renames_in(self, copied: Sequence[SchemaDelta], at: Position) -> list[Sequence[SchemaDelta]]:
        """The RENAMEs of key columns in a schema that the node copied at a position, each as the rows of the old and
        the new name. Only those whose old name an earlier record has."""
        found = renames(copied)
        if not found:
            return []
        before = [delta for record in self._records if shown_at(record) < at for delta in record.deltas]
        named = {key_of(delta) for delta in before if delta.cells and is_key_column(delta)}
        proven: list[Sequence[SchemaDelta]] = []
        for old, new in found:
            # A column that was renamed several times has a tombstone of each of its names in the copy.
            deleted = [d for d in copied if key_of(d) in named and not d.cells and place_of(d) == place_of(new)]
            known = [old] if key_of(old) in named else deleted
            if len(known) == 1:
                proven.append([msgspec.structs.replace(known[0], row_deletion=old.row_deletion), new])
        return proven

    @cached_property
    def _creations(self) -> tuple[Mapping[str, Position], Mapping[str, int]]:
        """By table id where this log or another node's shows a table first, and the oldest time (µs) of a CREATE."""
        shown: dict[str, Position] = {}
        oldest: dict[str, int] = {}
        for record in self._records:
            for id, time in creations(record.deltas).items():
                oldest[id] = min(time, oldest.get(id, time))
                if record.source == LOG or record.source.startswith(NODE):
                    at = shown_at(record)
                    shown[id] = min(at, shown.get(id, at))
        return shown, oldest


def _without_repetitions(given: Iterable[SchemaChange]) -> list[SchemaChange]:
    """The changes; a copied schema is without the rows that a statement among these wrote."""
    changes = [*given]
    if not any(change.copied for change in changes):
        return changes
    shown = {_written(delta) for change in changes if not change.copied for delta in change.deltas}
    return [
        each._replace(deltas=[d for d in each.deltas if _written(d) not in shown]) if each.copied else each
        for each in changes
    ]


def _written(delta: SchemaDelta) -> tuple[Key, frozenset[tuple[str, int]], int | None]:
    """A row as a statement wrote it, by the timestamps of its cells: the same in each copy."""
    return key_of(delta), frozenset((name, time) for name, (time, _) in delta.cells.items()), delta.row_deletion


def types_and_names_in(record: SchemaRecord) -> list[SchemaDelta]:
    """The rows of `types` in a record, and those of `columns` of a key column that it renames."""
    renamed = (delta for pair in renames(record.deltas) for delta in pair)
    return [*(delta for delta in record.deltas if delta.table == "types"), *renamed]


def is_taken_over(deltas: Iterable[SchemaDelta]) -> bool:
    """Whether changes are a whole schema that a node copied from other nodes because it missed a statement.

    A statement has one timestamp, a copied schema has those of all statements. A copied keyspace with one table can
    have a single timestamp too: then it looks like the CREATE."""
    return len({time for delta in deltas for time, _ in delta.cells.values()}) > 1


def creations(deltas: Iterable[SchemaDelta]) -> dict[str, int]:
    """By id the tables that changes hold all of, and when each was created (µs; see `time_of_create`)."""
    ids: dict[tuple[str, str], str] = {}
    times: dict[tuple[str, str], int] = {}
    whole = set[tuple[str, str]]()
    for delta in deltas:
        if _is_heading(delta):
            ids[delta.keyspace, delta.clustering[0]] = str(delta.cells["id"][1])
        elif delta.table == "columns" and "kind" in delta.cells:
            name, (time, kind) = (delta.keyspace, delta.clustering[0]), delta.cells["kind"]
            times[name] = min(time, times.get(name, time))
            whole |= {name} if kind == "partition_key" else set()
    return {id: times[name] for name, id in ids.items() if name in whole}


def drops(deltas: Iterable[SchemaDelta]) -> list[SchemaDelta]:
    """The changes by which a log drops tables and views, or all of a keyspace."""
    return [d for d in deltas if d.table in ("tables", "views") and not d.cells]


def alive(deltas: Iterable[SchemaDelta], state: SchemaState) -> dict[str, int]:
    """The live tables of keyspaces in which a log's changes drop something: by id when each was created (µs).

    A DROP ends only tables that are older. A copied schema has the tombstones of earlier tables and keyspaces too.
    """
    keyspaces = {delta.keyspace for delta in drops(deltas)}
    known = state.definitions.items() if keyspaces else ()
    there = [id for id, held in known if held.keyspace in keyspaces and not held.dropped]
    return {id: min(state.column_times(id).values(), default=BASE_TS) for id in there}


def ended_by(
    deltas: Iterable[SchemaDelta], born: Mapping[str, int], after: Mapping[str, TableDefinition]
) -> dict[str, int]:
    """By id the tables that changes of a log dropped although they exist after these, and when (µs): a response has the
    table that was created since with the same id. `born`: the tables before, as `alive` gives them."""
    found: dict[str, int] = {}
    for delta in drops(deltas) if born else ():
        for id, held in after.items():
            lives = id in born and not held.dropped and held.keyspace == delta.keyspace
            time = delta.row_deletion if delta.clustering == (held.table,) else delta.partition_deletion
            if lives and time is not None and time >= born[id]:
                found[id] = max(time, found.get(id, time))
    return found


def written(delta: SchemaDelta) -> int:
    """The highest timestamp in a change."""
    times = [ts for ts, _ in delta.cells.values()]
    times += [ts for ts in (delta.liveness, delta.row_deletion, delta.partition_deletion) if ts is not None]
    return max([*times, *([delta.range.ts] if delta.range is not None else [])], default=0)


def _name(delta: SchemaDelta) -> tuple[str, str] | None:
    return None if delta.table in ("types", "keyspaces") else (delta.keyspace, delta.clustering[0])


def _is_heading(delta: SchemaDelta) -> bool:
    return delta.table in ("tables", "views") and delta.cells.get("id", (BASE_TS, None))[1] is not None


def names_table(deltas: Iterable[SchemaDelta], id: str) -> bool:
    """Whether changes have the row of a table in `tables`, or `views`. `id`: as that row has it."""
    return any(delta.cells.get("id", (BASE_TS, None))[1] == id for delta in deltas)


def time_of_create(deltas: Collection[SchemaDelta], id: str) -> int:
    """When a table was created (µs), where changes hold all of it.

    Each ALTER writes the row of `tables` again, and a node that missed it logs the whole schema as it is now
    (`SchemaKeyspace.convertSchemaToMutations`). The oldest column is as old as the table.
    """
    names = {(delta.keyspace, *delta.clustering) for delta in deltas if delta.cells.get("id", (0, None))[1] == id}
    columns = (d for d in deltas if d.table == "columns" and (d.keyspace, *d.clustering[:1]) in names)
    times = [delta.cells["kind"][0] for delta in columns if "kind" in delta.cells]
    return min(times, default=BASE_TS)


def is_second(record: SchemaRecord, id: str, known: Sequence[SchemaRecord]) -> bool:
    """Whether a record of the log that holds all of a table shows a CREATE that the log has not shown before, of a
    table whose id an earlier table had. A copied schema repeats a CREATE. `known`: the records of the log, and those of
    responses, files and other nodes."""
    own = [r.deltas for r in known if r.source == LOG and creates(r.deltas, id) and shown_at(r) < shown_at(record)]
    reported = [r.deltas for r in known if r.source != LOG and r.at < record.at]
    made, shown = time_of_create(record.deltas, id), [time_of_create(deltas, id) for deltas in own]
    times = [*shown, *(time_of_create(deltas, id) for deltas in reported)]
    return made not in shown and any(BASE_TS < time < made for time in times)


def created_capturing(deltas: Collection[SchemaDelta], id: str) -> bool:
    """Whether changes that hold all of a table show that it captured from its CREATE on: each ALTER that sets `cdc`
    writes the row of `tables` again."""
    flags = (delta.cells.get("cdc") for delta in deltas if delta.cells.get("id", (0, None))[1] == id)
    return any(flag is not None and flag[1] is True and flag[0] == time_of_create(deltas, id) for flag in flags)


def shown_at(record: SchemaRecord) -> Position:
    """Where the log shows a record's changes."""
    return record.found or record.at


def start_of(record: SchemaRecord | DefinitionRecord) -> Position | None:
    """Where the entry begins that a record was made of; None where that is not known."""
    if isinstance(record, DefinitionRecord) or not record.size or record.found is not None:
        return None
    return Position(record.at.segment, record.at.offset - record.size)
