"""Definitions by table id out of journals, for who shows rows that others read and knows only where state folders are.

Reads journals when it is asked, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from tailer.definitions.history import DefinitionHistory
from tailer.schema.builtin import builtin_definitions
from tailer.schema.model import TableDefinition
from tailer.state.home import Home
from tailer.state.journal import Journal


class JournalledTables:
    """The tables of some states; one that is not there has none yet. `consumer`: whose definitions count beside those
    for all."""

    def __init__(self, homes: Iterable[Home], consumer: str | None = None) -> None:
        self._journals = [_Journalled(home, consumer) for home in homes]

    def definition(self, table: str) -> TableDefinition | None:
        """The newest definition of a table, by its id as 32 hex digits; None where no journal has one."""
        known = (journal.newest_of(table) for journal in self._journals)
        return next((found for found in known if found is not None), None) or builtin_definitions().get(table)


class _Journalled:
    """One journal's definitions, as far as it was read."""

    def __init__(self, home: Home, consumer: str | None) -> None:
        self._home = home
        self._consumer = consumer
        self._journal: Journal | None = None
        self._history = DefinitionHistory(consumer=consumer)
        self._taken = 0

    def newest_of(self, table: str) -> TableDefinition | None:
        if self._journal is None:
            self._journal = self._home.journal(writable=False)
        else:
            self._journal.refresh()
        if self._journal.count < self._taken:
            # The state was deleted or replaced.
            self._history, self._taken = DefinitionHistory(consumer=self._consumer), 0
        if self._journal.count > self._taken:
            self._history.extend(self._journal.read(after=self._taken))
            self._taken = self._journal.count
        return self._history.newest_of(table)
