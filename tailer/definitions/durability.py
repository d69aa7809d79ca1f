"""Keyspaces with `durable_writes = false`: the server writes no change of theirs to its commit log, so none is read.

Known from the log's own `system_schema.keyspaces` and from a server's response; where they differ, the response counts.
A time that is over by now counts for consumers that read the log of that time: changes are missing there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from tailer.definitions.history import DefinitionHistory
from tailer.limits import OFFSET_MAX
from tailer.position import Position
from tailer.schema.follow import SchemaState
from tailer.schema.model import TableDefinition
from tailer.schema.rows import SchemaDelta
from tailer.schema.selection import Selection

_NOT_OVER: Final = Position(2**63, OFFSET_MAX)


class Durability:
    """By a history of definitions, which may grow in between; reports each wanted table once."""

    def __init__(self, history: DefinitionHistory, selection: Selection) -> None:
        self._history = history
        self._selection = selection
        self._server: dict[str, bool] = {}
        self._met: set[str] = set()
        self._reported: set[str] = set()
        self._last: tuple[tuple[int, int], frozenset[str], Mapping[str, Position]] | None = None
        self._begun: Position | None = None
        self._times: tuple[int, Mapping[str, Position]] = 0, MappingProxyType({})
        self._reported_times: set[str] = set()

    def begin(self, at: Position) -> None:
        """The consumer reads the log from a position on; the first call counts."""
        self._begun = self._begun or at

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
        silent, times = self.silent, self._times_without()
        state = self._history.version, silent, times
        if not (silent or times) or state == self._last:
            return []
        self._last, lines = state, []
        for held in self._history.newest.values():
            if held.dropped or not self._selection.wants(held):
                continue
            if held.keyspace in silent:
                if held.id not in self._reported:
                    self._reported.add(held.id)
                    lines.append(f"warning: {never_in_the_log(held.name)}")
            elif held.keyspace in times:
                lines.extend(self._of_a_time(held, times[held.keyspace]))
        return lines

    def _of_a_time(self, held: TableDefinition, end: Position) -> Iterator[str]:
        """What is said once of a table in a keyspace that was not durable up to a position."""
        created = self._history.created_at(held.id)
        if held.id in self._reported_times or (created is not None and created >= end):
            return
        self._reported_times.add(held.id)
        yield (
            f"warning: changes of {held.name} are missing: keyspace {held.keyspace} had durable_writes = false for a "
            "time, in which the server wrote none of them to its commit log. Rows that were written then are missing "
            "or have earlier values, also where images of them are complete. A snapshot reads them from the server"
        )

    def _times_without(self) -> Mapping[str, Position]:
        """By keyspace where the last time without durable writes ends that the log shows behind the consumer's start.
        The newest state does not tell of it: the consumer may read all of it later."""
        begun, newest = self._begun, self._history.newest_number
        if begun is None or newest == self._times[0]:
            return self._times[1]
        state, ends = SchemaState(), dict[str, Position]()
        for record in self._history.records_of_log():
            changes = [delta for delta in record.deltas if delta.table == "keyspaces"]
            if changes:
                before = state.not_durable
                state.apply(changes)
                ends |= dict.fromkeys(before - state.not_durable, record.at)
        ends |= dict.fromkeys(state.not_durable, _NOT_OVER)
        self._times = newest, {name: end for name, end in ends.items() if end > begun}
        return self._times[1]


def never_in_the_log(table: str) -> str:
    """What is said of a table in a keyspace with `durable_writes = false`."""
    keyspace = table.partition(".")[0]
    return (
        f"no change of {table} reaches the commit log: keyspace {keyspace} has durable_writes = false. Rows of it that "
        "were read from the server are not kept up to date. ALTER KEYSPACE … WITH durable_writes = true changes that "
        "for later writes"
    )
