"""The snapshot that a run of change rows begins with: read by threads into a spool, given away piece by piece.

What was read and is not where rows go yet stands in the spool, and how far the snapshot is. Knows no outlet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Final

from tailer.options.snapshot import SnapshotOptions
from tailer.rebuild.facts import Place
from tailer.schema.server import Server
from tailer.snapshot.progress import Show
from tailer.snapshot.spool import Spool, piece_rows
from tailer.tail.follow import Say
from tailer.tail.snapshot.nodes import Nodes
from tailer.tail.snapshot.pieces import TakesPieces
from tailer.tail.snapshot.run import SnapshotRun
from tailer.tail.snapshot.spooled import InSpool, check_told
from tailer.tail.snapshot.tables import chosen_tables
from tailer.tail.tail import Tail

SINCE: Final = "follow"
"""What its spool says that it was begun for."""

TABLES_SECONDS: Final = 2.0
"""So often the logs are asked for their tables."""

_LOOK_SECONDS: Final = 0.25
"""Rows of the logs wait for pieces so long at a time."""


class RowsBeside:
    """Of one run, of these nodes. `at_target`: held by whoever is where rows go; `look` is called by who holds it."""

    begins: Final = True

    def __init__(
        self,
        nodes: Sequence[str],
        servers: Mapping[str, Server],
        options: SnapshotOptions,
        spool: Spool,
        takes: TakesPieces,
        say: Say,
        *,
        ranges: bool,
        show: Show | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ranges`: with the row that tells each one. UsageError where a node has no server of its own."""
        self.at_target = Lock()
        self._options, self._ranges, self._clock = options, ranges, clock
        self._spool, self._takes = spool, takes
        self._tail: Tail | None = None
        self._teller = ""
        self._next: int | None = None
        self._places: dict[str, Place] = {}
        self._asked = clock()
        self._lock, self._begins = Lock(), Lock()
        asks = Nodes(servers)
        asks.check(nodes)
        if spool.now is None or spool.now.since != SINCE:
            spool.begin(SINCE)
        self._into = InSpool(spool, self._lock, nodes, lambda: dict(self._places))
        self._run = SnapshotRun(self._into, asks, options, None, say, show=show)

    def start(self) -> None:
        self._run.start()

    def begin(self, tail: Tail) -> None:
        """A node's log is open: its consumer stands somewhere, and holds what is behind that."""
        tables = chosen_tables(tail, unmasked=True)
        check_told(tables, incomplete=self._options.incomplete)
        with self._begins:
            if self._tail is None:
                self._tail, self._teller = tail, tail.options.node
                self._into.define(tables)
                self._run.begin(tables)
        self.note(tail)

    def note(self, tail: Tail) -> None:
        """How far a node's log is read, at each look and in its thread; now and then which tables it tells."""
        node, now = tail.options.node, self._clock()
        at = tail.taken.position
        self._places[node] = at.segment, at.offset
        # One node tells: another may not have read so far yet.
        if node == self._teller and now - self._asked >= TABLES_SECONDS:
            self._asked = now
            self._into.define(chosen_tables(tail, unmasked=False))

    def look(self) -> None:
        """Give pieces that are there, for a moment. Raises what ended the reading, and what the target says."""
        self._run.check()
        if self._tail is None:
            return
        if self._next is None:
            self._takes.open(self._tail, self._spool)
            self._next = self._takes.given + 1
        until = self._clock() + _LOOK_SECONDS
        while self._next <= self._spool.known.last and self._clock() < until:
            self._takes.give(self._next, piece_rows(self._spool.path(self._next), ranges=self._ranges))
            self._next += 1
            self._let_go()
        self._takes.rest()
        self._let_go()

    def is_done(self) -> bool:
        """Whether all of it is where rows go."""
        return self._run.ended and self._next is not None and self._takes.given == self._spool.known.last

    def finish(self) -> None:
        """What was given is where rows go when this returns, and in the spool no more."""
        self._takes.finish()
        if self._next is not None:
            self._let_go()

    def close(self) -> None:
        """Let go: what is not given stands in the spool."""
        self._into.close()
        self._run.close()
        self._takes.close()

    def _let_go(self) -> None:
        if self._takes.given > self._spool.known.given:
            with self._lock:
                self._spool.taken(self._takes.given)
