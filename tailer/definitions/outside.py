"""Definitions from outside the log, a CQL file or a live server: when they are asked, and from where on they count.

A server is asked again every minute. What it says beyond the log is journalled only once the planner has passed
everything that was durable when it was asked, and the log has still not shown it (architecture section 5).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

from tailer.definitions.learning import BEGINNING, Definitions
from tailer.errors import CdcError, SystemFailedError
from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.schema.compare import differences
from tailer.schema.cql_file import read_cql
from tailer.schema.rows import SchemaDelta
from tailer.schema.server import Server, Tls, as_base, of_table, read_server
from tailer.segments.view import View

ASK_SECONDS: Final = 60.0
RETRY_SECONDS: Final = 10.0
"""How long a server that does not know a table is not asked for it again: another node's server may learn of a table
later than the log's own node."""


class OutsideSources:
    """The outside sources of one tail. `clock` in seconds, monotonic."""

    def __init__(self, options: TailOptions, known: Definitions, clock: Callable[[], float] = time.monotonic) -> None:
        self._options = options
        self._known = known
        self._clock = clock
        self._server = server_of(options)
        self._asked = 0.0
        self._answer: list[SchemaDelta] | None = None
        self._logged: Position | None = None
        self._in_vain: set[Position] = set()
        self._tables: dict[str, list[SchemaDelta]] = {}
        self._missing: dict[str, float] = {}

    def give(self, planned: Position | None) -> None:
        """Take in what the user named, valid from the planner's position, or from ever at a first start (None)."""
        at = planned or BEGINNING
        file = self._options.schema_file
        if file is not None:
            self._known.add(read_cql(file), f"file {file.name}", at)
        if self._server is not None:
            self._answer = self._ask(self._server)
            self._known.add(as_base(self._answer), self._source, at)

    def refresh(self, view: View, planned: Position) -> str | None:
        """Ask again when it is time; a notice where the server knew something that the log did not show."""
        if self._server is None:
            return None
        if self._answer is None and self._clock() - self._asked >= ASK_SECONDS:
            try:
                self._answer = self._ask(self._server)
            except SystemFailedError as error:
                return f"the server could not be asked for its definitions: {error.sentence()}"
        if self._answer is not None and self._logged is None:
            # The extents as they are now, after the answer: what it knows was logged before.
            durable = [Position(segment, seen.end) for segment, seen in view.items() if seen.promised]
            self._logged = max(durable, default=planned)
        if self._answer is None or self._logged is None or planned < self._logged:
            return None
        news = differences(self._known.history.state, self._answer)
        self._answer = self._logged = None
        if news and self._known.add(news, self._source, planned):
            return f"{self._source} has definitions that the log did not show: they count from {planned} on"
        return None

    def ask_again(self, at: Position, planned: Position) -> bool:
        """An entry at `at` cannot be decoded: ask the server once more; whether that brought news."""
        if self._server is None or at in self._in_vain:
            return False
        self._in_vain.add(at)
        try:
            answer = self._ask(self._server)
        except CdcError:
            # The entry's own error is what the user has to see.
            return False
        base = self._known.add(as_base(answer), self._source, planned)
        return self._known.add(differences(self._known.history.state, answer), self._source, planned) or base

    def ask_for_table(self, table: str, at: Position) -> bool:
        """An entry at `at` is of a table (32 hex digits) that nothing defines: ask the server for it, and wait for the
        response; whether the table is defined there now.

        What the server says of this table counts from the entry on, and says nothing of other tables. A table is asked
        for once; one that the server does not know again when RETRY_SECONDS have passed. CdcError where the server
        does not respond.
        """
        assert self._server is not None
        answer = self._tables.get(table, [])
        if not answer and self._clock() - self._missing.get(table, float("-inf")) >= RETRY_SECONDS:
            try:
                answer = of_table(self._ask(self._server), table)
            except CdcError as error:
                error.tell(f"the definition of table {UUID(table)}, which an entry at {at} needs, is unknown")
                raise
            self._missing[table] = self._clock()
        if not answer:
            return False
        self._tables[table] = answer
        # As a base first: that lies under all that the log says. It does not count where an earlier table of that name
        # lives as far as the log says, whose DROP was not seen: the server's own timestamps overrule that.
        for given in (as_base(answer), answer):
            self._known.add(given, self._source, at)
            if table in self._known.history.as_of(at):
                return True
        return False

    @property
    def server(self) -> Server | None:
        """The server that is asked; None where the user named none."""
        return self._server

    @property
    def _source(self) -> str:
        return f"server {self._server}"

    def _ask(self, server: Server) -> list[SchemaDelta]:
        self._asked = self._clock()
        answer = read_server(server)
        # What they say is no definition: it only decides what is reported.
        self._known.durability.tell(delta for delta in answer if delta.table == "keyspaces")
        return [delta for delta in answer if delta.table != "keyspaces"]


def server_of(options: TailOptions) -> Server | None:
    """The server that the options name, with its TLS files. UsageError."""
    if options.server is None:
        return None
    files = (options.server_ca, options.server_cert, options.server_key)
    return Server.parse(options.server, Tls(*files) if any(files) else None)
