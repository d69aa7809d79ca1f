"""Changes of definitions that no entry tells which is read, as change rows.

What changed in a segment that vanished unread another consumer's journal may have, a server, or another node's log; and
a second CREATE shows the DROP before it. Pure functions of a history of definitions and of what is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from tailer.definitions.event import DefinitionEvent
from tailer.definitions.evidence import created_capturing
from tailer.definitions.history import DefinitionHistory
from tailer.position import Position, Span
from tailer.rows.batch import COLUMNS, ChangeBatch
from tailer.rows.place import Place
from tailer.rows.schema_row import schema_batch
from tailer.schema.masks import NO_MASKS, Masks
from tailer.schema.model import TableDefinition
from tailer.schema.record_definitions import is_native
from tailer.schema.selection import Selection
from tailer.schema.told import told_definition, told_text
from tailer.state.journal_records import LOG, SERVER

FOUND: Final = "found:"
"""So begins the `event_id` of a row that is of no entry."""


class ReadPart(NamedTuple):
    """Rows that are read: those of `spans`, from behind `start` up to `end`. `begun`: where reading began once.
    `known`: how many journal records counted for what was read before. `several`: rows of other nodes come too, and
    only the time of a CREATE tells which of several tables with one id it is that another log has shown."""

    node: str
    start: Position
    end: Position
    spans: Sequence[Span]
    begun: Position
    known: int
    selection: Selection
    masks: Masks = NO_MASKS
    several: bool = False


def untold(history: DefinitionHistory, part: ReadPart) -> list[ChangeBatch]:
    """The rows that the entries of the part do not have. All of them, for images and keepers of tables, in no order
    but that of their places."""
    late = _late(history, part) if part.known < history.newest_number else []
    made = [batch for event in late for batch in _rows(history, event, event.changed, part)]
    for event in history.between(part.start, part.end):
        known = ((id, history.before(id, event)) for id in event.changed if not is_native(id))
        made += _rows(history, event, {id: held for id, held in known if held is not None}, part)
    return [batch for batch in made if len(batch)]


def is_found(event_id: str) -> bool:
    """Whether a row is of no entry."""
    return event_id.startswith(FOUND)


def ended_before(event: DefinitionEvent) -> Position:
    """Where rows tell of a DROP that is known by the CREATE behind it (`DefinitionEvent.again`): what stands before is
    of the earlier table. No entry begins there: none begins so shortly before another one, or before the end of a
    file's header."""
    at = _place_of(event)
    return Position(at.segment, at.offset - 2)


def _place_of(event: DefinitionEvent) -> Position:
    """Where the rows of an event stand: where its entry begins, or before all entries that it counts for."""
    return event.start or Position(event.at.segment, max(event.at.offset - 1, 2))


def _late(history: DefinitionHistory, part: ReadPart) -> list[DefinitionEvent]:
    """What became known only now of what was read before: definitions that live, as of where that ended."""
    late = [event for event in history.between(Position(-1, 0), part.start) if event.n > part.known]
    found: dict[str, DefinitionEvent] = {}
    # As of where reading stands: what is told of there is not undone by what was true before.
    for event in late:
        for id in event.changed:
            held = history.definition_at(id, part.start)
            if held is not None and not held.dropped:
                found[id] = DefinitionEvent(part.start, {id: held}, SERVER, event.n)
    return [*found.values()]


def _rows(
    history: DefinitionHistory, event: DefinitionEvent, before: Mapping[str, TableDefinition], part: ReadPart
) -> Iterator[ChangeBatch]:
    """`before`: what the tables were, as far as that is known."""
    yield _ended(history, event, before, part)
    changed = {id: held for id, held in event.changed.items() if not is_native(id)}
    yield _created(history, event, changed, part)
    told = _told_by_entry(history, event, part)
    # Of a table that does not capture any more no entry has a row.
    left = {id: held for id, held in changed.items() if not told or (held.dropped and not before.get(id, held).cdc)}
    if left:
        known = {id: before[id] for id in left.keys() & before.keys()}
        known |= {id: _captured(history, held, event) for id, held in known.items() if left[id].dropped}
        made = schema_batch(left, known, part.selection, _place(part, _place_of(event)), part.masks)
        made = _capturing_from_here(made, {id for id, held in known.items() if _begins(history, held, event, part)})
        yield made if event.start is not None else _found(made)


