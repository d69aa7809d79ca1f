"""Writes to a cluster, on and on in threads of its own, through whatever happens to its nodes.

What an acknowledged write promises is what the level and the coordinator give: one that waits for a single replica can
go with that replica, so such writes go only through nodes that nobody will kill. Knows the ledger, and no reader.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Set
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from tests.server.cluster.cluster import Cluster, address_of, at_level
from tests.server.cluster.ledger import Entry, Ledger, Write
from tests.server.cluster.schema import KEYSPACES

PARTITIONS, ROWS = 40, 25
WRITERS, PAUSE_SECONDS = 3, 0.04
BATCH_PAUSE_SECONDS = 0.2
"""Batches have a writer of their own: while a node does not answer and is not known to be away, each of them waits for
seconds, since two nodes are to keep it first."""

REQUEST_SECONDS = 10.0


class Changes:
    """What is written. `body`: how many bytes a text has. `added`: a column more, of `profiles`. `old`: whether
    `former` has its column still. For one thread at a time."""

    def __init__(self, seed: int) -> None:
        self.body = 40
        self.added: str | None = None
        self.old = True
        self._random = random.Random(seed)
        self._last = 0
        self._serial = 0
        self._makers: list[tuple[Callable[[], list[Write]], int]] = [
            (self._insert, 45),
            (self._update, 20),
            (self._null, 4),
            (self._row_gone, 8),
            (self._range_gone, 3),
            (self._partition_gone, 1),
            (self._cleared, 4),
            (self._former, 4),
        ]

    def single(self) -> list[Write]:
        makers, weights = zip(*self._makers, strict=True)
        (make,) = self._random.choices(makers, weights)
        found: list[Write] = make()
        return found

    def batch(self) -> list[Write]:
        """A logged batch over both keyspaces. Of no row twice: the server would log the later write of it alone."""
        first, other, last = (self._insert(table)[0] for table in ("three.events", "two.events", "three.events"))
        while last.row() == first.row():
            (last,) = self._insert("three.events")
        return [first, other, last]

    def _table(self, name: str) -> str:
        return f"{self._random.choice(['three', 'three', 'two'])}.{name}"

    def _key(self) -> dict[str, int]:
        return {"pk": self._random.randrange(PARTITIONS)}

    def _place(self) -> dict[str, int]:
        return {"ck": self._random.randrange(ROWS)}

    def _now(self) -> int:
        """Microseconds; never the same twice."""
        self._last = max(self._last + 1, time.time_ns() // 1000)
        return self._last

    def _count(self) -> int:
        self._serial += 1
        return self._serial

    def _insert(self, table: str | None = None) -> list[Write]:
        number = self._count()
        columns = {"n": number, "body": f"{number}-".ljust(self.body, "x")}
        place = self._place()
        return [Write(table or self._table("events"), "insert", self._key(), self._now(), place, columns)]

    def _update(self) -> list[Write]:
        number = self._count()
        name, value = self._random.choice([("a", -number), ("b", f"b{number}")])
        more = {} if self.added is None else {self.added: number}
        columns = {"n": number, name: value, **more}
        return [Write(self._table("profiles"), "update", self._key(), self._now(), None, columns)]

    def _null(self) -> list[Write]:
        return [Write(self._table("profiles"), "update", self._key(), self._now(), None, {"a": None})]

    def _cleared(self) -> list[Write]:
        columns = {"n": self._count()}
        return [Write(self._table("cleared"), "insert", self._key(), self._now(), self._place(), columns)]

    def _former(self) -> list[Write]:
        """Of one column alone, by turns: rows live by either."""
        number = self._count()
        columns = {"n": number} if not self.old or number % 2 else {"old": number}
        return [Write(self._table("former"), "update", self._key(), self._now(), None, columns)]

    def _row_gone(self) -> list[Write]:
        return [Write(self._table("events"), "delete_row", self._key(), self._now(), self._place())]

    def _range_gone(self) -> list[Write]:
        low = self._place()["ck"]
        bounds = {"start": {"ck": low}, "end": {"ck": low + 3}, "start_inclusive": True, "end_inclusive": False}
        return [Write(self._table("events"), "delete_range", self._key(), self._now(), range=bounds)]

    def _partition_gone(self) -> list[Write]:
        return [Write(self._table("events"), "delete_partition", self._key(), self._now())]


class Workload:
    """Runs as long as its block lasts. `coordinators`: the nodes that it writes through, to be changed at any time.

    `lasting`: those of them that are never killed.
    """

    def __init__(
        self, cluster: Cluster, ledger: Ledger, *, coordinators: Set[int], lasting: Set[int], seed: int = 20
    ) -> None:
        self.coordinators = set(coordinators)
        self.changes = Changes(seed)
        self._cluster = cluster
        self._ledger = ledger
        self._lasting = lasting
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._writers = ThreadPoolExecutor(WRITERS + 1, "writer")
        self._running: list[Future[None]] = []

    def __enter__(self) -> Workload:
        self._running = [self._writers.submit(self._run, self.changes.single, PAUSE_SECONDS) for _ in range(WRITERS)]
        self._running.append(self._writers.submit(self._run, self.changes.batch, BATCH_PAUSE_SECONDS))
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Returns when the last write is answered; raises what went wrong, but for writes that were refused."""
        self._end.set()
        self._writers.shutdown()
        for writer in self._running:
            writer.result()

    def _run(self, make: Callable[[], list[Write]], pause: float) -> None:
        with self._cluster.session() as session:
            while not self._end.wait(pause):
                with self._lock:
                    writes = make()
                    coordinator, level = self._way(writes)
                entries = self._written(session, writes, coordinator, level)
                with self._lock:
                    self._ledger.note(entries)

    def _written(self, session: Any, writes: list[Write], coordinator: int, level: str) -> list[Entry]:
        statements = [write.cql() for write in writes]
        cql = statements[0] if len(writes) == 1 else f"BEGIN BATCH {'; '.join(statements)}; APPLY BATCH"
        host = session.cluster.metadata.get_host(address_of(coordinator), self._cluster.nodes[1].cql_port)
        sent, acknowledged, refusal = time.time(), None, None
        if host is None:
            # Without one the driver would choose.
            refusal = "the driver does not know the node"
        else:
            try:
                session.execute(at_level(cql, level), timeout=REQUEST_SECONDS, host=host)
                acknowledged = time.time()
            except refusals() as refused:
                refusal = f"{type(refused).__name__}: {refused}"[:300]
        return [Entry(write, coordinator, level, sent, acknowledged, refusal) for write in writes]

    def _way(self, writes: list[Write]) -> tuple[int, str]:
        """Through which node, and at which level. Two replicas have no quorum when one of them is away."""
        replicas = min(KEYSPACES[write.table.partition(".")[0]] for write in writes)
        coordinator = self._random.choice(sorted(self.coordinators))
        if replicas == 3 and (coordinator not in self._lasting or self._random.random() < 0.5):
            return coordinator, "QUORUM"
        return self._random.choice(sorted(self.coordinators & self._lasting)), "ONE"


def refusals() -> tuple[type[Exception], ...]:
    """What the driver raises for a write that is not acknowledged."""
    from cassandra import DriverException
    from cassandra.cluster import NoHostAvailable
    from cassandra.connection import ConnectionException

    return DriverException, NoHostAvailable, ConnectionException
