"""Keyspaces with `durable_writes = false`: the server writes no change of theirs to its commit log, so none is read.

Known from the log's own `system_schema.keyspaces` and from a server's response; where they differ, the response counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from tailer.definitions.history import DefinitionHistory
from tailer.schema.rows import SchemaDelta
from tailer.schema.selection import Selection


class Durability:
    """By a history of definitions, which may grow in between; reports each wanted table once."""

    def __init__(self, history: DefinitionHistory, selection: Selection) -> None:
        self._history = history
        self._selection = selection
        self._server: dict[str, bool] = {}
        self._met: set[str] = set()
        self._reported: set[str] = set()
        self._last: tuple[tuple[int, int], frozenset[str]] | None = None

    def note_response(self, keyspaces: Iterable[SchemaDelta]) -> None:
        """What a server says of its keyspaces now."""
        told = {delta.keyspace: delta.cells.get("durable_writes", (0, None))[1] is not False for delta in keyspaces}
        self._server = told or self._server

    def without_durable(self, changes: Iterable[SchemaDelta]) -> tuple[SchemaDelta, ...]:
        """A mutation's changes without those of keyspaces that are durable and were never anything else."""
        return tuple(delta for delta in changes if delta.table != "keyspaces" or self._is_reported(delta))

    def _is_reported(self, delta: SchemaDelta) -> bool:
        if delta.cells.get("durable_writes", (0, None))[1] is False:
            self._met.add(delta.keyspace)
        return delta.keyspace in self._met or delta.keyspace in self._history.state.not_durable

    @property
    def silent(self) -> frozenset[str]:
        """Keyspaces of which no change reaches the log now."""
        silent = {name for name in self._history.state.not_durable if self._server.get(name) is not True}
        return frozenset(silent | {name for name, durable in self._server.items() if not durable})

    def take_notices(self) -> list[str]:
        """What is to be said of wanted tables whose changes never reach the log."""
        silent = self.silent
        state = self._history.version, silent
        if not silent or state == self._last:
            return []
        self._last, lines = state, []
        for held in self._history.newest.values():
            wanted = held.keyspace in silent and not held.dropped and self._selection.wants(held)
            if wanted and held.id not in self._reported:
                self._reported.add(held.id)
                lines.append(f"warning: {never_in_the_log(held.name)}")
        return lines


def never_in_the_log(table: str) -> str:
    """What is said of a table in a keyspace with `durable_writes = false`."""
    keyspace = table.partition(".")[0]
    return (
        f"no change of {table} reaches the commit log: keyspace {keyspace} has durable_writes = false. Rows of it that "
        "were read from the server are not kept up to date. ALTER KEYSPACE … WITH durable_writes = true changes that "
        "for later writes"
    )
