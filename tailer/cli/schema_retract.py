"""`schema retract`: takes a wrong definition back in the journal, and tells what that changes. Reads no log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from tailer.cli.schema_facts import SourceFacts
from tailer.cli.schema_text import source_text
from tailer.cli.schema_words import changes
from tailer.definitions.history import DefinitionHistory
from tailer.position import Position
from tailer.schema.model import TableDefinition
from tailer.sinks.text import printable
from tailer.state.affected import consumer_of
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal_records import RetractRecord, SchemaRecord
from tailer.state.log_folder import log_state

Course = list[tuple[Position, TableDefinition]]
"""One table's definitions, each with the position it is valid from."""


def retract(folder: Path, number: int, state: Path | None) -> list[str]:
    """Journal the retraction, durably; gives the lines that tell of it. UsageError where it is no schema record."""
    journal = FolderJournal(log_state(folder, state))
    before_that = number in journal.retracted
    journal.append_retract(number)
    records = journal.read()
    (record,) = journal.read(upto=number, after=number - 1)
    assert isinstance(record, SchemaRecord)
    lines = [source_text(SourceFacts(str(record.at), record.source, number, retracted=True))]
    if before_that:
        return [*map(printable, lines), "    it was retracted before: nothing changes"]
    others = [each for each in records if not (isinstance(each, RetractRecord) and each.of == number)]
    told = list(_differences(*(DefinitionHistory(each, consumer_of(record)) for each in (others, records))))
    lines += [f"    {line}" for line in told or ["no definition changes by that"]]
    return [printable(line) for line in lines]


def _differences(before: DefinitionHistory, after: DefinitionHistory) -> Iterator[str]:
    """Table by table: how the newest definition changes, or that only earlier ones do."""
    old, new = before.state.definitions, after.state.definitions
    for id in sorted(old.keys() | new.keys(), key=lambda id: (_name(old.get(id) or new.get(id)), id)):
        name = _name(old.get(id) or new.get(id))
        if old.get(id) != new.get(id):
            yield f"{name}: {'; '.join(changes(old.get(id), new.get(id)))}"
        elif (first := _parting(_course(before, id), _course(after, id))) is not None:
            yield f"{name}: the newest definition stays, those from {first} on change"


def _parting(was: Course, now: Course) -> Position | None:
    """The first position at which two courses differ, None if they are the same."""
    for one, other in zip_longest(was, now):
        if one != other:
            return min(each[0] for each in (one, other) if each is not None)
    return None


def _course(history: DefinitionHistory, id: str) -> Course:
    return [(event.at, event.changed[id]) for event in history.events if id in event.changed]


def _name(definition: TableDefinition | None) -> str:
    return definition.name if definition is not None else ""
