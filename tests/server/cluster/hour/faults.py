"""What is done to consumers and nodes: kills in turn, a consumer that rests for minutes, nodes down and back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.server.cluster.cluster import Cluster, ClusterNode
from tests.server.cluster.hour.consumers import Consumer, Consumers
from tests.server.cluster.hour.tables import KEYSPACE
from tests.server.harness import CommandFailed

HINTED, REPAIRED = 2, 3
"""The node that comes back and takes hints; the one that has to be repaired. Node 1 is never killed."""
REPAIR_TRIES = 4
STARTS = 5
TAKES_SCHEMA_SECONDS = 30
"""So soon a node that was down has taken what the schema became meanwhile."""


@dataclass(frozen=True)
class Pace:
    """How long things last, in seconds. `length`: the whole run with its faults."""

    length: float
    filled: float
    kill: float
    rest: float
    work: float
    schema: float
    away: float
    snapshot_settle: float

    @classmethod
    def of(cls, minutes: float) -> Pace:
        """An hour: a kill every two minutes, the lagging consumer away for four. Shorter runs have the same, faster."""
        part = min(1.0, minutes / 60)
        return cls(
            length=60 * minutes,
            filled=max(20.0, 90 * part),
            kill=max(30.0, 120 * part),
            rest=max(60.0, 240 * part),
            work=max(45.0, 150 * part),
            schema=max(4.0, 9 * part),
            away=max(40.0, 240 * part),
            snapshot_settle=max(10.0, 30 * part),
        )


class Kills:
    """`kill -9` of the consumer that was killed least often, of those that work."""

    def __init__(self, consumers: Consumers, seconds: float) -> None:
        self._consumers = consumers.all
        self._seconds = seconds
        self._next = time.monotonic() + seconds

    def look(self) -> None:
        """Kills where it is time."""
        working = [consumer for consumer in self._consumers if consumer.running]
        if time.monotonic() < self._next or not working:
            return
        self._next = time.monotonic() + self._seconds
        consumer = min(working, key=lambda one: one.kills)
        if consumer.kill():
            print(f"{time.strftime('%H:%M:%S')} kill -9 of {consumer.name}", flush=True)


class Rests:
    """Stops a consumer for `rest` seconds, then lets it work for `work` seconds, and so on."""

    def __init__(self, consumer: Consumer, rest: float, work: float) -> None:
        self.times = 0
        self._consumer = consumer
        self._rest, self._work = rest, work
        self._next = time.monotonic() + work
        self._resting = False

    def look(self) -> None:
        if time.monotonic() < self._next:
            return
        if self._resting:
            self._consumer.start()
            self._next = time.monotonic() + self._work
        else:
            self._consumer.rest()
            self.times += 1
            self._next = time.monotonic() + self._rest
        self._resting = not self._resting
        print(f"{time.strftime('%H:%M:%S')} {self._consumer.name} {'rests' if self._resting else 'works'}", flush=True)


class Outages:
    """Nodes that are killed and come back. `whole`: set while all nodes are up and no hints are pending.

    `figures`: what was done. `pause_schema`: called with True and False around a repair, which fails where its tables
    go.
    """

    def __init__(self, cluster: Cluster, whole: threading.Event, pause_schema: Callable[[bool], None]) -> None:
        self.figures: dict[str, float] = {}
        self._cluster = cluster
        self._whole = whole
        self._pause_schema = pause_schema

    def hinted(self, seconds: float) -> None:
        """A node is killed, and gets what it missed by hints."""
        self._say(f"n{HINTED} is killed")
        self._whole.clear()
        node = self._cluster.nodes[HINTED]
        node.kill()
        time.sleep(seconds)
        self._start_again(node)
        self._say(f"n{HINTED} is back")
        self._cluster.await_no_hints()
        self._whole.set()
        self.figures["seconds down, then hints"] = seconds

    def repaired(self, seconds: float) -> None:
        """A node is killed, nobody keeps hints for it, and it gets what it missed by a repair."""
        self._say(f"n{REPAIRED} is killed, without hints")
        self._whole.clear()
        self._hand_off(False)
        node = self._cluster.nodes[REPAIRED]
        node.kill()
        time.sleep(seconds)
        self._start_again(node)
        self._hand_off(True)
        self._say(f"n{REPAIRED} is back, repair")
        began = time.monotonic()
        self._pause_schema(True)
        try:
            self._repair()
        finally:
            self._pause_schema(False)
        self._whole.set()
        self.figures["seconds down, then repair"] = seconds
        self.figures["seconds of repair"] = round(time.monotonic() - began, 1)
        self._say("repaired")

    def _start_again(self, node: ClusterNode) -> None:
        """Returns when all nodes are up. A fault of Cassandra's: of two DROPs that a node takes at once the second one
        flushes what the commit log has of the first table, which is there no more; its schema stays half applied until
        it is started once more."""
        for _ in range(STARTS):
            behind = node.logged
            node.start_again()
            self._cluster.await_all_up()
            if not self._is_half_applied(node, behind):
                return
            self._say(f"n{node.number} has half of the schema: it is started again")
            node.kill()
        raise AssertionError(f"n{node.number} does not take the schema; {STARTS} starts")

    @staticmethod
    def _is_half_applied(node: ClusterNode, behind: int) -> bool:
        until = time.monotonic() + TAKES_SCHEMA_SECONDS
        while time.monotonic() < until:
            if "Exception in thread Thread[MigrationStage" in node.log(behind):
                return True
            time.sleep(1)
        return False

    def _repair(self) -> None:
        for left in reversed(range(REPAIR_TRIES)):
            try:
                self._cluster.nodes[1].repair(KEYSPACE)
                return
            except CommandFailed as failed:
                if not left:
                    raise
                self._say(f"repair again: {str(failed)[:200]}")
                time.sleep(5)

    def _hand_off(self, on: bool) -> None:
        for node in self._cluster.nodes.values():
            node.hand_off(on)

    def _say(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
