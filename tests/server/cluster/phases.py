"""What is done to a cluster one after the other while it is written to and read: each phase, and its delays.

A phase says which node is away in it: how much longer the others' rows take then is what is measured.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.helpers.small_disk import SmallDisk
from tests.server.cluster.arrivals import Delay
from tests.server.cluster.awaited import awaited
from tests.server.cluster.cleaning import Cleaning
from tests.server.cluster.cluster import TOPOLOGY_SECONDS, at_level
from tests.server.cluster.running import Run
from tests.server.cluster.schema import KEYSPACES, tables
from tests.server.cluster.workload import PARTITIONS, REQUEST_SECONDS, refusals

STEADY = "steady"
AWAY_TIMES = 3.6
"""A node is away for so many times as long as other phases last."""

SLOW_BYTES = 20_000.0
FILLING_BODY = 8_000
REFUSING = "Rejecting mutation to keyspace"
"""What a node logs, every ten seconds at most, while it takes no write of a cdc table for want of space."""

KILLED, SERVED, DECOMMISSIONED, JOINING, FULL = 2, 3, 3, 4, 2
"""The nodes that things happen to; node 2 has its log on a small disk."""


@dataclass
class Phase:
    """From `began` to `ended` (seconds since 1970). `away`: the node whose rows are awaited by nobody meanwhile.

    `steady`: whether the others' rows are to come as ever. Not where a server that starts or streams takes the
    processors that all share.
    """

    name: str
    away: str | None
    steady: bool
    began: float
    ended: float = 0.0


class Phases:
    """All of them over one run, in the order of `all`. `disk`: where node `FULL` has its log.

    `seconds`: how long an ordinary one lasts. `room_seconds`: how long a full disk may wait for its slowest reader,
    before which nothing there is cleaned.
    """

    def __init__(
        self,
        run: Run,
        cleaning: Cleaning,
        disk: SmallDisk,
        seconds: float,
        room_seconds: float = TOPOLOGY_SECONDS,
    ) -> None:
        self.done: list[Phase] = []
        self._run = run
        self._cleaning = cleaning
        self._disk = disk
        self._seconds = seconds
        self._room_seconds = room_seconds

    def all(self) -> None:
        self._steady()
        self._killed()
        self._repaired()
        self._served_anew()
        self._slow()
        self._altered()
        self._truncated()
        self._joined()
        self._left()
        self._full()
        self._filled()

    def delays(self) -> dict[str, dict[str, Delay]]:
        """By phase and node, of the writes that were acknowledged in it."""
        entries = self._run.ledger.acknowledged()
        return {
            phase.name: self._run.arrivals.delays(
                [entry for entry in entries if phase.began <= (entry.acknowledged or 0) < phase.ended]
            )
            for phase in self.done
        }

    @contextmanager
    def _phase(self, name: str, away: str | None = None, *, steady: bool = False) -> Iterator[None]:
        phase = Phase(name, away, steady, time.time())
        print(f"{time.strftime('%H:%M:%S')} {name}", flush=True)
        yield
        phase.ended = time.time()
        self.done.append(phase)

    def _steady(self) -> None:
        cluster, arrivals = self._run.cluster, self._run.arrivals
        awaited(
            lambda: {node.name for node in cluster.nodes.values()} <= arrivals.nodes(),
            "rows of every node",
            TOPOLOGY_SECONDS,
        )
        self._cleaning.nodes += cluster.nodes.values()
        with self._phase(STEADY):
            time.sleep(self._seconds)

    def _killed(self) -> None:
        cluster, node = self._run.cluster, self._run.cluster.nodes[KILLED]
        with self._phase("one node killed", node.name, steady=True):
            node.kill()
            time.sleep(AWAY_TIMES * self._seconds)
        with self._phase("it is back, with hints"):
            node.start_again()
            cluster.await_all_up()
            cluster.await_no_hints()
            time.sleep(self._seconds)

    def _repaired(self) -> None:
        """Without hints a node has what it missed from repair alone, and by our settings not in its log."""
        cluster, node = self._run.cluster, self._run.cluster.nodes[KILLED]
        with self._phase("one node killed, and no hints", node.name, steady=True):
            self._hand_off(False)
            node.kill()
            time.sleep(self._seconds)
        with self._phase("it is back, and repaired"):
            node.start_again()
            cluster.await_all_up()
            self._hand_off(True)
            # Half of the partitions are read before, at ALL: what is missing is repaired by the read.
            for name in tables():
                for pk in range(0, PARTITIONS, 2):
                    cluster.query(f"SELECT JSON * FROM {name} WHERE pk = {pk}")
            for keyspace in KEYSPACES:
                cluster.nodes[1].repair(keyspace)

    def _hand_off(self, on: bool) -> None:
        for node in self._run.cluster.nodes.values():
            node.hand_off(on)

    def _served_anew(self) -> None:
        node = self._run.cluster.nodes[SERVED]
        with self._phase("what serves one node's log is away", node.name, steady=True):
            self._run.reader.kill_server(node)
            time.sleep(self._seconds)
        with self._phase("it serves again"):
            self._run.reader.restart_server(node)
            time.sleep(self._seconds)

    def _slow(self) -> None:
        node = self._run.cluster.nodes[SERVED]
        with self._phase("one link slow", node.name, steady=True):
            self._run.reader.slow(node, SLOW_BYTES)
            time.sleep(self._seconds)
            self._run.reader.slow(node, None)

    def _altered(self) -> None:
        """A column comes, and another goes: nobody writes it any more then, but hints may still bring what was."""
        changes = self._run.workload.changes
        with self._phase("a table gets a column"):
            self._everywhere("ALTER TABLE {}.profiles ADD added int")
            changes.added = "added"
            time.sleep(self._seconds)
        with self._phase("a table loses a column"):
            changes.old = False
            time.sleep(REQUEST_SECONDS)
            self._everywhere("ALTER TABLE {}.former DROP old")
            time.sleep(self._seconds)

    def _truncated(self) -> None:
        with self._phase("tables are truncated"):
            self._everywhere("TRUNCATE {}.cleared")
            time.sleep(self._seconds)

    def _everywhere(self, cql: str) -> None:
        """A statement for the tables of each keyspace."""
        with self._run.cluster.nodes[1].session() as session:
            for keyspace in KEYSPACES:
                session.execute(cql.format(keyspace), timeout=TOPOLOGY_SECONDS)

    def _joined(self) -> None:
        cluster = self._run.cluster
        node = cluster.add(JOINING)
        with self._phase("one more node bootstraps", node.name):
            self._run.reader.add(node)
            node.start()
            cluster.await_all_up()
        with self._phase("it has joined"):
            self._run.workload.coordinators.add(JOINING)
            time.sleep(self._seconds)
            awaited(lambda: node.name in self._run.arrivals.nodes(), f"rows of {node.name}", TOPOLOGY_SECONDS)
            self._cleaning.nodes.append(node)

    def _left(self) -> None:
        cluster, leaving = self._run.cluster, self._run.cluster.nodes[DECOMMISSIONED]
        with self._phase("one node is decommissioned", leaving.name):
            self._run.workload.coordinators.discard(DECOMMISSIONED)
            time.sleep(REQUEST_SECONDS)
            cluster.leave(DECOMMISSIONED)
            self._cleaning.nodes.remove(leaving)
            self._run.reader.remove(leaving)
        with self._phase("it was removed"):
            time.sleep(self._seconds)

    def _full(self) -> None:
        """Nobody cleans: Cassandra takes no more writes of cdc tables there. Then somebody does."""
        node, changes = self._run.cluster.nodes[FULL], self._run.workload.changes
        with self._phase("one node's disk is full", node.name, steady=True):
            self._cleaning.nodes.remove(node)
            changes.body, before = FILLING_BODY, changes.body
            awaited(lambda: REFUSING in node.log(), f"{node.name} refuses writes for want of space", TOPOLOGY_SECONDS)
            changes.body = before
            time.sleep(self._seconds)
        with self._phase("it is cleaned"):
            self._cleaning.nodes.append(node)
            awaited(self._all_replicas_take_writes, f"{node.name} takes writes again", self._room_seconds)
            self._run.cluster.await_no_hints()

    def _filled(self) -> None:
        """By another program, to its last block: no log and no position can be written. Cassandra stops, or dies."""
        cluster, node = self._run.cluster, self._run.cluster.nodes[FULL]
        with self._phase("somebody else fills its disk", node.name, steady=True):
            self._cleaning.nodes.remove(node)
            self._run.reader.full(node, True)
            self._disk.fill()
            time.sleep(self._seconds)
        with self._phase("there is room again"):
            self._disk.make_room()
            self._run.reader.full(node, False)
            node.kill()
            node.start_again()
            cluster.await_all_up()
            self._cleaning.nodes.append(node)
            awaited(self._all_replicas_take_writes, f"{node.name} takes writes again", self._room_seconds)
            cluster.await_no_hints()

    def _all_replicas_take_writes(self) -> bool:
        """Whether a write at ALL is acknowledged, of a partition that the workload has not."""
        cql = "INSERT INTO three.events (pk, ck, n) VALUES (-1, 0, 0)"
        with self._run.cluster.nodes[1].session() as session:
            try:
                session.execute(at_level(cql, "ALL"), timeout=REQUEST_SECONDS)
            except refusals():
                return False
        return True
