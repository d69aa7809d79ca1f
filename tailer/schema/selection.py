"""Which tables' rows are wanted: the tables that capture, or those the user named. Values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import msgspec

from tailer.schema.model import TableDefinition


class Selection(msgspec.Struct, frozen=True):
    """`tables`: globs of `keyspace.table`; empty = every table and view whose definition says `cdc = true`.

    Tables of `system*` keyspaces are taken only where a name is given exactly.
    """

    tables: tuple[str, ...] = ()

    def wants(self, definition: TableDefinition) -> bool:
        if not self.tables:
            return definition.cdc and not is_system(definition.keyspace)
        if is_system(definition.keyspace):
            return definition.name in self.tables
        return any(fnmatchcase(definition.name, pattern) for pattern in self.tables)

    def ids(self, definitions: Mapping[str, TableDefinition]) -> frozenset[str]:
        """The ids of the wanted tables among these."""
        return frozenset(table for table, definition in definitions.items() if self.wants(definition))

    def wide(self, definitions: Iterable[TableDefinition]) -> bool:
        """Whether a table that does not capture is wanted: its rows may lie in segments without sidecar."""
        return bool(self.tables) and any(self.wants(known) and not known.cdc for known in definitions)


def is_system(keyspace: str) -> bool:
    """Whether a keyspace is the server's own."""
    return keyspace == "system" or keyspace.startswith("system_")
