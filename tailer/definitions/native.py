"""The definitions of a native log's tables: each of its segments defines the tables that it has rows of."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from tailer.position import Position
from tailer.schema.model import TableDefinition
from tailer.state.journal_records import DefinitionRecord


class NativeDefinitions:
    """By table, the records of its definitions in the order of their positions."""

    def __init__(self) -> None:
        self._records: dict[str, list[DefinitionRecord]] = {}

    def __contains__(self, id: str) -> bool:
        return id in self._records

    def __bool__(self) -> bool:
        return bool(self._records)

    def put(self, record: DefinitionRecord) -> None:
        """The next one."""
        self._records.setdefault(record.definition.id, []).append(record)

    def newest(self) -> dict[str, TableDefinition]:
        """The newest definition of every table, by table id."""
        return {id: held[-1].definition for id, held in self._records.items()}

    def newest_of(self, id: str) -> TableDefinition | None:
        """The newest definition of one table; None for one of a server."""
        held = self._records.get(id)
        return held[-1].definition if held else None

    def newest_at(self, at: Position) -> dict[str, TableDefinition]:
        """The definition that every table had last at a position, by table id."""
        found = {id: self._last(id, at) for id in self._records}
        return {id: record.definition for id, record in found.items() if record is not None}

    def key(self, id: str, at: Position) -> str | None:
        """The key of the definition that a table had last at a position; None if none is known that early."""
        record = self._last(id, at)
        return None if record is None else record.key

    def versions(self, id: str) -> list[tuple[Position, TableDefinition]]:
        """All definitions of a table, each with where it begins."""
        return [(record.at, record.definition) for record in self._records[id]]

    def column_ages(self, id: str) -> Mapping[str, int]:
        """When each column of a table came, as numbers to compare."""
        ages: dict[str, int] = {}
        for number, record in enumerate(self._records[id]):
            ages = {column.name: number for column in record.definition.columns} | ages
        return ages

    def _last(self, id: str, at: Position) -> DefinitionRecord | None:
        held = self._records.get(id, [])
        count = bisect_right(held, at, key=lambda record: record.at)
        return held[count - 1] if count else None
