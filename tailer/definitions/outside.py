"""Definitions from outside the log, a CQL file or a live server: when they are asked, and from where on they count.

A server is asked again every minute. What it says beyond the log is journalled only once the planner has passed
everything that was durable when it was asked, and the log has still not shown it (architecture section 5).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from tailer.definitions.learning import BEGINNING, Definitions
from tailer.errors import CdcError, SystemFailedError
from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.schema.compare import differences
from tailer.schema.cql_file import read_cql
from tailer.schema.rows import SchemaDelta
from tailer.schema.server import Server, Tls, as_base, read_server
from tailer.segments.view import View

ASK_SECONDS: Final = 60.0


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

    @property
    def _source(self) -> str:
        return f"server {self._server}"

    def _ask(self, server: Server) -> list[SchemaDelta]:
        self._asked = self._clock()
        return read_server(server)


def server_of(options: TailOptions) -> Server | None:
    """The server that the options name, with its TLS files. UsageError."""
    if options.server is None:
        return None
    files = (options.server_ca, options.server_cert, options.server_key)
    return Server.parse(options.server, Tls(*files) if any(files) else None)
