"""The snapshot that a run of change rows begins with: read by threads into a spool, given away piece by piece.

What was read and is not where rows go yet stands in the spool, and how far the snapshot is. Knows no outlet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Final, NamedTuple

from tailer.options.snapshot import SnapshotOptions
from tailer.rebuild.facts import Place
from tailer.schema.server import Server
from tailer.snapshot.progress import Show
from tailer.snapshot.spool import Spool, piece_rows
from tailer.tail.follow import Say
from tailer.tail.snapshot.nodes import Nodes
from tailer.tail.snapshot.pieces import TakesPieces
from tailer.tail.snapshot.run import SnapshotRun
from tailer.tail.snapshot.spooled import InSpool, SpoolHome, check_told
from tailer.tail.snapshot.tables import chosen_tables
from tailer.tail.tail import Tail
from tailer.tail.turn_lock import TurnLock

SINCE: Final = "follow"
"""What its spool says that it was begun for."""

TABLES_SECONDS: Final = 2.0
"""So often the log is asked for its tables."""

_LOOK_SECONDS: Final = 0.25
"""Rows of the logs wait for pieces so long at a time."""


class _Begun(NamedTuple):
    """`tail`: of the node that has the spool, as it was opened first."""

    spool: Spool
    into: InSpool
    run: SnapshotRun
    tail: Tail


class RowsBeside:
    """Of one run, of these nodes. `at_target`: held by whoever is where rows go; `look` is called by who holds it."""

    begins: Final = True

    def __init__(
        self,
        nodes: Sequence[str],
        servers: Mapping[str, Server],
        options: SnapshotOptions,
        home: SpoolHome,
        takes: TakesPieces,
        say: Say,
        *,
        ranges: bool,
        show: Show | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ranges`: with the row that tells each one. UsageError where a node has no server of its own."""
        self.at_target = TurnLock()
        self._names, self._options, self._home = nodes, options, home
        self._ranges, self._takes, self._clock = ranges, takes, clock
        self._say, self._show = say, show
        self._begun: _Begun | None = None
        self._next: int | None = None
        self._places: dict[str, Place] = {}
        self._asked = clock()
        self._lock = Lock()
        self._servers = Nodes(servers)
        self._servers.check(nodes)

    def begin(self, tail: Tail) -> None:
        """A node's log is open: its consumer stands somewhere, and holds what is behind that."""
        tables = chosen_tables(tail, unmasked=True)
        check_told(tables, incomplete=self._options.incomplete)
        self.note(tail)
        if tail.options.node != self._home.node or self._begun is not None:
            return
        spool = Spool(self._home.folder)
        if spool.now is None or spool.now.since != SINCE:
            spool.begin(SINCE)
        into = InSpool(spool, self._lock, self._names, lambda: dict(self._places))
        into.define(tables)
        run = SnapshotRun(into, self._servers, self._options, None, self._say, show=self._show)
        run.begin(tables)
        run.start()
        self._begun = _Begun(spool, into, run, tail)

    def note(self, tail: Tail) -> None:
        """How far a node's log is read, at each look and in its thread; now and then which tables it tells."""
        node, now, at = tail.options.node, self._clock(), tail.taken.position
        self._places[node] = at.segment, at.offset
        # One node tells: another may not have read so far yet.
        if node == self._home.node and self._begun is not None and now - self._asked >= TABLES_SECONDS:
            self._asked = now
            self._begun.into.define(chosen_tables(tail, unmasked=False))

    def look(self) -> None:
        """Give pieces that are there, for a moment. Raises what ended the reading, and what the target says."""
        if self._begun is None:
            return
        spool = self._begun.spool
        self._begun.run.check()
        if self._next is None:
            self._takes.open(self._begun.tail, spool)
            self._next = self._takes.given + 1
        # Asked before the pieces: what is read meanwhile is given at the next look.
        ended = self._begun.run.ended
        until = self._clock() + _LOOK_SECONDS
        while self._next <= spool.known.last and self._clock() < until:
            self._takes.give(self._next, piece_rows(spool.path(self._next), ranges=self._ranges))
            self._next += 1
            self._let_go(spool)
        if ended and self._next > spool.known.last:
            # No more rows come, so these wait for none: with --once the run waits for them.
            self._takes.finish()
        else:
            self._takes.rest()
        self._let_go(spool)

    def is_done(self) -> bool:
        """Whether all of it is where rows go."""
        if self._begun is None or self._next is None:
            return False
        return self._begun.run.ended and self._takes.given == self._begun.spool.known.last

    def waits(self) -> bool:
        """Whether a run with --once goes on until the snapshot is done."""
        return self.begins

    def report_end(self) -> None:
        """UsageError where the snapshot lacks a table that its server refused."""
        if self._begun is not None:
            self._begun.run.report_end()

    def finish(self) -> None:
        """What was given is where rows go when this returns, and in the spool no more."""
        self._takes.finish()
        if self._begun is not None and self._next is not None:
            self._let_go(self._begun.spool)

    def close(self) -> None:
        """Let go: what is not given stands in the spool."""
        if self._begun is not None:
            self._begun.into.close()
            self._begun.run.close()
        self._takes.close()

    def _let_go(self, spool: Spool) -> None:
        if self._takes.given > spool.known.given:
            with self._lock:
                spool.taken(self._takes.given)
