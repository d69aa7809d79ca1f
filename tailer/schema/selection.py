"""Which tables' rows are wanted: the tables that capture, or those the user named. Values only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from tailer.schema.model import TableDefinition

SYSTEM_KEYSPACES: Final = frozenset(
    f"system{rest}" for rest in ("", "_schema", "_auth", "_distributed", "_traces", "_views", "_virtual_schema")
)
"""Those that a server of 4.0 to 5.0 makes itself (`SchemaConstants`). No user can create one of them."""


class Selection(msgspec.Struct, frozen=True):
    """`tables`: names and globs of `keyspace.table`; empty = all tables and views.

    Of what a glob covers, and of all, those are taken whose definition says `cdc = true`, and none of the server's own;
    by its exact name a table is taken whatever it is. `without`: names of tables that are not taken in any case.
    """

    tables: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def canonical(self) -> Selection:
        """The same, in the one form that it is compared in."""
        return Selection(tuple(sorted({*self.tables})), tuple(sorted({*self.without})))

    def wants(self, definition: TableDefinition) -> bool:
        """Whether rows of a table are wanted while this is its definition."""
        if definition.name in self.without:
            return False
        return definition.name in self.tables or (definition.cdc and self.covers(definition))

    def names(self, definition: TableDefinition) -> bool:
        """Whether a table is meant, whatever its flag says."""
        return definition.name not in self.without and (definition.name in self.tables or self.covers(definition))

    def covers(self, definition: TableDefinition) -> bool:
        """Whether a table's flag decides: a glob covers it, or nothing was chosen."""
        if is_system(definition.keyspace):
            return False
        return not self.tables or any(fnmatchcase(definition.name, glob) for glob in self.tables if is_glob(glob))

    def ids(self, definitions: Mapping[str, TableDefinition]) -> frozenset[str]:
        """The ids of the wanted tables among these."""
        return frozenset(table for table, definition in definitions.items() if self.wants(definition))

    def reaches(self, keyspace: str) -> bool:
        """Whether a table of a keyspace may be wanted, whatever its name, its flag and its definition are."""
        if any(name.partition(".")[0] == keyspace for name in self.tables if not is_glob(name)):
            return True
        if is_system(keyspace):
            return False
        return not self.tables or any(_may_begin(glob, keyspace) for glob in self.tables if is_glob(glob))

    def only_captured(self, schema_rows: bool) -> bool:
        """Whether nothing is wanted but rows written while their table captured. `schema_rows`: changes of definitions
        are rows too."""
        return not schema_rows and all(map(is_glob, self.tables))

    def wide(self, definitions: Iterable[TableDefinition]) -> bool:
        """Whether a table that does not capture is wanted: its rows may lie in segments without sidecar."""
        return bool(self.tables) and any(self.wants(known) and not known.cdc for known in definitions)


ALL_TABLES: Final = Selection()
"""Those that capture."""


def is_glob(pattern: str) -> bool:
    """Whether a pattern may stand for several tables."""
    return any(sign in pattern for sign in "*?[")


def _may_begin(glob: str, keyspace: str) -> bool:
    """Whether a glob may cover a table of a keyspace: by what stands before its first sign."""
    literal = re.split(r"[*?[]", glob, maxsplit=1)[0]
    named, dot, _ = literal.partition(".")
    return named == keyspace if dot else keyspace.startswith(named)


def is_system(keyspace: str) -> bool:
    """Whether a keyspace is the server's own: one of a closed list, for users may call theirs `system_…`."""
    return keyspace in SYSTEM_KEYSPACES
