"""Definitions from outside the log: a CQL file, a live server, the logs of other nodes of the cluster.

A server is asked at the start, every minute, where an entry cannot be decoded, and behind each gap: segments that are
missing or cannot be read (`segments/gaps.py`). A schema change in a gap is in no entry that the consumer reads. Without
the request, a column that was dropped and added again with another type would be read by its earlier type. The response
is compared with the schema at the consumer's own position, never with what another consumer of the same journal has
read further on. What it adds is journaled for that position; changes that the log itself shows behind the position
count from there (`DefinitionHistory.in_force`). What a response lacks is not thereby dropped.

A change that no entry shows was made in a gap. Where there are several, it counts from the first one behind which the
log shows no older change of the schema.

Other nodes of the cluster are asked where an entry cannot be decoded, and behind gaps (`peers.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Final
from uuid import UUID

from tailer.definitions.learning import BEGINNING, Definitions
from tailer.definitions.peers import Peers
from tailer.errors import CdcError, SystemFailedError
from tailer.options.tail import TailOptions
from tailer.position import Position
from tailer.schema.cql_file import read_cql
from tailer.schema.rows import SchemaDelta
from tailer.schema.server import Server, Tls, of_table, read_server
from tailer.segments.gaps import has_gap
from tailer.segments.view import View
from tailer.state.journal_records import FILE, SERVER

ASK_SECONDS: Final = 60.0
RETRY_SECONDS: Final = 10.0
"""How long a server that does not know a table is not asked for it again: another node's server may learn of a table
later than the log's own node."""
GAP_SECONDS: Final = 60.0
"""So long behind a gap the other nodes are asked again, every RETRY_SECONDS: their logs reach their disks later."""


