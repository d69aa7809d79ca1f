"""`schema` for people: tables as CQL or one line each, sources, and changes by position. Reads nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from tailer.cli.schema_cql import table_lines, type_lines
from tailer.cli.schema_facts import BUILT_IN, ChangeFacts, Shown, SourceFacts, TableFacts
from tailer.definitions.learning import BEGINNING
from tailer.schema.model import TypeField
from tailer.sinks.text import aligned, printable

_HEAD: Final = ["TABLE", "CDC", "COLUMNS", "SINCE", ""]
_BEGINNING: Final = str(BEGINNING)


def full_lines(tables: Sequence[Shown]) -> Iterator[str]:
    """Each table as CQL with comments, behind the types that it needs; a type is shown again only if it differs."""
    types: dict[tuple[str, str], tuple[TypeField, ...]] = {}
    for number, shown in enumerate(tables):
        definition = shown.definition
        if number:
            yield ""
        fresh = {name for name, fields in definition.types.items() if types.get((definition.keyspace, name)) != fields}
        types |= {(definition.keyspace, name): definition.types[name] for name in fresh}
        lines = [*_comments(shown), *type_lines(definition, fresh), *table_lines(definition)]
        yield from map(printable, lines)


def summary_lines(tables: Sequence[Shown], *, sources: bool) -> Iterator[str]:
    """One line a table; with `sources` what each comes from below it."""
    rows = [_HEAD]
    for shown in tables:
        facts = shown.facts
        live = sum(not column.dropped for column in facts.columns)
        name = printable(shown.definition.name)
        rows.append([name, "yes" if facts.cdc else "no", str(live), _since(facts.since), ", ".join(_marks(facts))])
    head, *lines = aligned(rows, frozenset({2}))
    yield head
    for line, shown in zip(lines, tables, strict=True):
        yield line
        if sources:
            yield from (f"    {line}" for line in _source_lines(shown.facts))


def change_lines(found: Sequence[ChangeFacts]) -> Iterator[str]:
    """A line for each position and record, below it the tables with what changed in each."""
    for source, each in groupby(found, key=lambda facts: (facts.position, facts.source, facts.record, facts.retracted)):
        yield printable(source_text(SourceFacts(*source)))
        for facts in each:
            words = f": {'; '.join(facts.changes)}" if facts.changes else ""
            yield printable(f"    {facts.keyspace}.{facts.table}{words}")


def source_text(source: SourceFacts) -> str:
    """`log at 17952:123, record 4`."""
    number = "not in the journal" if source.record is None else f"record {source.record}"
    retracted = ", retracted" if source.retracted else ""
    return f"{_since(source.position)}: {source.source}, {number}{retracted}"


def _comments(shown: Shown) -> Iterator[str]:
    facts = shown.facts
    marks = "".join(f", {mark}" for mark in _marks(facts))
    yield f"-- {shown.definition.name}{marks}, since {_since(facts.since)}"
    yield from (f"-- {line}" for line in _source_lines(facts))


def _source_lines(facts: TableFacts) -> Iterator[str]:
    if isinstance(facts.sources, list):
        yield from (source_text(source) for source in facts.sources)


def _marks(facts: TableFacts) -> Iterator[str]:
    if facts.view:
        yield "a materialized view"
    if facts.counter:
        yield "counters"
    if facts.dropped:
        yield "dropped"


def _since(position: str | None) -> str:
    if position is None:
        return BUILT_IN
    return "the beginning" if position == _BEGINNING else position
