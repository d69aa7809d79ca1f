"""Writes to the cluster in threads, and the ledger of what the cluster acknowledged.

A write that waits for a single replica goes through node 1 alone, which is never killed; all others wait for a quorum.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.server.cluster.cluster import Cluster, address_of, at_level
from tests.server.cluster.hour.statements import SchemaState, Statement, Statements
from tests.server.cluster.workload import refusals

WRITERS = 5
REQUEST_SECONDS = 12.0
LASTING = 1
"""The node that is never killed."""


@dataclass(frozen=True)
class Acknowledged:
    """A request as the ledger has it. `acknowledged`: seconds since 1970, None where it was refused or timed out."""

    kind: str
    table: str
    tickets: tuple[tuple[int, str], ...]
    surely: bool
    conditional: bool
    sent: float
    acknowledged: float | None
    refusal: str | None = None


class Ledger:
    """The file of all requests, one JSON line each."""

    def __init__(self, file: Path) -> None:
        self._out = file.open("a")
        self._lock = threading.Lock()

    def close(self) -> None:
        self._out.close()

    def note(self, statement: Statement, sent: float, acknowledged: float | None, refusal: str | None) -> None:
        line = {
            "kind": statement.kind,
            "table": statement.table,
            "tickets": statement.tickets,
            "surely": statement.surely,
            "conditional": statement.conditional,
            "sent": sent,
            "acknowledged": acknowledged,
            "refusal": refusal,
        }
        with self._lock:
            self._out.write(json.dumps(line) + "\n")
            self._out.flush()


def entries(file: Path) -> Iterator[Acknowledged]:
    """All requests of a ledger."""
    for line in file.read_text().splitlines():
        found = json.loads(line)
        yield Acknowledged(**{**found, "tickets": tuple((number, table) for number, table in found["tickets"])})


class Workload:
    """Writes `rate` requests a second for as long as its block lasts."""

    def __init__(self, cluster: Cluster, ledger: Ledger, schema: SchemaState, rate: float, seed: int = 41) -> None:
        self._cluster = cluster
        self._ledger = ledger
        self._statements = Statements(seed, schema)
        self._schema = schema
        self._pause = WRITERS / rate
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._idle = threading.Condition()
        self._busy: Counter[str] = Counter()
        self._end = threading.Event()
        self._pool = ThreadPoolExecutor(WRITERS, "writer")
        self._running: list[Future[None]] = []

    def start(self) -> None:
        self._running = [self._pool.submit(self._run) for _ in range(WRITERS)]

    def stop(self) -> None:
        """Returns when the last request is answered; raises what went wrong, once. Refused writes are in the ledger."""
        self._end.set()
        self._pool.shutdown()
        running, self._running = self._running, []
        for writer in running:
            writer.result()

    @contextmanager
    def closed(self, table: str) -> Iterator[None]:
        """No write of the table is under way while the block lasts."""
        with self._schema.lock:
            self._schema.closed.add(table)
        try:
            with self._idle:
                self._idle.wait_for(lambda: not self._busy[table], 3 * REQUEST_SECONDS)
            yield
        finally:
            with self._schema.lock:
                self._schema.closed.discard(table)

    def _run(self) -> None:
        due = time.monotonic()
        with self._cluster.session() as session:
            while not self._end.wait(max(0.0, due - time.monotonic())):
                due = max(due + self._pause, time.monotonic() - 5.0)
                with self._lock, self._idle:
                    statement = self._statements.next()
                    self._busy[statement.table] += 1
                    coordinator, level = self._way()
                try:
                    self._write(session, statement, coordinator, level)
                finally:
                    with self._idle:
                        self._busy[statement.table] -= 1
                        self._idle.notify_all()

    def _way(self) -> tuple[int, str]:
        """Through which node, and how many replicas answer. A node that starts again is chosen too, and refuses."""
        if self._random.random() < 0.3:
            return LASTING, "ONE"
        up = sorted(number for number, node in self._cluster.nodes.items() if node.running)
        return self._random.choice(up), "QUORUM"

    def _write(self, session: Any, statement: Statement, coordinator: int, level: str) -> None:
        host = session.cluster.metadata.get_host(address_of(coordinator), self._cluster.nodes[LASTING].cql_port)
        acknowledged, refusal, sent = None, None, time.time()
        request = at_level(statement.cql, "QUORUM" if statement.conditional else level)
        try:
            answer = session.execute(request, timeout=REQUEST_SECONDS, host=host) if host else None
            if answer is None:
                refusal = "the driver does not know the node"
            elif statement.conditional and not answer.was_applied:
                refusal = "the condition did not hold"
            else:
                acknowledged = time.time()
        except refusals() as refused:
            refusal = f"{type(refused).__name__}: {refused}"[:200]
        self._ledger.note(statement, sent, acknowledged, refusal)
