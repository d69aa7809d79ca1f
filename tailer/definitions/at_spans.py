"""The definitions that the rows of a span need, as a history of definitions has them.

A function of the history and the span: the planner's process, and any later one that knows the same journal records,
find the same. Opens nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import NamedTuple

from tailer.definitions.history import DefinitionHistory
from tailer.position import Position, Span
from tailer.reading.task import Change, DefinitionsById
from tailer.schema.builtin import builtin_definitions
from tailer.schema.model import TableDefinition
from tailer.state.journal_records import LOG


@cache
def builtin() -> Mapping[str, TableDefinition]:
    """Definitions that need no source."""
    return builtin_definitions()


class SpanDefinitions(NamedTuple):
    """Definitions as of a span's start, and their changes inside it; `lacks_some`: see `ReadTask`."""

    valid: DefinitionsById
    changes: tuple[Change, ...]
    lacks_some: bool = False


class DefinitionsAtSpans:
    """Finds them in a history, which may grow in between."""

    def __init__(self, history: DefinitionHistory) -> None:
        self._history = history
        self._as_of: tuple[tuple[int, int], DefinitionsById] | None = None

    def of(self, span: Span) -> SpanDefinitions:
        """The definitions that the rows of a span need."""
        history, appeared = self._history, self._history.stands_behind(span.segment) is not None
        if history.late(span.segment) or (appeared and not history.native):
            return self._late_definitions(span)
        return SpanDefinitions(self._valid(span), self._changes(span))

    def _valid(self, span: Span) -> DefinitionsById:
        """As of the span's start, the same object as long as nothing changed: what was compiled for it serves again."""
        at = Position(span.segment, span.start)
        version = self._history.version_at(at)
        if self._as_of is None or self._as_of[0] != version:
            self._as_of = version, {**builtin(), **self._history.as_of(at)}
        return self._as_of[1]

    def _changes(self, span: Span) -> tuple[Change, ...]:
        # One past the end: the change that the span's last entry makes has its schema row here.
        start, end = Position(span.segment, span.start), Position(span.segment, span.end + 1)
        events = self._history.changes(start, end)
        return tuple(Change(event.at.offset, event.changed, event.source == LOG) for event in events)

    def _late_definitions(self, span: Span) -> SpanDefinitions:
        """For a segment behind the position: its own changes count inside it, whatever was planned meanwhile."""
        start, end = Position(span.segment, span.start), Position(span.segment, span.end)
        if (behind := self._history.stands_behind(span.segment)) is not None:
            state, own = self._history.state_before(span.segment, behind), []
        else:
            state, inside = self._history.state_at(start), self._history.records(start, end)
            own = [(record.at, partial(self._history.merge, state, record)) for record in inside]
        for at, deltas in self._history.late(span.segment):
            if at <= start:
                state.apply(deltas)
            elif at <= end:
                own.append((at, partial(state.apply, deltas)))
        base: DefinitionsById = {**builtin(), **state.definitions}
        made = [Change(at.offset, apply()) for at, apply in sorted(own, key=lambda item: item[0])]
        return SpanDefinitions(base, tuple(change for change in made if change.definitions))