def _ended(
    history: DefinitionHistory, event: DefinitionEvent, before: Mapping[str, TableDefinition], part: ReadPart
) -> ChangeBatch:
    """The DROPs that only the CREATE behind them shows."""
    again = {id: time for id, time in event.again.items() if id in before and not before[id].dropped}
    gone = {id: msgspec.structs.replace(before[id], dropped=True, dropped_time=time) for id, time in again.items()}
    known = {id: _captured(history, before[id], event) for id in again}
    return _found(schema_batch(gone, known, part.selection, _place(part, ended_before(event)), part.masks))


def _place(part: ReadPart, at: Position) -> Place:
    return Place(part.node, at.segment, [at.offset])


def _created(
    history: DefinitionHistory, event: DefinitionEvent, changed: Mapping[str, TableDefinition], part: ReadPart
) -> ChangeBatch:
    """The tables that an entry of the log creates, with the time of that (`write_ts`)."""
    if not part.several or event.source != LOG:
        return ChangeBatch.of(())
    times = {id: history.created_in(id, event) for id, held in changed.items() if not held.dropped}
    made = {id: changed[id] for id, time in times.items() if time is not None}
    at = ended_before(event)
    place = _place(part, Position(at.segment, at.offset + 1))
    batch = _found(schema_batch(made, {}, part.selection, place, part.masks))
    return _with(batch, write_ts=[times[_digits(id)] for id in batch.column("table_id")])


def _told_by_entry(history: DefinitionHistory, event: DefinitionEvent, part: ReadPart) -> bool:
    if event.source != LOG:
        return False
    if event.start is None:
        record = history.record_of(event)
        if record is not None and record.found is not None:
            # The segment in which it was met is read too, late.
            return True
    at = event.at
    return any(span.segment == at.segment and span.start < at.offset <= span.end for span in part.spans)


def _captured(history: DefinitionHistory, held: TableDefinition, event: DefinitionEvent) -> TableDefinition:
    """A table, as capturing if it ever did: then somebody may keep rows of it."""
    ever = any(each.cdc for at, each in history.versions_of(held.id) if at <= event.at)
    return msgspec.structs.replace(held, cdc=held.cdc or ever)


def _begins(history: DefinitionHistory, earlier: TableDefinition, event: DefinitionEvent, part: ReadPart) -> bool:
    """Whether rows of a table that was created again may have been written without capture: its CREATE was not read,
    and no response shows that it captured from then on."""
    id = earlier.id
    if not (earlier.dropped or id in event.again):
        return False
    if history.last_created(id, event.at) == event.at:
        return False
    record = history.record_of(event)
    shown = history.source_of(id, Position(event.at.segment, event.at.offset - 1))
    if record is None or shown is None or shown.source != LOG or not record.source.startswith(SERVER):
        return True
    return shown.at <= part.begun or not created_capturing(record.deltas, id)


def _capturing_from_here(batch: ChangeBatch, ids: Collection[str]) -> ChangeBatch:
    def text(id: str, told: str | None) -> str | None:
        begins = told is not None and _digits(id) in ids
        return told_text(told_definition(told), capture_begins=True) if told is not None and begins else told

    return _with(batch, columns=list(map(text, batch.column("table_id"), batch.column("columns")))) if ids else batch


def _found(batch: ChangeBatch) -> ChangeBatch:
    return _with(batch, event_id=[FOUND + id for id in batch.column("event_id")])


def _with(batch: ChangeBatch, **values: list[Any]) -> ChangeBatch:
    """The batch with other values in some columns."""
    return ChangeBatch(tuple(values.get(name, held) for name, held in zip(COLUMNS, batch.columns, strict=True)))


def _digits(id: str) -> str:
    return id.replace("-", "")
