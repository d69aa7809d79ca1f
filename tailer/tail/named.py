"""Looks for the tables that a run was asked for by name, before it begins: reads ahead only where one is not known.

Reads through the tail's parts, and learns what it meets on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailer.definitions.at_spans import builtin
from tailer.definitions.named_tables import nothing_defines, undefined, without_rows
from tailer.errors import CdcError
from tailer.position import Position
from tailer.schema.model import TableDefinition
from tailer.tail.parts import TailParts


class NamedTables:
    """The names and globs of one run. The table of a typed form is not among them: who makes the form looks for it."""

    def __init__(self, parts: TailParts) -> None:
        self._parts = parts
        self._tables = parts.options.tables if parts.options.table is None else ()
        self._unread: CdcError | None = None
        self._told = False

    def known(self) -> list[TableDefinition]:
        """All definitions that are known here by now."""
        return [*builtin().values(), *self._parts.definitions.latest().values()]

    def undefined(self, planned: Position | None) -> tuple[str, ...]:
        """The names that nothing in the folder defines now, wherever it stands: the log is learnt until all are known.

        `planned`: see `Definitions.learn_collected`.
        """
        return self.learn(self._tables, planned)

    def learn(self, tables: Sequence[str], planned: Position | None) -> tuple[str, ...]:
        """The same of names that a run was asked for otherwise."""
        missing, journal = undefined(tables, self._names()), self._parts.journal
        for segment in self._parts.survey.segments() if missing else ():
            before = journal.count
            self._unread = self._parts.reacher.learn(segment, ahead=0) or self._unread
            self._parts.definitions.learn_collected(planned)
            if journal.count != before and not (missing := undefined(missing, self._names())):
                break
        return missing

    def check(self, planned: Position | None) -> None:
        """DefinitionError for a name that nothing defines, unless it may come later."""
        options = self._parts.options
        if not options.tables_may_come and (missing := self.undefined(planned)):
            raise nothing_defines(missing, self.known(), file=self._parts.source.where, unread=self._unread)

    def _names(self) -> set[str]:
        return {definition.name for definition in self.known()}

    def notices(self) -> Sequence[str]:
        """What of the names and globs gives no row, by all that was read so far. Told once."""
        if self._told:
            return ()
        self._told = True
        return tuple(without_rows(self._tables, self.known()))
