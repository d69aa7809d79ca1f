"""What counts in segments that the log's order alone does not place: changes met behind the planner, and segments that
appeared below others.

A change that was met behind the planner counts in its own segment from where it stood, and everywhere else from where
the planner was. A segment that appeared below others begins with what counted behind them. Values in, values out.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Final

import msgspec

from tailer.definitions.event import DefinitionEvent
from tailer.position import Position
from tailer.schema.model import TableDefinition
from tailer.schema.rows import SchemaDelta
from tailer.state.journal_records import LOG, AppearedRecord, DefinitionRecord, SchemaRecord

Placed = list[tuple[Position, TableDefinition]]
"""Definitions of one table, each with where it counts from."""

Begins = Callable[[int, Position], TableDefinition | None]

BEFORE_ALL: Final = Position(-1, 0)


class OutOfOrder:
    """Of one history of definitions."""

    def __init__(self) -> None:
        self._late: dict[int, list[SchemaRecord]] = {}
        self._behind: dict[int, Position] = {}

    def note(self, record: SchemaRecord | AppearedRecord) -> None:
        if isinstance(record, AppearedRecord):
            self._behind.setdefault(record.segment, Position(record.behind + 1, 0))
        elif record.found is not None:
            self._late.setdefault(record.found.segment, []).append(record)

    def moves(self, record: AppearedRecord, known: list[SchemaRecord | DefinitionRecord]) -> bool:
        """Note it; whether something that is known already counts from elsewhere by that. It is replaced then."""
        self.note(record)
        moved = False
        for number, each in enumerate(known):
            if isinstance(each, SchemaRecord) and (placed := self.placed(each)) is not each:
                known[number], moved = placed, True
                self.note(placed)
        return moved

    def take(self, record: SchemaRecord) -> SchemaRecord:
        """Note a record; as it counts (see `placed`)."""
        placed = self.placed(record)
        self.note(placed)
        return placed

    def placed(self, record: SchemaRecord) -> SchemaRecord:
        """A record as it counts: what stands in a segment that appeared below others counts behind these. Somebody met
        it in its turn, or was told to read the segment before others that it stands behind."""
        stands = record.found or record.at
        behind = self._behind.get(stands.segment)
        if behind is None or record.source != LOG or (record.found is not None and record.at >= behind):
            return record
        return msgspec.structs.replace(record, at=behind, found=stands)

    def stands_behind(self, segment: int) -> Position | None:
        """Where the definitions that a segment begins with are those of, if it appeared below what was there before
        it; None for all others."""
        return self._behind.get(segment)

    def late(self, segment: int, retracted: Container[int]) -> list[tuple[Position, tuple[SchemaDelta, ...]]]:
        """Changes that were met in a segment when the planner was past them: where they stood, in order."""
        held = [record for record in self._late.get(segment, ()) if record.n not in retracted]
        return sorted(((record.found or record.at, record.deltas) for record in held), key=lambda item: item[0])

    def apart(self, records: Sequence[SchemaRecord], segment: int) -> tuple[list[SchemaRecord], list[SchemaRecord]]:
        """Those that count before a segment that appeared below others, and those that stand in it, or in one that
        appeared behind it."""
        behind, before, inside = self._behind.get(segment), list[SchemaRecord](), list[SchemaRecord]()
        for record in records:
            found = 0 if record.found is None else record.found.segment
            (inside if found >= segment and self._behind.get(found) == behind else before).append(record)
        return before, inside

    def versions(self, events: Sequence[DefinitionEvent], id: str, begins: Begins) -> Placed:
        """All versions of a table by place, from the changes of its definition in order. `begins`: its definition at
        the beginning of a segment that appeared behind a position."""
        changed = {event.n: event.changed[id] for event in events if event.n}
        made: Placed = [(each.start or each.at, each.changed[id]) for each in events]
        for segment in sorted({*self._late, *self._behind}):
            own = [(r.found or r.at, changed[r.n]) for r in self._late.get(segment, ()) if r.n in changed]
            behind = self._behind.get(segment)
            if behind is not None and (first := begins(segment, behind)) is not None:
                own.insert(0, (Position(segment, 0), first))
            if own:
                made = _put(made, segment, own)
        return made


def _put(made: Placed, segment: int, own: Placed) -> Placed:
    end = Position(segment + 1, 0)
    inside = [version for version in made if version[0] < end]
    after = [(end, inside[-1][1])] if inside else []
    return [*sorted([*inside, *own], key=lambda version: version[0]), *after, *made[len(inside) :]]
