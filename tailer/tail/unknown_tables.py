"""Entries of tables that no definition names. Such an entry is never passed over because its table is unknown.

The server, if there is one, is asked for the table. Where it does not know the table either (created and dropped
between two requests), or where the user named the table's id, the entry is put aside in quarantine; else the run ends.
Reads nothing and writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

from tailer.definitions.outside import OutsideSources
from tailer.errors import UnknownTableError
from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.reading.counted_notices import CountedNotices

REPLAY: Final = "With its definition (--schema FILE) `cdc-tail quarantine DIR replay --consumer NAME` gives the rows"


class UnknownTables:
    """The decisions of one run. `clock` in seconds, monotonic. `keeps`: entries that go aside are kept."""

    def __init__(
        self,
        options: TailOptions,
        outside: OutsideSources,
        clock: Callable[[], float] = time.monotonic,
        *,
        keeps: bool = True,
    ) -> None:
        self._where = "put into quarantine" if keeps else "left out"
        self._remedy = REPLAY if keeps else "A follower with a state folder keeps them in quarantine"
        self._named = frozenset(options.quarantine_tables)
        self._quarantine = options.quarantine
        self._outside = outside
        self._notices = CountedNotices(clock)
        self._learnt: set[tuple[str, Position]] = set()

    def learn(self, error: UnknownTableError, at: Position) -> bool:
        """Look up, or ask for, the table of an entry; whether a definition is known now.

        Raises what keeps the server from answering: an entry is not put aside because nobody could be asked.
        """
        if error.table in self._named or (error.table, at) in self._learnt:
            return False
        known = self._outside.ask_for_table(error.table, at)
        if known:
            # A definition by which the entry is still of an unknown table does not help a second time.
            self._learnt.add((error.table, at))
        return known

    def puts_aside(self, table: str) -> bool:
        """Whether an entry of the table goes into quarantine."""
        return self._quarantine or table in self._named or self._outside.server is not None

    def wanted(self, table: str) -> bool:
        """Whether the user asked for that, so that an entry is left out even where nothing can keep it."""
        return self._quarantine or table in self._named

    def count(self, table: str, at: Position) -> None:
        """An entry of the table was put aside."""

        def first(number: int) -> str:
            return (
                f"warning: {_entries(number)} of table {UUID(table)} {self._where}, the first one at {at}: "
                f"{self._why(table)}. {self._remedy}"
            )

        def more(number: int) -> str:
            return f"warning: {_entries(number)} of the unknown table {UUID(table)} were {self._where} by now"

        self._notices.count(table, first, more)

    def take_notices(self, *, last: bool = False) -> list[str]:
        """Notices of entries that were put aside, by table. `last`: the run ends."""
        return self._notices.take(last=last)

    def _why(self, table: str) -> str:
        if table in self._named:
            return "no definition is known, and its id was given with --quarantine-table"
        if self._outside.server is None:
            return "no definition is known"
        return f"neither the log nor server {self._outside.server} has a definition"


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"
