"""A history: what happens to a cluster, and when a reader reads which log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.helpers.images.cluster import Cluster
from tests.helpers.images.ledger import Ledger, Shown, Unit
from tests.helpers.images.logged import Entry
from tests.helpers.images.parts import Part, update_of
from tests.helpers.images.seen import Row
from tests.helpers.images.tables import ModelTable

BEGIN = 1_800_000_000
"""The second in which histories begin, and in which reading does."""

GC = 864_000
"""gc_grace_seconds where nothing says otherwise."""

SECOND = 1_000_000


Altered = tuple[list[Unit], list[Unit]]


class Story:
    """`whole`: the table was made while it was read; else it has a past (`before`) that nobody read."""

    def __init__(
        self,
        table: ModelTable,
        *,
        replicas: int = 3,
        before: Sequence[tuple[Sequence[Part], int, Sequence[int]]] = (),
        whole: bool = True,
    ) -> None:
        self.cluster = Cluster(table, replicas, BEGIN)
        self.base = BEGIN * SECOND - 100
        for parts, k, on in before:
            self.write(parts, k, on)
        self.next = {replica.name: len(replica.log) for replica in self.cluster.replicas}
        self.base = BEGIN * SECOND
        self.aged = self.base
        """The timestamps below it were there when most of gc_grace last passed, and older."""
        self.ledger = Ledger(table, whole=whole, since=self.base)

    @property
    def now(self) -> int:
        return self.cluster.now

    @property
    def now_us(self) -> int:
        return self.now * SECOND

    # --- what happens to the cluster ---

    def write(self, parts: Sequence[Part], k: int = 1, on: Sequence[int] = (0,)) -> None:
        self.batch([(k, parts)], on)

    def batch(self, updates: Sequence[tuple[int, Sequence[Part]]], on: Sequence[int] = (0,)) -> None:
        """One mutation of several partitions, as one entry."""
        table = self.cluster.table
        made = [(k, update_of(parts, table, self.base, self.now)) for k, parts in updates]
        made = [(k, update) for k, update in made if update]
        if made:
            self.cluster.write(made, on)

    def tick(self, seconds: int) -> None:
        self.cluster.now += seconds

    def age(self) -> None:
        """Most of gc_grace passes, and all was repaired in it: what is not read yet may be that old, too. What was
        written before the last time that it passed is purged.
        """
        self.cluster.end_truncates()
        self.cluster.repair_everywhere()
        self.cluster.writes.clear()
        self.tick(GC * 2 // 3)
        self.cluster.purge(GC, self.aged)
        self.base += 1000
        self.aged = self.base

    def drop(self, column: str) -> None:
        """DROP COLUMN, which a reader learns at once. What is written from now on is newer."""
        at = self.base + 50
        self.base += 100
        self._alter(self.cluster.table.without(column, at))

    def again(self, column: str) -> None:
        self._alter(self.cluster.table.again(column))

    def _alter(self, table: ModelTable) -> Altered:
        """What had expired by then, and what of the rest the other definition voids."""
        expired = self.ledger.expire(self.now)
        self.cluster.table = table
        return expired, self.ledger.drop(table, self.now)

    # --- what is read ---

    def read(self, node: str, most: int = 1) -> None:
        """The next entries of a node's log."""
        for entry in self._log(node)[self.next[node] :][:most]:
            self.merge(entry)
            self.next[node] += 1

    def read_all(self, order: Sequence[int] = ()) -> None:
        """All that is left, by turns as `order` has them."""
        turns = iter(order)
        while waiting := [node for node in self.next if self.next[node] < len(self._log(node))]:
            self.read(waiting[next(turns, 0) % len(waiting)])

    def merge(self, entry: Entry) -> list[Unit]:
        return self.ledger.entry(entry, self.now)

    def look(self) -> list[Unit]:
        """Timers."""
        return self.ledger.expire(self.now)

    def reopen(self) -> None:
        """The reader is another process from now on."""

    def forget(self) -> None:
        """A reader may forget now; the ledger never does."""

    def read_past(self) -> dict[str, int]:
        """Each node was read past what was logged before its first entry that is not read yet."""
        unread = {node: self._log(node)[at:] for node, at in self.next.items()}
        return {node: log[0].at if log else self.now for node, log in unread.items()}

    def lose(self) -> None:
        """Some of the history was lost: nothing is known whole any more. What is written from now on is newer."""
        self.tick(1)
        self.base = self.now_us
        self.ledger.lost(self.now_us)

    def serve(self) -> None:
        """The next range of a snapshot is read, of a history that has one."""

    def answer(self) -> object:
        """What is asked of the server is answered, where there is one."""

    def settle(self) -> None:
        """All is repaired, read, and as old as tombstones may get; then replicas purge, and the reader forgets."""
        self.cluster.end_truncates()
        self.cluster.repair_everywhere()
        self.read_all()
        self.tick(GC + 100)
        self.look()
        self.tick(GC + 100)
        self.base += 1000
        self.cluster.purge(GC, self.base)
        self.cluster.writes.clear()
        self.forget()
        self.tick(1)

    def _log(self, node: str) -> Sequence[Entry]:
        return next(replica.log for replica in self.cluster.replicas if replica.name == node)

    # --- what must hold ---

    def known(self) -> dict[Row, Shown]:
        return {(k, key): row for k in self.ledger.facts for key, row in self.ledger.rows(k, self.now).items()}

    def selected(self) -> dict[Row, dict[str, Any]]:
        """SELECT at ALL."""
        return {(k, key): row for k, rows in self.cluster.select().items() for key, row in rows.items()}
