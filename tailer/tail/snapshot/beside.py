"""What asks servers beside a run of images: the snapshot that it begins with, and rows that are read again.

Chooses which of them run; each is in a thread of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from threading import Lock
from typing import Final

from tailer.errors import UsageError
from tailer.images.tables import Tables
from tailer.options.snapshot import SnapshotOptions
from tailer.rebuild import Table
from tailer.schema.server import Server
from tailer.tail.follow import Say
from tailer.tail.images.run import ImageRun
from tailer.tail.snapshot.nodes import Nodes
from tailer.tail.snapshot.rereading import MOST_SECONDS, Rereading
from tailer.tail.snapshot.run import SnapshotRun
from tailer.tail.tail import Tail

SETTLED_SECONDS: Final = 3 * MOST_SECONDS
"""Rows that are never still are not waited for any longer."""


class Beside:
    """Of one run. `at_target`: held by whoever works on the state. `begins`: a snapshot is read; `anew`: another one
    where the last one is at its end."""

    def __init__(
        self,
        run: ImageRun,
        servers: Mapping[str, Server],
        options: SnapshotOptions,
        at_target: Lock,
        say: Say,
        *,
        begins: bool,
        anew: bool = False,
    ) -> None:
        self.begins, self.at_target = begins, at_target
        stream, nodes = run.stream, Nodes(servers)
        if begins:
            _check_servers(stream.nodes, servers)
        elif not servers:
            _check_guesses(run, options)

        def guard() -> Lock:
            return at_target

        tokens = run.images.tokens
        self._snapshot = SnapshotRun(stream, nodes, options, tokens, guard, say, anew=anew) if begins else None
        self._rereading = Rereading(stream, nodes, options, guard, say) if servers else None
        self._ended: float | None = None

    def start(self) -> None:
        for each in (self._snapshot, self._rereading):
            if each is not None:
                each.start()

    def begin(self, tail: Tail) -> None:
        """A node's log is open."""
        if self._snapshot is not None:
            self._snapshot.begin(_tables_of(tail))

    def look(self) -> None:
        """Raises what ended one of them."""
        for each in (self._snapshot, self._rereading):
            if each is not None:
                each.check()

    def is_done(self) -> bool:
        """Whether the snapshot is at its end, and what came of it as far as that comes to rest."""
        if self._snapshot is None or not self._snapshot.ended:
            return False
        self._ended = self._ended or time.monotonic()
        assert self._rereading is not None, "a snapshot has its servers"
        return self._rereading.settled() or time.monotonic() - self._ended > SETTLED_SECONDS

    def close(self) -> None:
        for each in (self._snapshot, self._rereading):
            if each is not None:
                each.close()


def _tables_of(tail: Tail) -> list[Table]:
    """The tables that are chosen, as they are now. UsageError for one that is masked, and for none."""
    parts, history = tail.parts, tail.parts.definitions.history
    chosen = [each for each in parts.definitions.latest().values() if parts.options.selection.wants(each)]
    found = []
    for newest in chosen:
        if newest.dropped:
            continue
        if parts.masks.of(newest.name):
            raise UsageError(
                f"{newest.name} is masked, and a server's rows are not",
                remedy="Leave out --mask or the snapshot, or the table: --exclude.",
            )
        earlier = [held for event in history.events for held in event.changed.values() if held.id == newest.id]
        found.append(Table.of(newest, earlier, native=history.is_native(newest.id)))
    if not found:
        raise UsageError(
            "there is no table to begin with",
            expected="a table with cdc = true that is chosen",
            found=", ".join(parts.options.selection.tables) or "none with cdc = true",
            remedy="Name the server, which tells its tables: --server HOST; or wait until there is one.",
        )
    return found


def _check_servers(nodes: tuple[str, ...], servers: Mapping[str, Server]) -> None:
    lacking = [name for name in nodes if name not in servers]
    if lacking:
        raise UsageError(
            "a snapshot is read from the servers of its nodes",
            expected="--server HOST, or NODE=HOST,NODE=HOST for several nodes",
            found=f"none of {', '.join(lacking)}",
        )
    if len(set(servers.values())) < len(servers):
        raise UsageError(
            "one server for several nodes does not tell which of them hold what",
            expected="server as NODE=HOST,NODE=HOST",
            remedy="Name each node's own server by the node's name.",
        )


def _check_guesses(run: ImageRun, options: SnapshotOptions) -> None:
    """UsageError where only a server could tell what changes make of rows."""
    tables = run.stream.read(lambda seen: list(Tables(seen.store)))
    guessed = [each for each in tables if each.facts.floors and each.plan.guessed and not each.facts.dropped]
    if guessed and not options.incomplete:
        each = guessed[0]
        raise UsageError(
            f"{each.facts.table.name} has {', '.join(sorted(each.plan.guessed))}, of which a snapshot knows values "
            "alone: only its server can tell what a change makes of them",
            remedy="Name it: --server HOST; or go on without, and have such rows marked: --incomplete.",
        )