class OutsideSources:
    """The outside sources of one tail. `clock` in seconds, monotonic. `peers`: the other nodes of its run. `wall`: in
    seconds since the epoch."""

    def __init__(
        self,
        options: TailOptions,
        known: Definitions,
        clock: Callable[[], float] = time.monotonic,
        peers: Peers | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._read_ahead: Callable[[], None] = lambda: None
        self._options = options
        self._known = known
        self._clock = clock
        self._peers = peers
        self._wall = wall
        self._server = server_of(options)
        self._asked = 0.0
        self._response: _Response | None = None
        self._logged: Position | None = None
        self._in_vain: set[Position] = set()
        self._tables: dict[str, _Response] = {}
        self._missing: dict[str, float] = {}
        self._notices: list[str] = []
        self._gap_met = self._peers_asked = float("-inf")
        self._made_until = 0
        self._behind: tuple[int, _Response] | None = None
        self._unanswered: float | None = None

    def reads_ahead_by(self, read_ahead: Callable[[], None]) -> None:
        """What learns every definition that the log shows by now. It is called behind a response of the server, so that
        the log's own changes that the response has too are known with their positions."""
        self._read_ahead = read_ahead

    def take_notices(self) -> list[str]:
        """What there is to say since the last call."""
        notices, self._notices = self._notices, []
        return notices

    def give(
        self,
        planned: Position | None,
        read_ahead: Callable[[], None] = lambda: None,
        view: View = MappingProxyType({}),
    ) -> None:
        """Take in what the user named, valid from the planner's position, or from ever at a first start (None).

        `view`: the log. If it has gaps behind the position, the changes that it does not show count from behind a gap.
        """
        at = planned or BEGINNING
        file = self._options.schema_file
        if file is not None:
            self._known.add(read_cql(file), f"{FILE}{file.name}", at)
        if self._server is not None:
            newest, response = max(view, default=0), self._ask(self._server)
            read_ahead()
            if planned is not None and has_gap(view, planned):
                self._behind, self._response = (newest, response), response
            else:
                self._take(response, at, whole=planned is None, bounded=planned is not None)

    def refresh(self, view: View, planned: Position) -> str | None:
        """Ask again when it is time; a notice where the server knew something that the log did not show."""
        if self._server is None:
            return None
        if self._response is None:
            if self._clock() - self._asked >= ASK_SECONDS:
                try:
                    self._response = self._ask(self._server)
                except SystemFailedError as error:
                    return f"the server could not be asked for its definitions: {error.sentence()}"
            # `view` was taken before the response: the next one shows what was durable behind it.
            return None
        if self._logged is None:
            durable = [Position(segment, seen.end) for segment, seen in view.items() if seen.promised]
            self._logged = max(durable, default=planned)
        if planned < self._logged:
            return None
        self._read_ahead()
        response, self._response, self._logged = self._response, None, None
        if self._take(response, planned):
            return f"{self._source} has definitions that the log did not show: they count from {planned} on"
        return None

    def ask_again(self, at: Position) -> bool:
        """An entry at `at` cannot be decoded: ask the other nodes and the server; whether that brought news. It counts
        from this entry on."""
        if at in self._in_vain:
            return False
        self._in_vain.add(at)
        if self._peers is not None and self._ask_peers(self._peers, at):
            return True
        if self._server is None:
            return False
        try:
            response = self._ask(self._server)
        except CdcError:
            # The entry's own error is what the user has to see.
            return False
        self._read_ahead()
        return self._take(response, at)

    def ask_for_table(self, table: str, at: Position) -> bool:
        """An entry at `at` is of a table (32 hex digits) that nothing defines: ask the other nodes, then the server,
        and wait for the response; whether the table is defined there now.

        What the server says of this table counts from the entry on, and says nothing of other tables. A table is asked
        for once; one that the server does not know again when RETRY_SECONDS have passed. CdcError where the server
        does not respond. Another consumer of the journal may have learnt of it meanwhile, before the table was dropped.
        """
        told = self._peers is not None and self._ask_peers(self._peers, at, table=table)
        if told and table in self._known.history.as_of(at):
            return True
        if self._server is None:
            return self._known_by_now(table, at)
        response = self._tables.get(table)
        if response is None and self._clock() - self._missing.get(table, float("-inf")) >= RETRY_SECONDS:
            try:
                response = self._ask(self._server)
            except CdcError as error:
                error.tell(f"the definition of table {UUID(table)}, which an entry at {at} needs, is unknown")
                raise
            self._read_ahead()
            response.rows = of_table(response.rows, table)
            self._missing[table] = self._clock()
        if response is not None and response.rows:
            self._tables[table] = response
            self._known.add(response.rows, self._source, at, asked=response.asked)
        return self._known_by_now(table, at)

    def _known_by_now(self, table: str, at: Position) -> bool:
        self._known.catch_up()
        return table in self._known.history.as_of(at)

    def ask_anew(self, table: str, at: Position) -> bool:
        """The same for a table that was created again with its id: an earlier response is of the one before."""
        self._tables.pop(table, None)
        self._missing.pop(table, None)
        return self.ask_for_table(table, at)

    @property
    def server(self) -> Server | None:
        """The server that is asked; None where the user named none."""
        return self._server

    @property
    def asks(self) -> bool:
        """Whether somebody can be asked for a definition that the log lacks."""
        return self._server is not None or self._peers is not None

    def behind_gap(self, at: Position, view: View) -> None:
        """Segments before `at` cannot be read: what other nodes' logs and the server show of the schema meanwhile
        counts from here on. `view`: the look that showed the gap."""
        self._gap_met, self._made_until = self._clock(), int(self._wall() * 1e6)
        if self._peers is not None:
            self._ask_peers(self._peers, at, until=self._made_until)
        if self._server is not None:
            self._ask_server(self._server, at, view)

    def _ask_server(self, server: Server, at: Position, view: View) -> None:
        """One response is used for all gaps that existed at the time of the request."""
        if self._behind is None or self._behind[0] < at.segment:
            if self._unanswered is not None and self._clock() - self._unanswered < RETRY_SECONDS:
                return
            newest = max(view)
            try:
                self._behind = newest, self._ask(server)
            except SystemFailedError as error:
                self._unanswered = self._clock()
                self._notices.append(
                    f"the server could not be asked for schema changes before {at}: {error.sentence()} It is asked "
                    f"again every {RETRY_SECONDS:.0f} s; until then rows are read by the definitions known so far."
                )
                return
            self._read_ahead()
        self._unanswered = None
        response = self._behind[1]
        if response.settled is None or self._known.history.between(response.settled, at):
            # What is newer than a change that the log shows behind the gap was not in it, but in a later one, which may
            # not be seen yet.
            self._take(response, at, bounded=True)
        else:
            # The response adds nothing here. To compare it again at each gap would merge the whole history each time.
            response.settled = at

    @property
    def unsettled(self) -> bool:
        """Whether a node could not be asked when it was asked last: what only its log shows may be missing here."""
        return self._peers is not None and self._peers.unreachable

    def ask_behind_gap(self, planned: Position, view: View) -> None:
        """Ask again where a node or the server could not be asked, or the gap was met a moment ago, and it is time."""
        now = self._clock()
        if self._unanswered is not None and self._server is not None and now - self._unanswered >= RETRY_SECONDS:
            self._ask_server(self._server, planned, view)
        if self._peers is None or not (self.unsettled or now - self._gap_met < GAP_SECONDS):
            return
        if now - self._peers_asked >= RETRY_SECONDS:
            self._ask_peers(self._peers, planned, until=self._made_until)

    def _ask_peers(self, peers: Peers, at: Position, *, until: int | None = None, table: str | None = None) -> bool:
        self._peers_asked = self._clock()
        # Changes that this log shows itself count from where it shows them.
        self._read_ahead()
        found = peers.additions(self._known, at, until=until, table=table)
        self._notices += peers.take_notices()
        return self._known.add_records(found) if found else False

    def _take(self, response: _Response, at: Position, *, whole: bool = False, bounded: bool = False) -> bool:
        """Journal what a response adds at a position; whether that is anything. `bounded`: without what is newer than
        the next schema change that the log shows."""
        rows, left = response.rows, False
        if not whole:
            rows, left = self._known.additions(response.rows, at, bounded=bounded)
        news = bool(rows) and self._known.add(rows, self._source, at, asked=response.asked)
        response.settled = None if left else at
        return news

    @property
    def _source(self) -> str:
        return f"{SERVER}{self._server}"

    def _ask(self, server: Server) -> _Response:
        self._asked = self._clock()
        asked = time.time_ns() // 1000
        answer = read_server(server)
        # What they say is no definition: it only decides what is reported.
        self._known.durability.note_response(delta for delta in answer if delta.table == "keyspaces")
        return _Response(asked, [delta for delta in answer if delta.table != "keyspaces"])


class _Response:
    """A server's definitions, and when they were asked for, in microseconds since the epoch. `settled`: the position
    at which all of them are journaled. They add nothing further on, until the log shows another schema change."""

    def __init__(self, asked: int, rows: Sequence[SchemaDelta]) -> None:
        self.asked = asked
        self.rows = rows
        self.settled: Position | None = None


def server_of(options: TailOptions) -> Server | None:
    """The server that the options name, with its TLS files. UsageError."""
    if options.server is None:
        return None
    files = (options.server_ca, options.server_cert, options.server_key)
    return Server.parse(options.server, Tls(*files) if any(files) else None)
